package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) export() *cobra.Command {
	command := &cobra.Command{
		Use:   "export LIST",
		Short: "write the records of a list to a file",
		Long: `Writes all records of a list, as GET returns them to a key that may read everything: bookings,
customers, agents, services, categories, locations, payments, orders or coupons. It reads them from
the database, needs no server, and changes nothing. Its memory does not grow with the list.

The format is csv, with the names of the fields in the first row; jsonl, with a record in JSON in
each line; or for bookings ics, a calendar. In csv, a field of a nested record has both names,
such as customer.email, several values in one cell are separated by "; ", and a cell that a
spreadsheet would take for a formula gets an apostrophe in front.

--from and --to are dates such as 2026-12-31, both included: those of bookings, and those on which
other records were created. --filter is any parameter that GET has for the list, such as status or
sort, each of them once.

  bookside export bookings --from 2026-12-01 --to 2026-12-31 --output december.csv
  bookside export bookings --format ics --filter agent_id=3 --output calendar.ics
  bookside export customers --format jsonl --filter has_bookings=true

The file of --output appears once it is complete, and only its owner may read it. Without --output
the records are printed; if the command fails, the output is incomplete.`,
	}
	flags := p.configFlags(command)
	e := handlers.Export{Filter: url.Values{}}
	flags.StringVar(&e.Format, "format", "csv", "`FORMAT` of the file: csv, jsonl or, for bookings, ics")
	flags.StringVar(&e.From, "from", "", "first `DATE`")
	flags.StringVar(&e.To, "to", "", "last `DATE`")
	flags.Func("filter", "only records with this `NAME=VALUE`; can be repeated with other names", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("write it as NAME=VALUE")
		}
		e.Filter.Add(name, value)
		return nil
	})
	output := flags.String("output", "", "write to this `FILE`")
	command.RunE = func(command *cobra.Command, operands []string) error {
		e.List = operands[0]
		if err := e.Validate(); err != nil {
			return usageErrorf("%v", err)
		}
		return p.exportSite(command.Context(), e, *output)
	}
	return command
}

func (p *program) exportSite(ctx context.Context, e handlers.Export, output string) (err error) {
	c, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	platform := server.NewPlatform(c, db, p.now)
	e.SiteTimestamps = c.Compat.Timestamps == "site"
	line := newProgressLine(p.stderr)
	if output == "" && isTerminal(p.stdout) {
		line = &progressLine{} // the records themselves show the progress
	}
	e.Progress = func(records, all int64) { line.write(fmt.Sprintf("%d of %d %s", records, all, e.List)) }
	write := func(to io.Writer) error { return e.Run(ctx, platform, to) }
	if output == "" {
		err = write(p.stdout)
	} else {
		err = replaceFileAt(output, 0o600, write)
	}
	line.clear()
	return explainExport(ctx, t, e, err)
}

// replaceFileAt writes a file that appears, or replaces another, only once it is complete. A link stays a
// link, and anything but a file, such as /dev/null or a pipe, is written to instead of replaced.
func replaceFileAt(name string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeInto(name, write)
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return replaceFileBy(root, filepath.Base(name), mode, nil, write)
}

func writeInto(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// explainExport turns an error of an export into one with an exit code and advice.
func explainExport(ctx context.Context, t server.Target, e handlers.Export, err error) error {
	var known *domain.Error
	switch {
	case errors.As(err, &known) && len(known.Fields) > 0:
		var wrong []string
		for _, name := range slices.Sorted(maps.Keys(known.Fields)) {
			wrong = append(wrong, e.Flag(name)+": "+known.Fields[name])
		}
		return exit.Errorf(exit.Usage, err, "export: %s; see bookside help export", strings.Join(wrong, "; "))
	case errors.Is(err, wpdb.ErrUnavailable), errors.Is(err, wpdb.ErrLinkLost):
		return t.Explain(err)
	default:
		return t.ExplainPrivilege(ctx, err)
	}
}
