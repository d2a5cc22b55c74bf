package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/compat"
)

func (p *program) extensions() *cobra.Command {
	command := &cobra.Command{
		Use:   "extensions",
		Short: "list what is added to LatePoint, and how bookings through the API treat it",
		Long: `Lists the extensions of LatePoint that are active on the site, and says in a sentence
what each part means for the API. Those with parts that are not honoured come first: the site does
them, the API does not. It changes nothing.

With the companion it also judges unknown extensions, by the hooks they use; --listeners prints each
function that is hooked into LatePoint, with its priority.`,
	}
	flags := p.configFlags(command)
	asJSON := flags.Bool("json", false, "print the list as JSON")
	listeners := flags.Bool("listeners", false, "print what listens to LatePoint's hooks, too")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if *asJSON && *listeners {
			return usageErrorf("--listeners is for the list; leave it out with --json")
		}
		return p.listExtensions(command.Context(), *asJSON, *listeners)
	}
	command.AddCommand(p.verifyExtensions(), p.logExtensions(), p.replayExtensions())
	return command
}

func (p *program) listExtensions(ctx context.Context, asJSON, listeners bool) (err error) {
	c, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	site, err := server.NewPlatform(c, db, p.now).Session(ctx)
	if err != nil {
		return t.Explain(err)
	}
	active, err := site.Extensions(ctx)
	if err != nil {
		return t.ExplainPrivilege(ctx, err)
	}
	if asJSON {
		return p.printJSON(compat.ExtensionRecords(active))
	}
	return p.print(extensionTable(active, listeners))
}

// extensionTable is the output of extensions.
func extensionTable(active []extensions.Active, listeners bool) string {
	if len(active) == 0 {
		return "No extension of LatePoint is active.\n"
	}
	var b strings.Builder
	for i, e := range active {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Title + " (" + e.ID)
		if e.Version != "" {
			b.WriteString(", tables " + e.Version)
		}
		b.WriteString(")\n")
		rows := make([][]string, len(e.Parts))
		for i, part := range e.Parts {
			rows[i] = []string{"  " + part.Kind.Words(), part.Means}
		}
		b.WriteString(columns(rows))
		for _, l := range e.Listeners {
			if listeners {
				fmt.Fprintf(&b, "    %s @%d %s\n", l.Hook, l.Priority, l.Callback)
			}
		}
	}
	return b.String()
}
