package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/indexes"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) indexes() *cobra.Command {
	command := &cobra.Command{
		Use:   "indexes",
		Short: "list, create or drop indexes for a large site",
		Long: `Lists the indexes of the plugin's tables that make requests faster on a large site: whether this
site has them, which requests need them, how many rows the database examines for those with and
without the index, and how large an index would be and how long creating it would take. Indexes on
the same columns created by somebody else count as present. It changes nothing.

With --apply it creates the missing ones, one after the other, while the site keeps reading and
writing. Small tables need none; --all creates those as well. An index that the database could only
add by copying the table is refused. If others use a table for too long, it tries again a few times.
If the command is interrupted, every index is either complete or absent; run it again for the rest.
The plugin keeps the indexes when it updates its tables. They take disk space, and a little time
with each write.

With --drop it drops the indexes whose names begin with bookside_, and no others.

On a cluster in which all nodes accept writes, such as Galera, all writes stop while a table
is being changed, so --apply and --drop also need --cluster there.

The database user needs the privilege INDEX on these tables, which serve does not need; without it
the GRANT statements are printed. Another user can be named with --set db.dsn=….`,
	}
	flags := p.configFlags(command)
	var options indexesCommand
	flags.BoolVar(&options.json, "json", false, "print the list as JSON")
	flags.BoolVar(&options.apply, "apply", false, "make the missing indexes")
	flags.BoolVar(&options.drop, "drop", false, "drop the indexes that --apply made")
	flags.BoolVar(&options.all, "all", false, "with --apply, also make indexes that are not needed yet")
	flags.BoolVar(&options.cluster, "cluster", false, "with --apply or --drop, go on although all nodes of the cluster stand still meanwhile")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := options.validate(); err != nil {
			return err
		}
		return p.withIndexes(command.Context(), options)
	}
	return command
}

// indexesCommand are the flags of indexes.
type indexesCommand struct {
	json, apply, drop, all, cluster bool
}

func (c indexesCommand) validate() error {
	switch changing := c.apply || c.drop; {
	case c.apply && c.drop:
		return usageErrorf("--apply and --drop exclude each other")
	case c.json && changing:
		return usageErrorf("--json is for the list; leave it out with --apply and --drop")
	case c.all && !c.apply:
		return usageErrorf("--all is for --apply")
	case c.cluster && !changing:
		return usageErrorf("--cluster is for --apply and --drop")
	default:
		return nil
	}
}

func (p *program) withIndexes(ctx context.Context, command indexesCommand) (err error) {
	_, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	switch {
	case command.apply:
		return p.addIndexes(ctx, t, db, command)
	case command.drop:
		return p.dropIndexes(ctx, t, db, command)
	default:
		return p.listIndexes(ctx, t, db, command.json)
	}
}

func (p *program) listIndexes(ctx context.Context, t server.Target, db *wpdb.DB, asJSON bool) error {
	list, err := indexes.Examine(ctx, db)
	switch {
	case errors.Is(err, wpdb.ErrAccessDenied):
		return exit.Errorf(exit.Refused, err, "the database user may not read all of the plugin's tables; see check (%v)", err)
	case err != nil:
		return t.Explain(err)
	case asJSON:
		return p.printJSON(indexRecords(db, list))
	default:
		return p.print(indexTable(db, list))
	}
}

func (p *program) addIndexes(ctx context.Context, t server.Target, db *wpdb.DB, command indexesCommand) error {
	list, err := indexes.Survey(ctx, db)
	if err != nil {
		return t.Explain(err)
	}
	var missing []wpdb.Index
	for _, i := range list {
		if i.State == indexes.Missing || i.State == indexes.Unneeded && command.all {
			missing = append(missing, i.Index)
		}
	}
	if len(missing) == 0 {
		return p.print("No index is missing.\n")
	}
	return p.changeIndexes(ctx, t, db, command, missing, indexes.Changer.Add)
}

func (p *program) dropIndexes(ctx context.Context, t server.Target, db *wpdb.DB, command indexesCommand) error {
	own, err := indexes.Own(ctx, db)
	if err != nil {
		return t.Explain(err)
	}
	if len(own) == 0 {
		return p.print("There are no indexes of Bookside.\n")
	}
	return p.changeIndexes(ctx, t, db, command, own, indexes.Changer.Drop)
}

// progressInterval is the time between lines about an index being created.
const progressInterval = 5 * time.Second

func (p *program) changeIndexes(ctx context.Context, t server.Target, db *wpdb.DB, command indexesCommand, list []wpdb.Index,
	change func(indexes.Changer, context.Context, []wpdb.Index) error,
) (err error) {
	unhurried, err := wpdb.Open(ctx, t.Config.WithoutTimeouts())
	if err != nil {
		return t.Explain(err)
	}
	defer func() { err = errors.Join(err, unhurried.Close()) }()
	var printing error
	changer := indexes.Changer{
		DB: db, Unhurried: unhurried, Cluster: command.cluster, Now: p.now, Pauses: indexes.Pauses, Interval: progressInterval,
		Report: func(e indexes.Event) { printing = cmp.Or(printing, p.print(eventLine(db, e, command.drop))) },
	}
	err = change(changer, ctx, list)
	switch {
	case errors.Is(err, indexes.ErrCluster):
		return exit.Errorf(exit.Usage, err, "%v: choose a quiet time and add --cluster", err)
	case errors.Is(err, wpdb.ErrAccessDenied):
		return p.indexesDenied(ctx, t, db, list, err)
	case err != nil:
		return exit.Errorf(exit.Failure, err, "not all indexes are done; run the command again for the rest:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	default:
		return printing
	}
}

// indexesDenied says how to get the required privilege.
func (p *program) indexesDenied(ctx context.Context, t server.Target, db *wpdb.DB, list []wpdb.Index, cause error) error {
	account, database, err := t.Config.Account(ctx)
	if err != nil {
		return errors.Join(cause, err)
	}
	var tables []wpdb.Table
	for _, i := range list {
		if !slices.Contains(tables, i.Table) {
			tables = append(tables, i.Table)
		}
	}
	grants := make([]string, len(tables))
	for n, table := range tables {
		grants[n] = db.IndexGrant(database, account, table)
	}
	return exit.Errorf(exit.Refused, cause, "the database user %s may not change the indexes of %s; run these statements as an administrator of the database, or this command as another user:\n%s",
		account, strings.Join(db.FullNames(tables), ", "), strings.TrimSuffix(statements(grants), "\n"))
}

func eventLine(db *wpdb.DB, e indexes.Event, drop bool) string {
	elapsed := e.Elapsed.Round(time.Second / 10)
	switch e.Phase {
	case indexes.Started:
		verb := "making"
		if drop {
			verb = "dropping"
		}
		return fmt.Sprintf("%s %s on %s\n", verb, e.Index.Name, indexColumns(db, e.Index))
	case indexes.Running:
		if e.Progress == nil {
			return fmt.Sprintf("  %v\n", elapsed)
		}
		return fmt.Sprintf("  %v, %.0f %%\n", elapsed, *e.Progress)
	case indexes.Queued:
		return "another bookside indexes is at work; waiting for its end\n"
	case indexes.Waiting:
		return fmt.Sprintf("  others use the table; trying again in %v\n", e.Pause)
	case indexes.Failed:
		return fmt.Sprintf("  failed after %v\n", elapsed)
	default:
		return fmt.Sprintf("  done in %v\n", elapsed)
	}
}

// indexColumns returns the table and columns of an index, as in SQL.
func indexColumns(db *wpdb.DB, i wpdb.Index) string {
	return fmt.Sprintf("%s (%s)", db.FullName(i.Table), strings.Join(i.Columns, ", "))
}

// indexTable is the output of indexes.
func indexTable(db *wpdb.DB, list []indexes.Examined) string {
	var text string
	var missing int
	var bytes int64
	var duration time.Duration
	for _, e := range list {
		text += fmt.Sprintf("%s: %s\n", indexColumns(db, e.Index.Index), indexState(e))
		rows := make([][]string, 0, len(e.Uses))
		for _, u := range e.Uses {
			rows = append(rows, []string{"    " + u.Requests, fmt.Sprintf("%d → %d rows", u.Before, u.After)}, []string{"      " + u.Statement})
		}
		text += columns(rows)
		if e.State == indexes.Missing {
			missing, bytes, duration = missing+1, bytes+e.Bytes, duration+e.Duration
		}
	}
	if missing == 0 {
		return text + "\nNo index is missing.\n"
	}
	return text + fmt.Sprintf("\nMissing: %d, about %s and %v in all. bookside indexes --apply makes them, one by one, while the site runs.\n",
		missing, mebibytes(bytes), seconds(duration)) + estimateNote
}

const estimateNote = `Rows are the database's own estimates (EXPLAIN); those with a missing index, and its size, are estimated
from the newest 20000 rows of the table, and the time from its size.
`

func indexState(e indexes.Examined) string {
	var state string
	switch e.State {
	case indexes.Present:
		return "present as " + e.Serving
	case indexes.Missing:
		state = fmt.Sprintf("missing; about %s and %v for %d rows", mebibytes(e.Bytes), seconds(e.Duration), e.TableRows)
	case indexes.Unneeded:
		state = fmt.Sprintf("not needed yet, with %d rows", e.TableRows)
	default:
		return "impossible, because " + e.Reason
	}
	if e.Reason != "" {
		state += "\n    cannot be made: " + e.Reason
	}
	return state
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", max(1, (bytes+1<<19)>>20)) }

func seconds(d time.Duration) time.Duration { return max(time.Second, d.Round(time.Second)) }

// indexRecord is an index in the output of indexes --json.
type indexRecord struct {
	Table     string        `json:"table"`
	Columns   []string      `json:"columns"`
	Name      string        `json:"name"`  // its actual or intended name
	State     indexes.State `json:"state"` // present, missing, not needed or impossible
	Reason    string        `json:"reason"`
	TableRows int64         `json:"table_rows"`
	Bytes     *int64        `json:"expected_bytes"`   // null for a present index
	Seconds   *float64      `json:"expected_seconds"` // likewise
	Uses      []indexUse    `json:"uses"`
}

type indexUse struct {
	Requests  string `json:"requests"`
	Statement string `json:"statement"`
	Before    int64  `json:"rows_without"` // rows examined
	After     int64  `json:"rows_with"`
}

func indexRecords(db *wpdb.DB, list []indexes.Examined) []indexRecord {
	records := make([]indexRecord, len(list))
	for n, e := range list {
		r := indexRecord{Table: db.FullName(e.Table), Columns: e.Columns, Name: cmp.Or(e.Serving, e.Name), State: e.State, Reason: e.Reason, TableRows: e.TableRows, Uses: []indexUse{}}
		if e.State == indexes.Missing || e.State == indexes.Unneeded {
			duration := e.Duration.Seconds()
			r.Bytes, r.Seconds = &e.Bytes, &duration
		}
		for _, u := range e.Uses {
			r.Uses = append(r.Uses, indexUse(u))
		}
		records[n] = r
	}
	return records
}
