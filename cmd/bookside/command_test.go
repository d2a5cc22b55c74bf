package main

import (
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string // part of it
		stderr string
	}{
		{"none", nil, exitUsage, "", "no command given"},
		{"help", []string{"help"}, exitOK, "Usage: bookside COMMAND", ""},
		{"-h", []string{"-h"}, exitOK, "Usage: bookside COMMAND", ""},
		{"--help", []string{"--help"}, exitOK, "6   the port is in use", ""},
		{"help of a command", []string{"help", "serve"}, exitOK, "Usage: bookside serve [flags]", ""},
		{"help of two words", []string{"help", "keys", "revoke"}, exitOK, "Usage: bookside keys revoke ID [flags]", ""},
		{"help config", []string{"help", "config"}, exitOK, "BOOKSIDE_DB__DSN", ""},
		{"help of nothing", []string{"help", "bake"}, exitUsage, "", `there is no command "bake"`},
		{"--help of a command", []string{"keys", "create", "--help"}, exitOK, "--permissions LIST", ""},
		{"version", []string{"version"}, exitOK, "bookside ", ""},
		{"--version", []string{"--version"}, exitOK, "bookside ", ""},
		{"unknown command", []string{"sevre"}, exitUsage, "", `there is no command "sevre"`},
		{"keys alone", []string{"keys"}, exitUsage, "", "keys: no command given\n\nUsage: bookside keys COMMAND [flags]\n\n  keys create "},
		{"keys with a flag", []string{"keys", "--name", "a"}, exitUsage, "", `there is no command "keys --name"`},
		{"keys of no kind", []string{"keys", "bake"}, exitUsage, "", "there is no command \"keys bake\"\n\nUsage: bookside keys COMMAND"},
		{"help of keys", []string{"help", "keys"}, exitOK, "  keys revoke ID ", ""},
		{"--help of keys", []string{"keys", "--help"}, exitOK, "Usage: bookside keys COMMAND [flags]\n\n  keys create ", ""},
		{"-h of keys", []string{"keys", "-h"}, exitOK, "Usage: bookside keys COMMAND", ""},
		{"keys help", []string{"keys", "help"}, exitOK, "Usage: bookside keys COMMAND", ""},
		{"keys help of a command", []string{"keys", "help", "revoke"}, exitOK, "Usage: bookside keys revoke ID", ""},
		{"help of keys of no kind", []string{"help", "keys", "bake"}, exitUsage, "", `there is no command "keys bake"`},
		{"--help of serve", []string{"serve", "--help"}, exitOK, "Usage: bookside serve [flags]", ""},
		{"unknown flag", []string{"serve", "--port", "80"}, exitUsage, "", "serve: flag provided but not defined: -port"},
		{"usage after an unknown flag", []string{"serve", "--port", "80"}, exitUsage, "", "--listen ADDRESS"},
		{"operand too many", []string{"serve", "now"}, exitUsage, "", "serve: it takes flags only, got 1"},
		{"operand missing", []string{"keys", "revoke"}, exitUsage, "", "keys revoke: it takes ID, got 0"},
		{"operand that is no number", []string{"keys", "revoke", "x"}, exitUsage, "", "keys revoke: ID: write the number"},
		{"version with an operand", []string{"version", "1"}, exitUsage, "", "version: it takes flags only"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, nil, "", test.args...).want(t, test.code, test.stderr)
			wantTexts(t, got.stdout, test.stdout)
			if test.code == exitOK && got.stderr != "" {
				t.Errorf("stderr %q", got.stderr)
			}
			if test.code != exitOK && got.stdout != "" {
				t.Errorf("stdout %q", got.stdout)
			}
		})
	}
}

// TestMessagesDoNotQuoteValues: a value on the command line may be a secret, even in the
// wrong place.
func TestMessagesDoNotQuoteValues(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, args := range [][]string{
		{"serve", "--dsn=" + secret},
		{"serve", "--set", "db.dsn:" + secret},
		{"serve", "--set", "db.dsn=" + secret},
		{"serve", "--set", "wp:" + secret + "@tcp(h)/db?a=b"},
		{"serve", "--set", "db.max_open=" + secret},
		{"check", "--set", "db.dsn=user:" + secret + "@host:3306/db"},
		{"check", "--set", "db.dsn=mysql://user:" + secret + "@host/db"},
		{"check", "--set", "db.dsn=user:" + secret + "@tcp(host)/db?timeout=" + secret},
	} {
		t.Run(args[len(args)-1], func(t *testing.T) {
			t.Parallel()
			if got := run(t, nil, "", args...).want(t, exitUsage); strings.Contains(got.stderr, secret) {
				t.Error(got.stderr)
			}
		})
	}
}
