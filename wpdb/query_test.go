package wpdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	sq "github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestAll(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.Legacy())))
	type agent struct {
		ID   int64
		Name string
		User int64
	}
	ctx, usage := wpdb.WithUsage(t.Context())
	stmt := sq.Select("id", "first_name", "wp_user_id").From(db.Name(wpdb.Agents)).Where(sq.Eq{"id": []int64{1, 2, 3}}).OrderBy("id")
	got, err := wpdb.All(ctx, db, "read agents", stmt, func(row wpdb.Scanner) (a agent, err error) {
		err = row.Scan(&a.ID, &a.Name, wpdb.OrZero(&a.User))
		return a, err
	})
	expect.NoError(t, err)
	expect.Equal(t, []agent{{1, "Olga", 2}, {2, "Otto", 0}}, got)
	for where, ok := range map[string]bool{"TRUE": true, "FALSE": false} {
		names := sq.Select("first_name").From(db.Name(wpdb.Agents)).Where(where).OrderBy("id")
		if name, found, err := wpdb.One(t.Context(), db, "read agent", names, wpdb.Value[string]); err != nil || found != ok || name == "Olga" != ok {
			t.Errorf("where %s: %q, %t, error %v", where, name, found, err)
		}
	}
	if usage.Queries() != 1 || usage.Rows() != 2 {
		t.Errorf("counted %d statements and %d rows, want 1 and 2", usage.Queries(), usage.Rows())
	}
}

// TestTogether: several SELECTs take one round trip, see the same views as alone, and an error names the one that
// failed.
func TestTogether(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	database.Execute(t, "DELETE FROM wp_latepoint_locations", "INSERT INTO wp_latepoint_locations (id, name, status) VALUES (1, 'a', 'active'), (2, ';b?', 'active'), (3, 'c', 'disabled')")
	open := wpdbtest.OpenConfig(t, configOf(database))
	views, err := open.BuildViews([]wpdb.View{{Table: wpdb.Locations, Rows: sq.NotEq{"id": 1}}})
	expect.NoError(t, err)
	open = open.WithViews(views)
	for name, db := range map[string]*wpdb.DB{"together": open, "one by one": open.OneByOne()} {
		ctx, usage := wpdb.WithUsage(t.Context())
		var ids []int64
		var names, none []string
		all := []wpdb.Query{
			wpdb.Rows(&ids, "read ids", sq.Select("id").From(db.Name(wpdb.Locations)).OrderBy("id"), wpdb.Value[int64]),
			wpdb.Rows(&none, "read none", sq.Select("name").From(db.Name(wpdb.Locations)).Where(sq.Eq{"id": 1}), wpdb.Value[string]),
			wpdb.Rows(&names, "read names", wpdb.Prepared(sq.Select("name").From(db.Name(wpdb.Locations)).Where(sq.Eq{"name": ";b?"})), wpdb.Value[string]),
		}
		expect.NoError(t, wpdb.Together(ctx, db, all...))
		expect.Equal(t, "[2 3] [] [;b?]", fmt.Sprint(ids, none, names), name)
		want := int64(3)
		if name == "together" {
			want = 1
		}
		expect.Equal(t, want, usage.Queries(), name)
		expect.Equal(t, int64(3), usage.Rows(), name)
		for _, wrong := range []sq.SelectBuilder{sq.Select("nothing").From(db.Name(wpdb.Locations)), sq.Select("(SELECT 1 UNION SELECT 2)")} {
			queries := append(slices.Clone(all), wpdb.Rows(&none, "read wrongly", wrong, wpdb.Value[string]))
			if err := wpdb.Together(ctx, db, queries...); err == nil || !strings.HasPrefix(err.Error(), "read wrongly: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestExecRejectsUnboundedChanges: statements that would change every row do not reach
// the driver.
func TestExecRejectsUnboundedChanges(t *testing.T) {
	t.Parallel()
	db, _ := wpdbtest.MockExact(t, 1)
	table := db.Name(wpdb.Bookings)
	update, del := sq.Update(table).Set("status", "cancelled"), sq.Delete(table)
	for name, stmt := range map[string]sq.Sqlizer{
		"update without where":          update,
		"update with empty Eq":          update.Where(sq.Eq{}),
		"update with empty And":         update.Where(sq.And{}),
		"update with NotEq of none":     update.Where(sq.NotEq{"id": []int64{}}),
		"update with empty Eq and more": update.Where(sq.Or{sq.Eq{}, sq.Eq{"id": 1}}),
		"update, where of its SELECT":   sq.Update(table).Set("status", sq.Expr("(SELECT s FROM t WHERE id = ?)", 1)),
		"delete without where":          del,
		"delete with empty Eq":          del.Where(sq.Eq{}),
		"delete with empty And":         del.Where(sq.And{}),
		"delete with limit only":        del.Limit(1),
	} {
		ctx, usage := wpdb.WithUsage(t.Context())
		_, err := wpdb.Exec(ctx, db, "change bookings", stmt)
		if err == nil || !strings.HasPrefix(err.Error(), "change bookings: not allowed") {
			t.Errorf("%s: error %v, want it rejected", name, err)
		}
		expect.Equal(t, 0, usage.Queries(), name, ": statements reached the database")
	}
}

func TestOrZero(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.MockExact(t, 1)
	values := sqlmock.NewRows([]string{"text", "id", "count", "share", "flag", "raw"})
	values.AddRow(nil, nil, nil, nil, nil, nil).
		AddRow([]byte("Zoë"), int64(7), int64(3), 1.5, int64(1), []byte("x")).
		AddRow("Zoë", []byte("7"), []byte("3"), []byte("1.5"), []byte("1"), "x").
		AddRow(int64(7), "7", "3", int64(2), true, []byte{})
	mock.ExpectQuery("SELECT 1").WillReturnRows(values)
	type row struct {
		Text  string
		ID    int64
		Count int
		Share float64
		Flag  bool
		Raw   []byte
	}
	got, err := wpdb.All(t.Context(), db, "read", sq.Expr("SELECT 1"), func(s wpdb.Scanner) (row, error) {
		r := row{Text: "before", ID: 1, Count: 1, Share: 1, Flag: true, Raw: []byte("before")}
		err := s.Scan(wpdb.OrZero(&r.Text), wpdb.OrZero(&r.ID), wpdb.OrZero(&r.Count), wpdb.OrZero(&r.Share), wpdb.OrZero(&r.Flag), wpdb.OrZero(&r.Raw))
		return r, err
	})
	expect.NoError(t, err)
	want := []row{{}, {"Zoë", 7, 3, 1.5, true, []byte("x")}, {"Zoë", 7, 3, 1.5, true, []byte("x")}, {"7", 7, 3, 2, true, []byte{}}}
	expect.Equal(t, want, got)
}

// TestUnreadableRow: the error about a column of another type does not quote the value,
// which may be personal data.
func TestUnreadableRow(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.MockExact(t, 1)
	for name, scan := range map[string]func(wpdb.Scanner) (int64, error){
		"plain": wpdb.Value[int64],
		"or zero": func(row wpdb.Scanner) (n int64, err error) {
			err = row.Scan(wpdb.OrZero(&n))
			return n, err
		},
	} {
		mock.ExpectQuery("SELECT email").WillReturnRows(sqlmock.NewRows([]string{"email"}).AddRow("max@example.org"))
		_, err := wpdb.All(t.Context(), db, "read customers", sq.Expr("SELECT email"), scan)
		if !errors.Is(err, wpdb.ErrUnreadable) {
			t.Fatalf("%s: error %v, want %v", name, err, wpdb.ErrUnreadable)
		}
		if want := "read customers: row cannot be read"; err.Error() != want {
			t.Errorf("%s: error %q, want %q", name, err, want)
		}
	}
}

// TestTooManyRows: an endless result does not exhaust the memory.
func TestTooManyRows(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.Legacy())))
	digits := "(SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	numbers := "SELECT 1 FROM " + digits + " a, " + digits + " b, " + digits + " c, " + digits + " d, " + digits + " e"
	if got, err := read(t.Context(), db, numbers); len(got) != 100_000 || err != nil {
		t.Errorf("%d rows, error %v", len(got), err)
	}
	if _, err := read(t.Context(), db, numbers+" UNION ALL SELECT 1"); !errors.Is(err, wpdb.ErrTooManyRows) {
		t.Errorf("error %v, want %v", err, wpdb.ErrTooManyRows)
	}
	expect.Succeeded(t, ping(t.Context(), db))
}

// TestErrorsBetweenRows: a read that loses its connection between rows is repeated from
// the beginning; any other error ends it.
func TestErrorsBetweenRows(t *testing.T) {
	t.Parallel()
	rows := func() *sqlmock.Rows { return sqlmock.NewRows([]string{"id"}).AddRow("1").AddRow("2").AddRow("3") }
	for name, c := range map[string]struct {
		first, second *sqlmock.Rows // nil if there must be no second run
		want          error         // nil if the read succeeds
	}{
		"link lost once":          {rows().RowError(2, mysql.ErrInvalidConn), rows(), nil},
		"link lost twice":         {rows().RowError(2, mysql.ErrInvalidConn), rows().RowError(0, mysql.ErrInvalidConn), wpdb.ErrLinkLost},
		"link lost, then another": {rows().RowError(1, mysql.ErrInvalidConn), rows().RowError(1, &mysql.MySQLError{Number: 1146}), wpdb.ErrSchema},
		"link lost at the end":    {rows().CloseError(mysql.ErrInvalidConn), rows(), nil},
		"deadlock":                {rows().RowError(1, &mysql.MySQLError{Number: 1213}), nil, wpdb.ErrConflict},
		"statement too slow":      {rows().RowError(1, &mysql.MySQLError{Number: 3024}), nil, wpdb.ErrTimeout},
		"error at the end":        {rows().CloseError(&mysql.MySQLError{Number: 1317}), nil, wpdb.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, mock := wpdbtest.MockExact(t, 1)
			mock.ExpectQuery("SELECT id").WillReturnRows(c.first)
			if c.second != nil {
				mock.ExpectQuery("SELECT id").WillReturnRows(c.second)
			}
			got, err := read(t.Context(), db, "SELECT id")
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			want := []string{"1", "2", "3"}
			if c.want != nil {
				want = nil
			}
			expect.Equal(t, want, got)
		})
	}
}

// TestContainsFinds: wildcards in the text have no special meaning.
func TestContainsFinds(t *testing.T) {
	t.Parallel()
	_, db := newSite(t)
	names := []string{"100%", "100 per cent", "a_b", "axb", `back\slash`, "backslash", `\%`, "%%"}
	insert := sq.Insert(db.Name(wpdb.BookingMeta)).Columns("object_id", "meta_key", "meta_value")
	for _, name := range names {
		insert = insert.Values(1, "probe", name)
	}
	_, err := wpdb.Exec(t.Context(), db, "arrange", insert)
	expect.NoError(t, err)
	for _, sought := range []string{"100%", "%", "_", "a_b", "axb", `\`, `k\s`, `\%`, "%%", "slash", ""} {
		var want []string
		for _, name := range names {
			if strings.Contains(name, sought) {
				want = append(want, name)
			}
		}
		stmt := sq.Select("meta_value").From(db.Name(wpdb.BookingMeta)).Where(sq.Eq{"meta_key": "probe"}).Where(sq.Like{"meta_value": wpdb.Contains(sought)}).OrderBy("id")
		got, err := wpdb.All(t.Context(), db, "search", stmt, wpdb.Value[string])
		expect.NoError(t, err)
		expect.Equal(t, want, got, sought)
	}
}

// TestLostReadIsRepeated uses a real connection instead of a mock.
func TestLostReadIsRepeated(t *testing.T) {
	t.Parallel()
	database := fixtures.Shared(t, fixtures.Legacy())
	const text = "SELECT REPEAT('x', 20000) FROM wp_options" // several packets
	for name, c := range map[string]struct {
		faults  []fixtures.Fault
		queries int64
		lost    bool
	}{
		"before the server has it": {[]fixtures.Fault{{On: text, Lost: true}}, 2, false},
		"before the answer":        {[]fixtures.Fault{{On: text}}, 2, false},
		"in the header":            {[]fixtures.Fault{{On: text, Answer: 3}}, 2, false},
		"among the rows":           {[]fixtures.Fault{{On: text, Answer: 50_000}}, 2, false},
		"twice":                    {[]fixtures.Fault{{On: text}, {On: text, Answer: 50_000}}, 2, true},
		"without a sign":           {[]fixtures.Fault{{On: text, Answer: 50_000, Silent: true}}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through, _ := withFaults(t, configOf(database), c.faults...)
			through.IOTimeout = 500 * time.Millisecond
			db := wpdbtest.OpenConfig(t, through)
			ctx, usage := wpdb.WithUsage(t.Context())
			got, err := read(ctx, db, text)
			if c.lost != errors.Is(err, wpdb.ErrLinkLost) || !c.lost && err != nil {
				t.Errorf("error %v", err)
			}
			want := 9
			if c.lost {
				want = 0
			}
			expect.Equal(t, want, len(got), "rows")
			expect.Equal(t, c.queries, usage.Queries(), "statements")
		})
	}
}

// TestLostWriteIsNotRepeated: the write may have succeeded.
func TestLostWriteIsNotRepeated(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	const text = "UPDATE wp_latepoint_locations SET name = CONCAT(name, '!') WHERE id = 1"
	for _, c := range []struct {
		name  string
		fault fixtures.Fault
		want  string
	}{
		{"before the server has it", fixtures.Fault{On: text, Lost: true}, "Main Location"},
		{"before the answer", fixtures.Fault{On: text}, "Main Location!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			through, _ := withFaults(t, configOf(database), c.fault)
			db := wpdbtest.OpenConfig(t, through)
			expect.Error(t, wpdb.ErrLinkLost, change(t.Context(), db, text))
			expect.Equal(t, c.want, singleValue(t, database.SQL, "SELECT name FROM wp_latepoint_locations WHERE id = 1"), "stored")
		})
	}
}

// TestEndedContext: no statement is sent for a context that has ended.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.Legacy())))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(ctx, db, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("read: error %v, want %v", err, context.Canceled)
	}
	expect.Error(t, context.Canceled, change(ctx, db, "DO 1"), "change")
	ran := false
	if err := db.Transact(ctx, "transact", func(*wpdb.DB) error { ran = true; return nil }); !errors.Is(err, context.Canceled) || ran {
		t.Errorf("transaction: error %v, ran %t, want %v", err, ran, context.Canceled)
	}
}

// TestPreparedReads: a prepared statement returns the same values as a text statement.
func TestPreparedReads(t *testing.T) {
	t.Parallel()
	config := configOf(fixtures.Shared(t, fixtures.Small(now)))
	config.MaxOpen = 1
	db := wpdbtest.OpenConfig(t, config)
	read := func(prepared bool) string {
		stmt := sq.Sqlizer(sq.Select("id", "first_name", "created_at", "NULL", "1.50").From(db.Name(wpdb.Agents)).Where(sq.Eq{"id": 1}))
		if prepared {
			stmt = wpdb.Prepared(stmt)
		}
		row, ok, err := wpdb.One(t.Context(), db, "read agent", stmt, func(row wpdb.Scanner) (string, error) {
			var id, name, created, price string
			var null *string
			err := row.Scan(&id, &name, &created, &null, &price)
			return fmt.Sprint(id, name, created, null, price), err
		})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return row
	}
	text := read(false)
	for range 3 {
		expect.Equal(t, text, read(true), "prepared")
	}
}
