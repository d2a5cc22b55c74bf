package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/cmd/bookside/setup"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/printable"
	"github.com/bookside/bookside/cmd/internal/settings"
)

// program is one run of the program, with everything that it uses from its process.
type program struct {
	env            []string // NAME=value
	stdin          io.Reader
	stdout, stderr io.Writer
	now            domain.Clock
	limits         settings.Limits // none for those of serve
	host           *setup.Host     // for setup; nil for this machine
	given          settings.Flags  // the command's flags
}

func init() { cobra.EnableCommandSorting = false } // the tree has its own order

// run runs the command that args name. Whatever it prints goes through one filter.
func (p *program) run(ctx context.Context, args []string) error {
	p.stdout, p.stderr = printable.Writer{To: p.stdout}, printable.Writer{To: p.stderr}
	root := p.commands()
	root.SetArgs(append([]string{}, args...)) // nil would mean the process's arguments
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	command, err := root.ExecuteContextC(ctx)
	var usage *usageError
	if errors.As(err, &usage) {
		return exit.Errorf(exit.Usage, nil, "%s: %s; see bookside help %[1]s", commandName(command), usage.reason)
	}
	return err
}

// commandName returns the words of a command without the program's name.
func commandName(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}

// finish adds to the tree what all commands have: help, errors, completion, and the number of operands.
func (p *program) finish(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagFailure)
	version := root.Flags().BoolP("version", "v", false, "print the version")
	noCommand := root.RunE
	root.RunE = func(root *cobra.Command, words []string) error {
		if *version {
			return p.print(versionText())
		}
		return noCommand(root, words)
	}
	root.SetHelpCommand(p.helpCommand())
	print := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		print(c, args)
		if c == root {
			c.Print("\nExit codes:\n")
			for _, e := range exit.Codes {
				c.Printf("  %d   %s\n", e.Code, e.Meaning)
			}
		}
	})
	eachCommand(root, func(c *cobra.Command) {
		c.Args = takesOperands
		p.complete(c)
	})
}

// eachCommand calls use for all commands that are not groups.
func eachCommand(c *cobra.Command, use func(*cobra.Command)) {
	if !isGroup(c) {
		use(c)
	}
	for _, sub := range c.Commands() {
		eachCommand(sub, use)
	}
}

// isGroup reports whether a command only has subcommands; see program.group.
func isGroup(c *cobra.Command) bool { return operandsOf(c) == groupOperand }

// operandsOf returns the operands of a command as its help shows them: "" for none, [FILE…] for any number.
func operandsOf(c *cobra.Command) string {
	_, operands, _ := strings.Cut(c.Use, " ")
	return operands
}

// takesOperands is the cobra.PositionalArgs of all commands.
func takesOperands(c *cobra.Command, operands []string) error {
	switch expected := operandsOf(c); {
	case strings.HasSuffix(expected, "…]"), len(operands) == len(strings.Fields(expected)):
		return nil
	case expected == "":
		return usageErrorf("it takes flags only, got %d", len(operands))
	default:
		return usageErrorf("it takes %s, got %d", expected, len(operands))
	}
}

func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND…]",
		Short:   "explain a command and its flags; help config lists all settings",
		GroupID: "other",
		RunE:    func(c *cobra.Command, words []string) error { return p.help(c.Root(), words) },
		ValidArgsFunction: func(c *cobra.Command, words []string, _ string) (offered []string, _ cobra.ShellCompDirective) {
			if within, rest, err := c.Root().Find(words); err == nil && len(rest) == 0 {
				for _, c := range within.Commands() {
					offered = append(offered, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			if len(words) == 0 {
				offered = append(offered, cobra.CompletionWithDesc("config", "list all settings"))
			}
			return offered, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// help explains the command that words name within others.
func (p *program) help(within *cobra.Command, words []string) error {
	if len(words) > 0 && words[0] == "config" && !within.HasParent() {
		return p.print(settings.Help())
	}
	for _, word := range words {
		if !within.HasSubCommands() {
			break
		}
		sub, _, err := within.Find([]string{word})
		if err != nil || sub == within {
			return unknownCommand(within, word)
		}
		within = sub
	}
	return within.Help()
}

func unknownCommand(group *cobra.Command, word string) error {
	var names []string
	for _, c := range group.Commands() {
		names = append(names, c.Name())
	}
	closest, _ := domain.Closest(word, names)
	if suggested := group.SuggestionsFor(word); len(suggested) > 0 {
		closest = suggested[0]
	}
	within, see := commandName(group), "bookside help"
	if within != "" {
		word, closest, see = within+" "+word, within+" "+closest, see+" "+within
	}
	return exit.Errorf(exit.Usage, nil, "there is no command %q; did you mean %s? See %s", word, closest, see)
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

// flagFailure explains an error about a flag without its value, which may be a secret, and suggests an
// existing flag for an unknown one.
func flagFailure(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var incomplete *pflag.ValueRequiredError
	var number *strconv.NumError
	_ = errors.As(err, &invalid)
	switch {
	case errors.As(err, &unknown) && isGroup(c):
		return unknownCommand(c, "--"+unknown.GetSpecifiedName())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		closest, _ := domain.Closest(unknown.GetSpecifiedName(), names)
		return usageErrorf("there is no flag --%s (did you mean --%s?)", unknown.GetSpecifiedName(), closest)
	case errors.As(err, &number) && number.Func == "ParseBool":
		return usageErrorf("--%s: write true or false", invalid.GetFlag().Name)
	case errors.As(err, &number):
		return usageErrorf("--%s: write a number", invalid.GetFlag().Name)
	case invalid != nil:
		return usageErrorf("--%s: %v", invalid.GetFlag().Name, invalid.Unwrap())
	case errors.As(err, &incomplete):
		return usageErrorf("%v", err)
	default:
		return usageErrorf("flags begin with two dashes, such as --help")
	}
}

// print writes a text to standard output.
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

// notNil returns a copy of a list, which is empty instead of nil.
func notNil[T any](list []T) []T { return append([]T{}, list...) }

// oneLine escapes what would end a cell or a line of a table.
var oneLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// columns formats rows with aligned cells.
func columns(rows [][]string) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine.Replace(printable.Text(cell))
		}
		_, _ = io.WriteString(table, strings.Join(cells, "\t")+"\n") // a strings.Builder never fails
	}
	_ = table.Flush()
	return b.String()
}

// configFlags adds the flags that name settings to a command, and returns all its flags.
func (p *program) configFlags(command *cobra.Command) *pflag.FlagSet {
	p.given.Define(command.Flags())
	return command.Flags()
}

// config reads the configuration, with the flags of the command.
func (p *program) config() (settings.Config, error) {
	c, err := settings.Read(p.env, p.given)
	c.Limits = cmp.Or(p.limits, c.Limits)
	return c, err
}
