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
)

// program is a run of the program, with all that it takes from its process.
type program struct {
	env            []string // NAME=value
	stdin          io.Reader
	stdout, stderr io.Writer
	now            domain.Clock
}

// command is one line of the command table.
type command struct {
	name     string // one word, or two
	operands string // such as ID; none where empty
	summary  string
	about    string // paragraphs for its own help
	// prepare defines the command's flags and returns what runs once they are parsed.
	prepare func(*program, *flag.FlagSet) action
}

// action does what a command is for. It gets as many operands as the command
// names.
type action func(ctx context.Context, operands []string) error

func commands() []command {
	return []command{
		{"serve", "", "serve the API", aboutServe, (*program).serve},
		{"check", "", "look at the database and the site, and say what is wrong", aboutCheck, (*program).check},
		{"keys create", "", "make an API key", aboutKeysCreate, (*program).createKey},
		{"keys list", "", "list the API keys", aboutKeysList, (*program).listKeys},
		{"keys restrict", "ID", "change the terms of an API key", aboutKeysRestrict, (*program).restrictKey},
		{"keys revoke", "ID", "end an API key at once", aboutKeysRevoke, (*program).revokeKey},
		{"keys import", "", "store a key that clients have already", aboutKeysImport, (*program).importKey},
		{"admin-token", "", "print a token that opens the page for API keys", aboutAdminToken, (*program).adminToken},
		{"version", "", "print the version", aboutVersion, (*program).version},
	}
}

// run is the program: one command, given by args.
func (p *program) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return failf(exitUsage, nil, "no command given\n\n%s", overview())
	}
	switch {
	case asksForHelp(args[0]):
		return p.help(args[1:])
	case args[0] == "-version", args[0] == "--version":
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

// findCommand takes the name of a command off the arguments.
func findCommand(args []string) (c command, rest []string, ok bool) {
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(args) >= len(words) && strings.Join(args[:len(words)], " ") == c.name {
			return c, args[len(words):], true
		}
	}
	return command{}, nil, false
}

// isGroup tells the first word of commands of two.
func isGroup(word string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return strings.HasPrefix(c.name, word+" ") })
}

func unknownCommand(args []string) error {
	switch group := args[0]; {
	case !isGroup(group):
		return failf(exitUsage, nil, "there is no command %q\n\n%s", group, overview())
	case len(args) == 1:
		return failf(exitUsage, nil, "%s: which of its commands?\n\n%s", group, groupUsage(group))
	default:
		return failf(exitUsage, nil, "there is no command %q\n\n%s", group+" "+args[1], groupUsage(group))
	}
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
		return c.misused("%v", err)
	case len(operands) != len(strings.Fields(c.operands)):
		return c.misused("it takes %s, got %d", countOperands(c.operands), len(operands))
	}
	err = act(ctx, operands)
	var wrong *usageError
	if errors.As(err, &wrong) {
		return c.misused("%s", wrong.reason)
	}
	return err
}

// usageError is a wrong flag or operand, found by a command's action.
type usageError struct{ reason string }

func (e *usageError) Error() string { return e.reason }

func misusef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

func (c command) misused(format string, args ...any) error {
	return failf(exitUsage, nil, "%s: %s\n\n%s", c.name, fmt.Sprintf(format, args...), c.usage())
}

func countOperands(operands string) string {
	if operands == "" {
		return "flags only"
	}
	return operands
}

// parseInterspersed reads flags before, between and after operands.
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

// print writes to the standard output in one piece.
func (p *program) print(text string) error {
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return fmt.Errorf("write to the standard output: %w", err)
	}
	return nil
}

// printJSON prints a value for a program.
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

// overview is what help prints.
func overview() string {
	rows := append(summaries(""), []string{"  help COMMAND", "tell the flags of a command"}, []string{"  help config", "tell all settings"})
	return "Usage: bookside COMMAND [flags]\n\n" + columns(rows) + exitCodeHelp()
}

// groupUsage is the help of the commands that begin with one word.
func groupUsage(group string) string {
	rows := append(summaries(group+" "), []string{"  help " + group + " COMMAND", "tell the flags of a command"})
	return fmt.Sprintf("Usage: bookside %s COMMAND [flags]\n\n%s", group, columns(rows))
}

// summaries are a row for each command whose name begins so.
func summaries(prefix string) (rows [][]string) {
	for _, c := range commands() {
		if strings.HasPrefix(c.name, prefix) {
			rows = append(rows, []string{"  " + c.synopsis(), c.summary})
		}
	}
	return rows
}

func (c command) synopsis() string { return strings.TrimSpace(c.name + " " + c.operands) }

// columns aligns the cells of rows.
func columns(rows [][]string) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(table, strings.Join(row, "\t")+"\n") // a strings.Builder takes everything
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
