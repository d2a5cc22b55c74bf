package main

import (
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
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
		{"none", nil, exit.Usage, "", "no command given"},
		{"help", []string{"help"}, exit.OK, "Usage:\n  bookside COMMAND", ""},
		{"-h", []string{"-h"}, exit.OK, "Usage:\n  bookside COMMAND", ""},
		{"--help", []string{"--help"}, exit.OK, "6   the port is in use", ""},
		{"help of a command", []string{"help", "serve"}, exit.OK, "Usage:\n  bookside serve [flags]", ""},
		{"help of two words", []string{"help", "keys", "revoke"}, exit.OK, "Usage:\n  bookside keys revoke ID [flags]", ""},
		{"help config", []string{"help", "config"}, exit.OK, "BOOKSIDE_DB__DSN", ""},
		{"help of nothing", []string{"help", "bake"}, exit.Usage, "", `there is no command "bake"`},
		{"--help of a command", []string{"keys", "create", "--help"}, exit.OK, "--permissions LIST", ""},
		{"version", []string{"version"}, exit.OK, "bookside ", ""},
		{"--version", []string{"--version"}, exit.OK, "bookside ", ""},
		{"-v", []string{"-v"}, exit.OK, "bookside ", ""},
		{"unknown command", []string{"sevre"}, exit.Usage, "", "bookside: there is no command \"sevre\"; did you mean serve? See bookside help\n"},
		{"unknown group", []string{"key", "list"}, exit.Usage, "", `did you mean keys?`},
		{"keys alone", []string{"keys"}, exit.Usage, "", "bookside: keys: no command given; see bookside help keys\n"},
		{"keys with a flag", []string{"keys", "--name", "a"}, exit.Usage, "", `there is no command "keys --name"`},
		{"keys of no kind", []string{"keys", "bake"}, exit.Usage, "", "bookside: there is no command \"keys bake\"; did you mean keys create? See bookside help keys\n"},
		{"keys add", []string{"keys", "add"}, exit.Usage, "", `there is no command "keys add"; did you mean keys create?`},
		{"keys delete", []string{"keys", "delete", "3"}, exit.Usage, "", "did you mean keys revoke?"},
		{"keys replace", []string{"keys", "replace"}, exit.Usage, "", "did you mean keys roll?"},
		{"keys show", []string{"keys", "show"}, exit.Usage, "", "did you mean keys list?"},
		{"a calendar of nobody", []string{"keys", "create", "--calendar"}, exit.Usage, "", "keys create: --calendar: name either --agent or --location; see"},
		{"a calendar with permissions", []string{"keys", "create", "--calendar", "--agent", "1", "--permissions", "read"}, exit.Usage, "", "--permissions: not with --calendar"},
		{"a key with the details of a calendar", []string{"keys", "create", "--name", "a", "--permissions", "read", "--details", "full"}, exit.Usage, "", "--details: only with --calendar"},
		{"keys create without flags", []string{"keys", "create"}, exit.Usage, "", "keys create: --name: write 1 to 190 characters without line breaks; --permissions: write a list such as read or read,write_bookings; see bookside help keys create\n"},
		{"keys create with several mistakes", []string{"keys", "create", "--name", "a", "--permissions", "all", "--kind", "TEST", "--agents", "0"}, exit.Usage, "", "--kind: write live or test; --agents: write ids such as"},
		{"keys import without flags", []string{"keys", "import"}, exit.Usage, "", "keys import: --name: write 1 to 190 characters without line breaks; --permissions: write"},
		{"a misspelt permission", []string{"keys", "create", "--name", "a", "--permissions", "read_booking"}, exit.Usage, "", `permission "read_booking": there is none of this name; did you mean read_bookings?`},
		{"a permission in capitals", []string{"keys", "create", "--name", "a", "--permissions", "READ"}, exit.Usage, "", "did you mean read?"},
		{"all permissions", []string{"keys", "create", "--name", "a", "--permissions", "all"}, exit.Usage, "", "did you mean read,write,delete?"},
		{"an odd permission", []string{"keys", "create", "--name", "a", "--permissions", "cook"}, exit.Usage, "", `permission "cook": write read, write or delete`},
		{"help of keys", []string{"help", "keys"}, exit.OK, "\n  revoke      revoke an API key or a calendar\n", ""},
		{"--help of keys", []string{"keys", "--help"}, exit.OK, "Usage:\n  bookside keys COMMAND\n", ""},
		{"-h of keys", []string{"keys", "-h"}, exit.OK, "Usage:\n  bookside keys COMMAND\n", ""},
		{"keys help", []string{"keys", "help"}, exit.OK, "Usage:\n  bookside keys COMMAND\n", ""},
		{"keys help of a command", []string{"keys", "help", "revoke"}, exit.OK, "Usage:\n  bookside keys revoke ID", ""},
		{"help of keys of no kind", []string{"help", "keys", "bake"}, exit.Usage, "", `there is no command "keys bake"`},
		{"--help of serve", []string{"serve", "--help"}, exit.OK, "Usage:\n  bookside serve [flags]", ""},
		{"unknown flag", []string{"serve", "--port", "80"}, exit.Usage, "", "bookside: serve: there is no flag --port (did you mean --"},
		{"misspelt flag", []string{"keys", "create", "--nam", "a"}, exit.Usage, "", "bookside: keys create: there is no flag --nam (did you mean --name?); see bookside help keys create\n"},
		{"a flag with one dash", []string{"keys", "create", "-name", "a"}, exit.Usage, "", "keys create: flags begin with two dashes, such as --help; see"},
		{"a flag without its value", []string{"keys", "create", "--name"}, exit.Usage, "", "keys create: flag needs an argument: --name; see"},
		{"a number in words", []string{"verify", "--days", "many"}, exit.Usage, "", "verify: --days: write a number; see"},
		{"a flag that is no switch", []string{"check", "--json=maybe"}, exit.Usage, "", "check: --json: write true or false; see"},
		{"flags before the command", []string{"--config", "/nowhere", "version"}, exit.Usage, "", "there is no flag --config"},
		{"operand too many", []string{"serve", "now"}, exit.Usage, "", "serve: it takes flags only, got 1"},
		{"operand missing", []string{"keys", "revoke"}, exit.Usage, "", "keys revoke: it takes ID, got 0"},
		{"operand that is no number", []string{"keys", "revoke", "x"}, exit.Usage, "", "keys revoke: ID: write the number"},
		{"help with words after a command", []string{"help", "serve", "now"}, exit.OK, "bookside serve [flags]", ""},
		{"help of everything has groups", []string{"help"}, exit.OK, "\nRunning it:\n  setup ", ""},
		{"version with an operand", []string{"version", "1"}, exit.Usage, "", "version: it takes flags only"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, nil, "", test.args...).want(t, test.code, test.stderr)
			expect.Texts(t, got.stdout, test.stdout)
			if test.code == exit.OK && got.stderr != "" {
				t.Errorf("stderr %q", got.stderr)
			}
			if test.code != exit.OK && got.stdout != "" {
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
		{"verify", "--days", secret},
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
			expect.NoTexts(t, run(t, nil, "", args...).want(t, exit.Usage).stderr, secret)
		})
	}
}
