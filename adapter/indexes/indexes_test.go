package indexes

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.Run(m)) }

var now = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// newChanger returns a Changer of a sample site without pauses between attempts, and the
// phases that it reports.
func newChanger(t *testing.T, database *fixtures.Database) (c Changer, phases *[]Phase) {
	t.Helper()
	phases = new([]Phase)
	config := wpdb.Config{DSN: database.AdminDSN, Prefix: database.Prefix, MaxOpen: 2}
	c = Changer{
		DB: wpdbtest.OpenConfig(t, config), Unhurried: wpdbtest.OpenConfig(t, config.WithoutTimeouts()),
		Now: func() time.Time { return now }, Interval: 100 * time.Millisecond,
		Report: func(e Event) { *phases = append(*phases, e.Phase) },
	}
	return c, phases
}

// steps are the phases without the progress reports, whose number depends on timing.
func steps(phases []Phase) []Phase {
	return slices.DeleteFunc(slices.Clone(phases), func(p Phase) bool { return p == Running })
}

// beginRead opens a transaction that has read a table.
func beginRead(t *testing.T, database *fixtures.Database, table string) (end func()) {
	t.Helper()
	tx, err := database.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	end = func() { _ = tx.Rollback() } // the second call has no effect
	t.Cleanup(end)
	var count int
	if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&count); err != nil {
		t.Fatal(err)
	}
	return end
}

func ownNames(t *testing.T, db *wpdb.DB) (names []string) {
	t.Helper()
	own, err := Own(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range own {
		names = append(names, string(i.Table)+"."+i.Name)
	}
	return names
}

// TestAddInSpiteOfOthers: a table that others use for too long does not delay the indexes of other tables,
// and gets its own as soon as it is free.
func TestAddInSpiteOfOthers(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	c, phases := newChanger(t, database)
	end := beginRead(t, database, "wp_latepoint_customers")
	list := []wpdb.Index{wpdb.OwnIndex(wpdb.Customers, "created_at"), wpdb.OwnIndex(wpdb.Orders, "created_at")}
	if err := c.Add(t.Context(), list); !errors.Is(err, wpdb.ErrConflict) {
		t.Errorf("while the table is used: %v", err)
	}
	if diff := cmp.Diff([]string{"latepoint_orders.bookside_created_at"}, ownNames(t, c.DB)); diff != "" {
		t.Errorf("made while the table is used (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Phase{Started, Failed, Started, Done}, steps(*phases)); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}

	*phases, c.Pauses = nil, []time.Duration{time.Millisecond}
	report := c.Report
	c.Report = func(e Event) {
		report(e)
		if e.Phase == Waiting {
			end()
		}
	}
	if err := c.Add(t.Context(), list[:1]); err != nil {
		t.Errorf("when the table is free: %v", err)
	}
	if diff := cmp.Diff([]Phase{Started, Waiting, Done}, steps(*phases)); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if got := ownNames(t, c.DB); len(got) != 2 {
		t.Errorf("made %v", got)
	}
}

// TestChangersTakeTurns: while another one is at work, a Changer reports it and waits.
func TestChangersTakeTurns(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	first, _ := newChanger(t, database)
	second, phases := newChanger(t, database)
	list := []wpdb.Index{wpdb.OwnIndex(wpdb.Customers, "created_at")}
	working, queued := make(chan struct{}), make(chan struct{})
	first.Report = func(e Event) {
		if e.Phase == Started {
			close(working)
			<-queued
		}
	}
	report := second.Report
	second.Report = func(e Event) {
		report(e)
		if e.Phase == Queued {
			close(queued)
		}
	}
	ended := make(chan error)
	go func() { ended <- first.Add(t.Context(), list) }()
	<-working
	if err := second.Drop(t.Context(), list); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]Phase{Queued, Started, Done}, steps(*phases)); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if got := ownNames(t, second.DB); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// TestProgressIsReported: a long change shows that it is alive.
func TestProgressIsReported(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	c, phases := newChanger(t, database)
	beginRead(t, database, "wp_latepoint_customers")
	c.Interval = 10 * time.Millisecond
	if err := c.Add(t.Context(), []wpdb.Index{wpdb.OwnIndex(wpdb.Customers, "created_at")}); !errors.Is(err, wpdb.ErrConflict) {
		t.Fatal(err)
	}
	if !slices.Contains(*phases, Running) {
		t.Errorf("reported %v", *phases)
	}
}

// TestAddStopsWhereOthersWouldFail: a lost database or a missing privilege is reported once.
func TestAddStopsWhereOthersWouldFail(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	c, phases := newChanger(t, database)
	ctx, cancel := context.WithCancel(t.Context())
	report := c.Report
	c.Report = func(e Event) {
		report(e)
		if e.Phase == Done {
			cancel()
		}
	}
	list := []wpdb.Index{wpdb.OwnIndex(wpdb.Customers, "created_at"), wpdb.OwnIndex(wpdb.Orders, "created_at"), wpdb.OwnIndex(wpdb.Orders, "total")}
	if err := c.Add(ctx, list); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if diff := cmp.Diff([]Phase{Started, Done, Started, Failed}, steps(*phases)); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"latepoint_customers.bookside_created_at"}, ownNames(t, c.DB)); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
}

// TestAddMadeByAnother: two administrators at once do no harm.
func TestAddMadeByAnother(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	c, _ := newChanger(t, fixtures.New(t, fixtures.Small(now)))
	list := []wpdb.Index{wpdb.OwnIndex(wpdb.Orders, "created_at")}
	for range 2 {
		if err := c.Add(t.Context(), list); err != nil {
			t.Error(err)
		}
	}
	if got := ownNames(t, c.DB); len(got) != 1 {
		t.Errorf("made %v", got)
	}
}

// TestAddWhereTheNameIsTaken: an index that others created under our name, or that the server ignores, does
// not count as ours, and does not stop other indexes.
func TestAddWhereTheNameIsTaken(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	for name, columns := range map[string]string{"other columns": "(fulfillment_status)", "ignored": "(status)"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.Small(now))
			if name == "ignored" {
				columns += map[string]string{"mariadb": " IGNORED", "mysql": " INVISIBLE"}[database.Engine]
			}
			if _, err := database.SQL.ExecContext(t.Context(), "CREATE INDEX BOOKSIDE_status ON wp_latepoint_orders "+columns); err != nil {
				fixtures.LacksServer(t, "this server, such as MariaDB 10.5, ignores no indexes: "+err.Error())
			}
			c, phases := newChanger(t, database)
			err := c.Add(t.Context(), []wpdb.Index{wpdb.OwnIndex(wpdb.Orders, "status"), wpdb.OwnIndex(wpdb.Orders, "total")})
			if !errors.Is(err, ErrNameTaken) || !strings.HasPrefix(err.Error(), "bookside_status on wp_latepoint_orders: ") {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff([]Phase{Started, Failed, Started, Done}, steps(*phases)); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDropDroppedByAnother: an index that another administrator has dropped meanwhile counts as dropped,
// unlike one whose table is missing.
func TestDropDroppedByAnother(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	c, phases := newChanger(t, database)
	list := []wpdb.Index{wpdb.OwnIndex(wpdb.Orders, "created_at"), wpdb.OwnIndex(wpdb.Orders, "total")}
	if err := c.Add(t.Context(), list[1:]); err != nil {
		t.Fatal(err)
	}
	*phases = nil
	if err := c.Drop(t.Context(), list); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]Phase{Started, Done, Started, Done}, steps(*phases)); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if got := ownNames(t, c.DB); len(got) > 0 {
		t.Errorf("left %v", got)
	}
	database.Execute(t, "DROP TABLE wp_latepoint_orders")
	if err := c.Drop(t.Context(), list[:1]); err == nil {
		t.Error("of a missing table: no error")
	}
}

func TestRowsPerValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sample sample
		want   int64 // in a table of a million rows
	}{
		"every row another value":      {sample{rows: 20_000, filled: 20_000, distinct: 20_000}, 1},
		"some rows of each":            {sample{rows: 20_000, filled: 20_000, distinct: 8_000}, 3},
		"five values":                  {sample{rows: 20_000, filled: 20_000, distinct: 5}, 200_000},
		"five values in half the rows": {sample{rows: 20_000, filled: 10_000, distinct: 5}, 100_000},
		"no value":                     {sample{rows: 20_000}, 1},
		"no row":                       {sample{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.sample.rowsPerValue(1_000_000); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestWantedIndexes: none is part of another, their names are unique, and each has a use.
func TestWantedIndexes(t *testing.T) {
	t.Parallel()
	for n, w := range wantedIndexes {
		if len(w.uses) == 0 || !w.Own() || len(w.Name) > 64 {
			t.Errorf("%s on %s: %d uses", w.Name, w.Table, len(w.uses))
		}
		for _, u := range w.uses {
			if u.equal != "" && u.equal != w.Columns[0] {
				t.Errorf("%s on %s: the use %q begins with another column", w.Name, w.Table, u.requests)
			}
		}
		for m, other := range wantedIndexes {
			if n != m && other.Serves(w.Index) {
				t.Errorf("%s on %s is part of %s", w.Name, w.Table, other.Name)
			}
		}
	}
}
