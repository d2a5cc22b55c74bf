package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"bookside/adapter/domain"
	"bookside/cmd/bookside/setup"
)

// program is one run of the program, with everything it uses of its process.
type program struct {
	env            []string // NAME=value
	stdin          io.Reader
	stdout, stderr io.Writer
	now            domain.Clock
	host           *setup.Host // for setup; nil for this machine
}

// command is a row of the command table.
type command struct {
	name     string // one word, or two
	operands string // such as ID; empty for none, [FILE…] for any number
	summary  string
	about    string // paragraphs of its help
	// prepare defines the command's flags and returns the action to run once they are parsed.
	prepare func(*program, *flag.FlagSet) action
}

// action runs a command. It gets as many operands as the command has.
type action func(ctx context.Context, operands []string) error

func commands() []command {
	return []command{
		{"setup", "", "connect Bookside with the site on this machine", aboutSetup, (*program).setup},
		{"serve", "", "serve the API", aboutServe, (*program).serve},
		{"check", "", "check the database and the site", aboutCheck, (*program).check},
		{"migrate", "", "bring Bookside's own tables to this version", aboutMigrate, (*program).migrate},
		{"restored", "", "tell Bookside that a backup of the database was restored", aboutRestored, (*program).restored},
		{"explain", "REQUEST", "show why a request takes its time", aboutExplain, (*program).explain},
		{"indexes", "", "list indexes that help on a large site, make or drop them", aboutIndexes, (*program).indexes},
		{"compare", "[FILE…]", "compare the answers of PHP and Bookside", aboutCompare, (*program).compare},
		{"export", "LIST", "write the records of a list to a file", aboutExport, (*program).export},
		{"keys create", "", "create an API key", aboutKeysCreate, (*program).createKey},
		{"keys list", "", "list the API keys", aboutKeysList, (*program).listKeys},
		{"keys restrict", "ID", "change an API key", aboutKeysRestrict, (*program).restrictKey},
		{"keys roll", "ID", "make a new API key for an old one", aboutKeysRoll, (*program).rollKey},
		{"keys revoke", "ID", "revoke an API key", aboutKeysRevoke, (*program).revokeKey},
		{"keys import", "", "import a key that clients already use", aboutKeysImport, (*program).importKey},
		{"calendars create", "", "make a secret address at which calendar programs see bookings", aboutCalendarsCreate, (*program).createCalendar},
		{"calendars list", "", "list the secret addresses of calendars", aboutCalendarsList, (*program).listCalendars},
		{"calendars revoke", "ID", "revoke the secret address of a calendar", aboutCalendarsRevoke, (*program).revokeCalendar},
		{"webhooks add", "URL", "tell a URL about changes", aboutWebhooksAdd, (*program).addWebhook},
		{"webhooks list", "", "list the webhooks", aboutWebhooksList, (*program).listWebhooks},
		{"webhooks test", "ID", "send a test event to a webhook", aboutWebhooksTest, (*program).testWebhook},
		{"webhooks log", "ID", "show what was sent to a webhook", aboutWebhooksLog, (*program).logWebhook},
		{"webhooks replay", "ID", "send events of a webhook again", aboutWebhooksReplay, (*program).replayWebhook},
		{"webhooks rotate", "ID", "make a new secret for a webhook", aboutWebhooksRotate, (*program).rotateWebhook},
		{"webhooks disable", "ID", "pause a webhook", aboutWebhooksDisable, (*program).disableWebhook},
		{"webhooks enable", "ID", "continue a disabled webhook", aboutWebhooksEnable, (*program).enableWebhook},
		{"webhooks delete", "ID", "delete a webhook and its log", aboutWebhooksDelete, (*program).deleteWebhook},
		{"webhooks listen", "", "receive events, check their signatures and print them", aboutWebhooksListen, (*program).receiveWebhooks},
		{"companion install", "", "place Bookside's companion in WordPress", aboutCompanionInstall, (*program).installCompanion},
		{"companion remove", "", "remove the companion from WordPress", aboutCompanionRemove, (*program).removeCompanion},
		{"companion status", "", "compare the companion in WordPress with that of this program", aboutCompanionStatus, (*program).companionStatus},
		{"companion zip", "FILE", "write the companion as a plugin to upload in wp-admin", aboutCompanionZip, (*program).zipCompanion},
		{"admin-token", "", "print a login token for the console", aboutAdminToken, (*program).adminToken},
		{"completion", "SHELL", "print a completion script for bash, zsh or fish", aboutCompletion, (*program).completion},
		{"version", "", "print the version", aboutVersion, (*program).version},
	}
}

// run runs the command that args name.
func (p *program) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return failf(exitUsage, nil, "no command given; see bookside help")
	}
	switch {
	case asksForHelp(args[0]):
		return p.help(args[1:])
	case slices.Contains([]string{"-v", "-version", "--version"}, args[0]):
		args = []string{"version"}
	case len(args) > 1 && isGroup(args[0]) && asksForHelp(args[1]):
		return p.help(slices.Delete(slices.Clone(args), 1, 2))
	}
	c, rest, ok := findCommand(args)
	if !ok {
		return unknownCommand(args)
	}
	return c.run(ctx, p, rest)
}

func asksForHelp(word string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, word)
}

// findCommand returns the command that the arguments begin with, and the others.
func findCommand(args []string) (c command, rest []string, ok bool) {
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(args) >= len(words) && strings.Join(args[:len(words)], " ") == c.name {
			return c, args[len(words):], true
		}
	}
	return command{}, nil, false
}

// isGroup reports whether a word is the first of commands with two words.
func isGroup(word string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return strings.HasPrefix(c.name, word+" ") })
}

func unknownCommand(args []string) error {
	switch group := args[0]; {
	case !isGroup(group):
		return failf(exitUsage, nil, "there is no command %q; did you mean %s? See bookside help", group, suggest(group, commandNames("")))
	case len(args) == 1:
		return failf(exitUsage, nil, "%s: no command given; see bookside help %[1]s", group)
	default:
		name := group + " " + args[1]
		return failf(exitUsage, nil, "there is no command %q; did you mean %s? See bookside help %s", name, suggestCommand(group, args[1]), group)
	}
}

// synonyms are words for the same: each group of commands has one of them at most.
var synonyms = [][]string{
	{"create", "add", "new", "make", "generate", "issue"},
	{"revoke", "delete", "remove", "rm", "del"},
	{"list", "ls", "show", "get"},
	{"restrict", "edit", "update", "change", "set", "modify"},
	{"roll", "rotate", "renew", "replace"},
	{"log", "logs", "deliveries"},
}

// suggestCommand returns the command of a group that a word may stand for.
func suggestCommand(group, word string) string {
	names := commandNames(group + " ")
	for _, words := range synonyms {
		if !slices.Contains(words, strings.ToLower(word)) {
			continue
		}
		for _, name := range names {
			if slices.Contains(words, strings.TrimPrefix(name, group+" ")) {
				return name
			}
		}
	}
	return suggest(group+" "+word, names)
}

// commandNames returns the names of the commands that begin with a prefix; without one,
// also the words that others begin with.
func commandNames(prefix string) (names []string) {
	for _, c := range commands() {
		if strings.HasPrefix(c.name, prefix) {
			names = append(names, c.name)
		}
		if group, _, two := strings.Cut(c.name, " "); two && prefix == "" {
			names = append(names, group)
		}
	}
	return names
}

func (c command) run(ctx context.Context, p *program, args []string) error {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	act := c.prepare(p, flags)
	operands, err := parseInterspersed(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.print(c.usage())
	case err != nil:
		return c.usageFailure("%s", flagProblem(flags, err))
	case len(operands) != len(strings.Fields(c.operands)) && !strings.HasSuffix(c.operands, "…]"):
		return c.usageFailure("it takes %s, got %d", describeOperands(c.operands), len(operands))
	}
	err = act(ctx, operands)
	var usage *usageError
	if errors.As(err, &usage) {
		return c.usageFailure("%s", usage.reason)
	}
	return err
}

// usageError is an invalid flag or operand, found by the action of a command.
type usageError struct{ reason string }

func (e *usageError) Error() string { return e.reason }

func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// alsoWrong adds a reason to an earlier usageError, if there is one.
func alsoWrong(earlier error, format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	var usage *usageError
	if errors.As(earlier, &usage) {
		reason = usage.reason + "; " + reason
	}
	return &usageError{reason}
}

func (c command) usageFailure(format string, args ...any) error {
	return failf(exitUsage, nil, "%s: %s; see bookside help %[1]s", c.name, fmt.Sprintf(format, args...))
}

// flagProblem returns the message of an error of the flag package, with a suggestion for a
// flag that does not exist.
func flagProblem(flags *flag.FlagSet, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err.Error()
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if len(names) == 0 {
		return fmt.Sprintf("there is no flag --%s", name)
	}
	return fmt.Sprintf("there is no flag --%s (did you mean --%s?)", name, suggest(name, names))
}

func describeOperands(operands string) string {
	if operands == "" {
		return "flags only"
	}
	return operands
}

// parseInterspersed parses flags before, between and after operands.
func parseInterspersed(flags *flag.FlagSet, args []string) (operands []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return operands, nil
		}
		operands = append(operands, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// print writes a text to the standard output.
func (p *program) print(text string) error {
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return fmt.Errorf("write to the standard output: %w", err)
	}
	return nil
}

// printJSON prints a value as JSON.
func (p *program) printJSON(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode for the standard output: %w", err)
	}
	return p.print(string(text) + "\n")
}

func (p *program) help(args []string) error {
	if len(args) == 0 {
		return p.print(overview())
	}
	switch {
	case args[0] == "config":
		text, err := settingsHelp()
		if err != nil {
			return err
		}
		return p.print(text)
	case len(args) == 1 && isGroup(args[0]):
		return p.print(groupUsage(args[0]))
	}
	c, _, ok := findCommand(args)
	if !ok {
		return unknownCommand(args)
	}
	return p.print(c.usage())
}

// overview returns the text of help.
func overview() string {
	rows := append(summaries(""), []string{"  help COMMAND", "explain a command and its flags"}, []string{"  help config", "list all settings"})
	return "Usage: bookside COMMAND [flags]\n\n" + columns(rows) + exitCodeHelp()
}

// groupUsage returns the help of the commands that begin with a word.
func groupUsage(group string) string {
	rows := append(summaries(group+" "), []string{"  help " + group + " COMMAND", "explain a command and its flags"})
	return fmt.Sprintf("Usage: bookside %s COMMAND [flags]\n\n%s", group, columns(rows))
}

// summaries returns a row for each command whose name has the prefix.
func summaries(prefix string) (rows [][]string) {
	for _, c := range commands() {
		if strings.HasPrefix(c.name, prefix) {
			rows = append(rows, []string{"  " + c.synopsis(), c.summary})
		}
	}
	return rows
}

func (c command) synopsis() string { return strings.TrimSpace(c.name + " " + c.operands) }

// columns formats rows with aligned cells.
func columns(rows [][]string) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(table, strings.Join(row, "\t")+"\n") // a strings.Builder never fails
	}
	_ = table.Flush()
	return b.String()
}

// usage returns the help of the command.
func (c command) usage() string {
	return fmt.Sprintf("Usage: bookside %s [flags]\n\n%s\n\nFlags:\n%s", c.synopsis(), c.about, columns(c.flagRows()))
}

// flagRows returns a row for each flag of the command, --help included.
func (c command) flagRows() [][]string {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.prepare(&program{}, flags)
	return append(flagRows(flags), []string{"  --help", "print this help"})
}

func flagRows(flags *flag.FlagSet) (rows [][]string) {
	flags.VisitAll(func(f *flag.Flag) {
		operand, text := flag.UnquoteUsage(f)
		rows = append(rows, []string{"  --" + strings.TrimSpace(f.Name+" "+operand), text})
	})
	return rows
}
