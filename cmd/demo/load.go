package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/anonymise"
	"github.com/bookside/bookside/fixtures/sitefile"
)

// load returns the command that fills a database.
func load(now domain.Clock) *cobra.Command {
	var s source
	var force bool
	command := newCommand("load DSN FIXTURE... [--now TIME] [--force]", "load fixtures into a database", `Loads the site that fixtures describe, with Bookside's own tables and the keys, into a database on a MariaDB or
MySQL server, in place of the site that is there. It creates the database if there is none. A database that has
tables of anything else, such as a real WordPress, is refused.`, cobra.MinimumNArgs(2))
	s.bindNow(command)
	command.Flags().BoolVar(&force, "force", false, "replace the tables of the site even if there are others, which stay")
	command.RunE = func(command *cobra.Command, args []string) error {
		s.files = args[1:]
		loaded, err := s.read(command.Context(), now)
		if err != nil {
			return err
		}
		c := settings.Default()
		c.DB.Prefix = loaded.Prefix
		if c.DB.DSN, err = fixtures.PreferTLS(args[0]); err != nil {
			return err
		}
		if err := loaded.store(command.Context(), c, force); err != nil {
			return err
		}
		_, err = fmt.Fprintln(command.OutOrStdout(), "loaded; the tables begin with", loaded.Prefix)
		return err
	}
	return command
}

// dump returns the command that writes SQL.
func dump(now domain.Clock) *cobra.Command {
	var s source
	var real, prefix string
	command := newCommand("dump [FIXTURE...] [--now TIME] | --anonymise DSN [--prefix PREFIX]", "write a site as SQL", `Writes the site that fixtures describe, or the small practice, as SQL for the clients of MariaDB and MySQL and for
--fixtures, without Bookside's own tables. The same fixtures with the same clock give the same SQL.

With --anonymise, it writes the site in a database, and only reads there. Everything that is not known to be harmless
is made up or left out: names, contacts, texts, codes, keys and passwords.`, cobra.ArbitraryArgs)
	s.bindNow(command)
	command.Flags().StringVar(&real, "anonymise", "", "the data source name of a real site, such as reader:secret@tcp(127.0.0.1:3306)/wordpress")
	command.Flags().StringVar(&prefix, "prefix", "wp_", "how the names of its tables begin")
	command.MarkFlagsMutuallyExclusive("anonymise", "now")
	command.RunE = func(command *cobra.Command, args []string) error {
		s.files = args
		var dumped site
		var err error
		switch {
		case real == "":
			dumped, err = s.read(command.Context(), now)
		case len(args) > 0:
			err = errors.New("--anonymise: give no fixtures")
		default:
			dumped, err = anonymised(command.Context(), real, prefix, now)
		}
		if err != nil {
			return err
		}
		out := bufio.NewWriter(command.OutOrStdout())
		_, err = out.WriteString(heading(dumped))
		return errors.Join(err, fixtures.Dump(out, dumped.Site), out.Flush())
	}
	return command
}

// anonymised returns the site in a database without what somebody wrote.
func anonymised(ctx context.Context, dsn, prefix string, now domain.Clock) (site, error) {
	dsn, err := fixtures.PreferTLS(dsn)
	if err != nil {
		return site{}, err
	}
	if err := sitefile.CheckPrefix(prefix); err != nil {
		return site{}, fmt.Errorf("--prefix: %w", err)
	}
	content, err := anonymise.Site(ctx, dsn, prefix, now())
	if err != nil {
		return site{}, err
	}
	return site{Site: content.Site(), clock: newClock(now, content.Now, true)}, nil
}

// fixtureFiles returns the commands that help to write fixtures.
func fixtureFiles(now domain.Clock) *cobra.Command {
	group := newCommand("fixtures COMMAND", "begin a fixture, or check it", "", cobra.NoArgs)
	group.RunE = func(group *cobra.Command, _ []string) error { return group.Help() }
	begin := newCommand("init [DIRECTORY]", "write a commented example, and the schema for editors", "", cobra.MaximumNArgs(1))
	begin.RunE = func(command *cobra.Command, args []string) error {
		folder := "."
		if len(args) > 0 {
			folder = args[0]
		}
		example := filepath.Join(folder, "site.yaml")
		err := os.MkdirAll(folder, 0o777) //nolint:gosec // as the user's umask says
		if err == nil {
			err = create(example, sitefile.Example)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, sitefile.SchemaFile), sitefile.JSONSchema(), 0o666) //nolint:gosec // likewise
		}
		if err == nil {
			_, err = fmt.Fprintf(command.OutOrStdout(), "wrote %s; try it with: %s --fixtures %[1]s\n", example, program)
		}
		return err
	}
	var s source
	check := newCommand("check FIXTURE...", "report mistakes, all at once", "", cobra.MinimumNArgs(1))
	s.bindNow(check)
	check.RunE = func(command *cobra.Command, args []string) error {
		s.files = args
		read, err := s.read(command.Context(), now)
		if err == nil {
			_, err = fmt.Fprintln(command.OutOrStdout(), "no mistakes; it is", read.clock.now().Format("Monday, 2006-01-02 15:04"), "at the site")
		}
		return err
	}
	group.AddCommand(begin, check)
	return group
}

// create writes a new file.
func create(path, content string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as the user's umask says
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}
