package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"bookside/adapter/extensions"
	"bookside/adapter/session"
	"bookside/compat"
)

func (p *program) extensions() *cobra.Command {
	command := &cobra.Command{
		Use:   "extensions",
		Short: "list what is added to LatePoint, and what becomes of it in bookings by the API",
		Long: `Lists the extensions of LatePoint that are active on the site, and says of each part in a sentence
what it means for the API. First come those of which something is not honoured: the site does it, the
API does not. It changes nothing.`,
	}
	flags := p.configFlags(command)
	asJSON := flags.Bool("json", false, "print the list as JSON")
	command.RunE = func(command *cobra.Command, _ []string) error {
		return p.listExtensions(command.Context(), *asJSON)
	}
	return command
}

func (p *program) listExtensions(ctx context.Context, asJSON bool) (err error) {
	_, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	site, err := session.NewPlatform(db, p.now).Session(ctx)
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
	return p.print(extensionTable(active))
}

// extensionTable is printed by extensions.
func extensionTable(active []extensions.Active) string {
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
	}
	return b.String()
}
