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
		{"help", []string{"help"}, exitOK, "Usage:\n  bookside COMMAND", ""},
		{"-h", []string{"-h"}, exitOK, "Usage:\n  bookside COMMAND", ""},
		{"--help", []string{"--help"}, exitOK, "6   the port is in use", ""},
		{"help of a command", []string{"help", "serve"}, exitOK, "Usage:\n  bookside serve [flags]", ""},
		{"help of two words", []string{"help", "keys", "revoke"}, exitOK, "Usage:\n  bookside keys revoke ID [flags]", ""},
		{"help config", []string{"help", "config"}, exitOK, "BOOKSIDE_DB__DSN", ""},
		{"help of nothing", []string{"help", "bake"}, exitUsage, "", `there is no command "bake"`},
		{"--help of a command", []string{"keys", "create", "--help"}, exitOK, "--permissions LIST", ""},
		{"version", []string{"version"}, exitOK, "bookside ", ""},
		{"--version", []string{"--version"}, exitOK, "bookside ", ""},
		{"-v", []string{"-v"}, exitOK, "bookside ", ""},
		{"unknown command", []string{"sevre"}, exitUsage, "", "bookside: there is no command \"sevre\"; did you mean serve? See bookside help\n"},
		{"unknown group", []string{"webhook", "list"}, exitUsage, "", `did you mean webhooks?`},
		{"keys alone", []string{"keys"}, exitUsage, "", "bookside: keys: no command given; see bookside help keys\n"},
		{"keys with a flag", []string{"keys", "--name", "a"}, exitUsage, "", `there is no command "keys --name"`},
		{"keys of no kind", []string{"keys", "bake"}, exitUsage, "", "bookside: there is no command \"keys bake\"; did you mean keys create? See bookside help keys\n"},
		{"keys add", []string{"keys", "add"}, exitUsage, "", `there is no command "keys add"; did you mean keys create?`},
		{"keys delete", []string{"keys", "delete", "3"}, exitUsage, "", "did you mean keys revoke?"},
		{"webhooks create", []string{"webhooks", "create"}, exitUsage, "", "did you mean webhooks add?"},
		{"webhooks roll", []string{"webhooks", "roll"}, exitUsage, "", "did you mean webhooks rotate?"},
		{"webhooks show", []string{"webhooks", "show"}, exitUsage, "", "did you mean webhooks list?"},
		{"companion delete", []string{"companion", "delete"}, exitUsage, "", "did you mean companion remove?"},
		{"keys create without flags", []string{"keys", "create"}, exitUsage, "", "keys create: --name: write 1 to 190 characters without line breaks; --permissions: write a list such as read or read,write_bookings; see bookside help keys create\n"},
		{"keys create with several mistakes", []string{"keys", "create", "--name", "a", "--permissions", "all", "--kind", "TEST", "--agents", "0"}, exitUsage, "", "--kind: write live or test; --agents: write ids such as"},
		{"keys import without flags", []string{"keys", "import"}, exitUsage, "", "keys import: --name: write 1 to 190 characters without line breaks; --permissions: write"},
		{"webhooks add with several mistakes", []string{"webhooks", "add", "x"}, exitUsage, "", "--events: "},
		{"webhooks add without a URL", []string{"webhooks", "add", "x", "--events", "*"}, exitUsage, "", "webhooks add: URL: "},
		{"a misspelt permission", []string{"keys", "create", "--name", "a", "--permissions", "read_booking"}, exitUsage, "", `permission "read_booking": there is none of this name; did you mean read_bookings?`},
		{"a permission in capitals", []string{"keys", "create", "--name", "a", "--permissions", "READ"}, exitUsage, "", "did you mean read?"},
		{"all permissions", []string{"keys", "create", "--name", "a", "--permissions", "all"}, exitUsage, "", "did you mean read,write,delete?"},
		{"an odd permission", []string{"keys", "create", "--name", "a", "--permissions", "cook"}, exitUsage, "", `permission "cook": write read, write or delete`},
		{"help of keys", []string{"help", "keys"}, exitOK, "\n  revoke      revoke an API key\n", ""},
		{"--help of keys", []string{"keys", "--help"}, exitOK, "Usage:\n  bookside keys COMMAND\n", ""},
		{"-h of keys", []string{"keys", "-h"}, exitOK, "Usage:\n  bookside keys COMMAND\n", ""},
		{"keys help", []string{"keys", "help"}, exitOK, "Usage:\n  bookside keys COMMAND\n", ""},
		{"keys help of a command", []string{"keys", "help", "revoke"}, exitOK, "Usage:\n  bookside keys revoke ID", ""},
		{"help of keys of no kind", []string{"help", "keys", "bake"}, exitUsage, "", `there is no command "keys bake"`},
		{"--help of serve", []string{"serve", "--help"}, exitOK, "Usage:\n  bookside serve [flags]", ""},
		{"unknown flag", []string{"serve", "--port", "80"}, exitUsage, "", "bookside: serve: there is no flag --port (did you mean --"},
		{"misspelt flag", []string{"keys", "create", "--nam", "a"}, exitUsage, "", "bookside: keys create: there is no flag --nam (did you mean --name?); see bookside help keys create\n"},
		{"a flag with one dash", []string{"keys", "create", "-name", "a"}, exitUsage, "", "keys create: flags begin with two dashes, such as --help; see"},
		{"a flag without its value", []string{"keys", "create", "--name"}, exitUsage, "", "keys create: flag needs an argument: --name; see"},
		{"a number in words", []string{"webhooks", "log", "1", "--limit", "many"}, exitUsage, "", "webhooks log: --limit: write a number; see"},
		{"a flag that is no switch", []string{"check", "--json=maybe"}, exitUsage, "", "check: --json: write true or false; see"},
		{"flags before the command", []string{"--config", "/nowhere", "version"}, exitUsage, "", "there is no flag --config"},
		{"operand too many", []string{"serve", "now"}, exitUsage, "", "serve: it takes flags only, got 1"},
		{"operand missing", []string{"keys", "revoke"}, exitUsage, "", "keys revoke: it takes ID, got 0"},
		{"operand that is no number", []string{"keys", "revoke", "x"}, exitUsage, "", "keys revoke: ID: write the number"},
		{"help with words after a command", []string{"help", "serve", "now"}, exitOK, "bookside serve [flags]", ""},
		{"help of everything has groups", []string{"help"}, exitOK, "\nRunning it:\n  setup ", ""},
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
		{"serve", "-dsn=" + secret},
		{"serve", "---dsn=" + secret},
		{"webhooks", "log", "1", "--limit", secret},
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
