package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"bookside/adapter/extensions"
	"bookside/adapter/session"
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
		return p.printJSON(extensionRecords(active))
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

// extensionRecord is an extension in the output of extensions --json.
type extensionRecord struct {
	ID      string          `json:"id"`
	Title   string          `json:"title"`
	Version string          `json:"version"` // of its tables; empty if it is not known
	Kind    extensions.Kind `json:"kind"`    // of the part with which it fares worst
	Parts   []extensionPart `json:"parts"`
}

type extensionPart struct {
	Subject extensions.Subject `json:"subject"`
	Kind    extensions.Kind    `json:"kind"`
	Means   string             `json:"means"`
}

func extensionRecords(active []extensions.Active) []extensionRecord {
	records := make([]extensionRecord, len(active))
	for i, e := range active {
		records[i] = extensionRecord{ID: e.ID, Title: e.Title, Version: e.Version, Kind: e.Kind()}
		for _, part := range e.Parts {
			records[i].Parts = append(records[i].Parts, extensionPart{part.Subject, part.Kind, part.Means})
		}
	}
	return records
}
