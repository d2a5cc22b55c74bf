package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) indexes() *cobra.Command {
	command := &cobra.Command{
		Use:   "indexes",
		Short: "print the statements that create indexes for a large site",
		Long: `Prints the SQL that creates the indexes of the plugin's tables that make requests faster on this site,
each with the requests that need it and the size of its table. Small tables need none; --all prints
their statements as well. Indexes on the same columns that somebody else created count as present. It
changes nothing: an administrator of the database runs the statements, one after the other.

  bookside indexes | mysql site

The site keeps reading and writing meanwhile. On a cluster in which all nodes accept writes, such as
Galera, all writes stop until a statement is done. The plugin keeps the indexes when it updates its
tables. They take disk space, and a little time with each write. Their names begin with bookside_.`,
	}
	flags := p.configFlags(command)
	all := flags.Bool("all", false, "also print statements for small tables")
	command.RunE = func(command *cobra.Command, _ []string) (err error) {
		ctx := command.Context()
		_, t, db, err := p.open(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		list, err := records.SurveyIndexes(ctx, db)
		if err != nil {
			return t.ExplainPrivilege(ctx, err)
		}
		var text strings.Builder
		var last wpdb.Table
		for _, i := range list {
			if i.State != records.Missing && (i.State != records.Unneeded || !*all) {
				continue
			}
			if i.Table != last {
				rows, err := db.TableSize(ctx, i.Table)
				if err != nil {
					return t.ExplainPrivilege(ctx, err)
				}
				fmt.Fprintf(&text, "-- %s: about %d rows\n", db.FullName(i.Table), rows)
				last = i.Table
			}
			text.WriteString(createIndex(db, i))
		}
		if text.Len() == 0 {
			return p.print("-- No index is missing.\n")
		}
		return p.print(text.String())
	}
	return command
}

// createIndex returns the statement for an index, with its reason.
func createIndex(db *wpdb.DB, i records.Index) string {
	reason := fmt.Sprintf("-- for %s\n", i.Requests)
	if i.Hindrance != "" {
		return fmt.Sprintf("%s-- %s cannot be created: %s\n", reason, i.Name, i.Hindrance)
	}
	return reason + db.CreateIndexStatement(i.Index) + ";\n"
}
