// Command bookside serves the booking API of a WordPress site with the LatePoint plugin, from the site's
// own database.
//
// It contains the command line; cmd/internal/server serves, and rules, formats and SQL are in other
// packages. It may import every package except cmd/demo and fixtures.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
	_ "time/tzdata" // small images have no zone database

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // small images have no root certificates

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
)

func main() { os.Exit(runProcess(settings.StandardLimits())) }

// runProcess runs the command of the process's arguments, and returns its exit code.
func runProcess(limits settings.Limits) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	p := program{env: settings.WithSystemFile(os.Environ(), settings.SystemFile), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now, limits: limits}
	return exit.Report(os.Stderr, p.run(ctx, os.Args[1:]))
}

// commands returns the tree of commands. Each command has a file, with its flags.
func (p *program) commands() *cobra.Command {
	root := p.group("bookside", "REST API of the LatePoint booking plugin, from the site's own database")
	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range commands {
			c.GroupID = id
		}
		root.AddCommand(commands...)
	}
	add("run", "Running it:",
		p.setup(),
		p.serve(),
		p.check(),
		p.migrate(),
		p.restored())
	add("look", "Looking at it:",
		p.verify(),
		p.indexes(),
		p.compare())
	add("manage", "Who may do what:",
		p.group("keys", "create, list, restrict, roll, revoke and import API keys",
			p.createKey(),
			p.listKeys(),
			p.restrictKey(),
			p.rollKey(),
			p.revokeKey(),
			p.importKey()),
		p.companion(),
		p.adminToken())
	add("other", "Other commands:",
		p.completion(),
		p.version())
	p.finish(root)
	return root
}

// synonyms are words with the same meaning: each group of commands has at most one of them, and suggests it
// for the others.
var synonyms = [][]string{
	{"create", "add", "new", "make", "generate", "issue"},
	{"revoke", "delete", "remove", "rm", "del"},
	{"list", "ls", "show", "get"},
	{"restrict", "edit", "update", "change", "set", "modify"},
	{"roll", "rotate", "renew", "replace"},
}

// groupOperand is the operand of groups.
const groupOperand = "COMMAND"

// group returns a command that contains others, and fails without one of them.
func (p *program) group(name, summary string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name + " " + groupOperand, Short: summary, Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true}
	group.RunE = func(group *cobra.Command, words []string) error {
		switch {
		case len(words) > 0 && words[0] == "help":
			return p.help(group, words[1:])
		case len(words) > 0:
			return unknownCommand(group, words[0])
		case group.HasParent():
			return exit.Errorf(exit.Usage, nil, "%s: no command given; see bookside help %[1]s", group.Name())
		default:
			return exit.Errorf(exit.Usage, nil, "no command given; see bookside help")
		}
	}
	group.AddCommand(commands...)
	for _, c := range commands {
		for _, words := range synonyms {
			if slices.Contains(words, c.Name()) {
				c.SuggestFor = words
			}
		}
	}
	return group
}
