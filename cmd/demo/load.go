package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/fromsite"
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
	var date string
	var drop bool
	command := newCommand("dump [FIXTURE...] [--now TIME | --date DATE] [--drop]", "write a site as SQL", `Writes the site that fixtures describe, or the small practice, as SQL for the clients of MariaDB and MySQL, without
Bookside's own tables. The same fixtures with the same clock give the same SQL.`, cobra.ArbitraryArgs)
	s.bindNow(command)
	command.Flags().StringVar(&date, "date", "", "the site's date, such as 2027-01-11 or today, at 08:00")
	command.MarkFlagsMutuallyExclusive("now", "date")
	command.Flags().BoolVar(&drop, "drop", false, "drop the tables first, so that the SQL can be loaded again")
	command.RunE = func(command *cobra.Command, args []string) error {
		s.files = args
		if date != "" {
			s.now = date + " 08:00"
		}
		dumped, err := s.read(command.Context(), now)
		if err != nil {
			return err
		}
		if drop {
			dumped.Site = dumped.Replacing()
		}
		out := bufio.NewWriter(command.OutOrStdout())
		return errors.Join(fixtures.Dump(out, dumped.Site), out.Flush())
	}
	return command
}

// fixtureFiles returns the commands that help to write fixtures.
func fixtureFiles(now domain.Clock) *cobra.Command {
	group := newCommand("fixtures COMMAND", "begin a fixture, make one of a site, or check it", "", cobra.NoArgs)
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
	group.AddCommand(begin, check, fromSite(now))
	return group
}

// fromSite returns the command that writes the fixture of a site that exists.
func fromSite(now domain.Clock) *cobra.Command {
	var o fromsite.Options
	command := newCommand("from-site DSN [--prefix PREFIX] [--from DATE] [--to DATE] [--anonymise=false]", "write the fixture of a real site", `Writes the fixture of the site in a database, and only reads there. Unless --anonymise is false, everything that is
not known to be harmless is replaced or left out: names, contacts, texts, codes, keys and passwords.`, cobra.ExactArgs(1))
	flags := command.Flags()
	flags.StringVar(&o.Prefix, "prefix", "wp_", "how the names of the site's tables begin")
	flags.StringVar(&o.From, "from", "", "the date of the first booking, such as 2027-01-11; all without it")
	flags.StringVar(&o.To, "to", "", "the date of the last booking")
	flags.BoolVar(&o.Anonymise, "anonymise", true, "make up names, contacts, texts and secrets")
	command.RunE = func(command *cobra.Command, args []string) error {
		dsn, err := fixtures.PreferTLS(args[0])
		if err != nil {
			return err
		}
		if err := sitefile.CheckPrefix(o.Prefix); err != nil {
			return fmt.Errorf("--prefix: %w", err)
		}
		for flag, date := range map[string]string{"from": o.From, "to": o.To} {
			if _, err := time.Parse(time.DateOnly, date); err != nil && date != "" {
				return fmt.Errorf("--%s: %q is no date such as 2027-01-11", flag, date)
			}
		}
		if o.To != "" && o.To < o.From {
			return fmt.Errorf("--to: %s is before --from %s", o.To, o.From)
		}
		o.Now = now().Truncate(time.Second)
		return fromsite.Write(command.Context(), dsn, command.OutOrStdout(), o)
	}
	return command
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
