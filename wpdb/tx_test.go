package wpdb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

var (
	errDeadlock = &mysql.MySQLError{Number: 1213, Message: "Deadlock found"}
	errLockWait = &mysql.MySQLError{Number: 1205, Message: "Lock wait timeout exceeded"}
	errOurs     = errors.New("the slot is taken")
)

// mark appends a character to the name of a location in a transaction.
const mark = "UPDATE wp_latepoint_locations SET name = CONCAT(name, '!') WHERE id = 1"

// markOf returns the name of the location as PHP reads it.
func markOf(t testing.TB, database *fixtures.Database) string {
	t.Helper()
	return singleValue(t, database.SQL, "SELECT name FROM wp_latepoint_locations WHERE id = 1")
}

func TestTransactCommitsOrRollsBack(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	for _, c := range []struct {
		name  string
		fails error
		want  string
	}{
		{"success", nil, "Main Location!"},
		{"failure", errOurs, "Main Location!"},
		{"success again", nil, "Main Location!!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := db.Transact(t.Context(), "mark", func(tx *wpdb.DB) error {
				if err := change(t.Context(), tx, mark); err != nil {
					return err
				}
				seen, err := read(t.Context(), tx, "SELECT name FROM wp_latepoint_locations WHERE id = 1")
				if err != nil {
					return err
				}
				if outside := markOf(t, database); len(outside) != len(seen[0])-1 {
					t.Errorf("%s: others see %s, we see %s", c.name, outside, seen[0])
				}
				return c.fails
			})
			expect.Error(t, c.fails, err, c.name)
			expect.Equal(t, c.want, markOf(t, database), c.name, ": stored")
		})
	}
	expect.Equal(t, 0, db.Stats().InUse, "connections still in use")
}

func TestTransactPanics(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	func() {
		defer func() {
			expect.Equal(t, "a defect", recover(), "recovered")
		}()
		err := db.Transact(t.Context(), "mark", func(tx *wpdb.DB) error {
			expect.Succeeded(t, change(t.Context(), tx, mark))
			panic("a defect")
		})
		t.Errorf("the panic ended in Transact: %v", err)
	}()
	expect.Equal(t, "Main Location", markOf(t, database), "stored")
	expect.Equal(t, 0, db.Stats().InUse, "connections still in use")
}

// TestTransactAfterDeadlock: two transactions lock two agents in opposite orders. The server rolls one of
// them back, and Transact runs it again.
func TestTransactAfterDeadlock(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	var running, bothLocked sync.WaitGroup
	bothLocked.Add(2)
	const give = "UPDATE wp_latepoint_agents SET phone = CONCAT(COALESCE(phone, ''), ?) WHERE id = ?"
	database.Execute(t, "UPDATE wp_latepoint_agents SET phone = ''")
	runs := make([]int, 2)
	for i, order := range [][]int{{1, 2}, {2, 1}} {
		running.Go(func() {
			err := db.Transact(t.Context(), "lock agents", func(tx *wpdb.DB) error {
				runs[i]++
				if err := change(t.Context(), tx, give, "x", order[0]); err != nil {
					return err
				}
				if runs[i] == 1 {
					bothLocked.Done()
					bothLocked.Wait()
				}
				return change(t.Context(), tx, give, "x", order[1])
			})
			expect.Succeeded(t, err)
		})
	}
	running.Wait()
	expect.Equal(t, 3, runs[0]+runs[1], "ran ", runs)
	expect.Equal(t, "xx,xx", singleValue(t, database.SQL, "SELECT GROUP_CONCAT(phone) FROM wp_latepoint_agents"), "stored")
}

// TestTransactAfterLockWait: the server rolls back only the statement, so Transact must
// roll back the transaction before it runs again.
func TestTransactAfterLockWait(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	other, err := database.SQL.BeginTx(t.Context(), nil)
	expect.NoError(t, err)
	_, err = other.ExecContext(t.Context(), "SELECT id FROM wp_latepoint_agents WHERE id = 1 FOR UPDATE")
	expect.NoError(t, err)
	runs := 0
	err = db.Transact(t.Context(), "lock agent", func(tx *wpdb.DB) error {
		runs++
		if runs == 2 {
			expect.Succeeded(t, other.Rollback())
		}
		if err := change(t.Context(), tx, mark); err != nil {
			return err
		}
		if err := change(t.Context(), tx, "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
			return err
		}
		return change(t.Context(), tx, "UPDATE wp_latepoint_agents SET phone = 'x' WHERE id = 1")
	})
	expect.Succeeded(t, err)
	expect.Equal(t, 2, runs, "runs")
	expect.Equal(t, "Main Location!", markOf(t, database), "stored")
}

// TestTransactAttempts covers the errors of the server at each step, and what Transact
// does about them.
func TestTransactAttempts(t *testing.T) {
	t.Parallel()
	const text = "UPDATE t SET x = 1"
	begin := func(m sqlmock.Sqlmock) { m.ExpectBegin() }
	statement := func(m sqlmock.Sqlmock) { m.ExpectExec(text).WillReturnResult(sqlmock.NewResult(0, 1)) }
	fails := func(err error) func(sqlmock.Sqlmock) {
		return func(m sqlmock.Sqlmock) { m.ExpectExec(text).WillReturnError(err) }
	}
	rollback := func(m sqlmock.Sqlmock) { m.ExpectRollback() }
	commit := func(m sqlmock.Sqlmock) { m.ExpectCommit() }
	commitFails := func(err error) func(sqlmock.Sqlmock) {
		return func(m sqlmock.Sqlmock) { m.ExpectCommit().WillReturnError(err) }
	}
	number := func(n uint16) error { return &mysql.MySQLError{Number: n} }
	type script []func(sqlmock.Sqlmock)
	for name, c := range map[string]struct {
		script script
		runs   int
		want   error // nil if Transact succeeds
		// unknown is set if the commit may have succeeded.
		unknown bool
	}{
		"success":                     {script{begin, statement, commit}, 1, nil, false},
		"deadlock once":               {script{begin, fails(errDeadlock), rollback, begin, statement, commit}, 2, nil, false},
		"lock wait, then deadlock":    {script{begin, fails(errLockWait), rollback, begin, fails(errDeadlock), rollback, begin, statement, commit}, 3, nil, false},
		"deadlock every time":         {slices.Repeat(script{begin, fails(errDeadlock), rollback}, 8), 8, wpdb.ErrConflict, false},
		"lock wait every time":        {slices.Repeat(script{begin, fails(errLockWait), rollback}, 3), 3, wpdb.ErrConflict, false},
		"lock waits among deadlocks":  {slices.Repeat(script{begin, fails(errDeadlock), rollback, begin, fails(errLockWait), rollback}, 3), 6, wpdb.ErrConflict, false},
		"deadlock at commit":          {script{begin, statement, commitFails(errDeadlock), begin, statement, commit}, 2, nil, false},
		"deadlock at every commit":    {slices.Repeat(script{begin, statement, commitFails(errDeadlock)}, 8), 8, wpdb.ErrConflict, false},
		"duplicate":                   {script{begin, fails(&mysql.MySQLError{Number: 1062}), rollback}, 1, wpdb.ErrDuplicate, false},
		"read-only":                   {script{begin, fails(&mysql.MySQLError{Number: 1290}), rollback}, 1, wpdb.ErrReadOnly, false},
		"commit read-only":            {script{begin, statement, commitFails(&mysql.MySQLError{Number: 1290})}, 1, wpdb.ErrReadOnly, false},
		"no connection":               {script{func(m sqlmock.Sqlmock) { m.ExpectBegin().WillReturnError(&mysql.MySQLError{Number: 1040}) }}, 0, wpdb.ErrUnavailable, false},
		"link lost at begin":          {script{func(m sqlmock.Sqlmock) { m.ExpectBegin().WillReturnError(mysql.ErrInvalidConn) }}, 0, wpdb.ErrLinkLost, false},
		"link lost before commit":     {script{begin, fails(mysql.ErrInvalidConn), rollback}, 1, wpdb.ErrLinkLost, false},
		"link lost at commit":         {script{begin, statement, commitFails(mysql.ErrInvalidConn)}, 1, wpdb.ErrLinkLost, true},
		"deadlock, then link lost":    {script{begin, fails(errDeadlock), rollback, begin, statement, commitFails(mysql.ErrInvalidConn)}, 2, wpdb.ErrLinkLost, true},
		"deadlock, then no more link": {script{begin, fails(errDeadlock), rollback, func(m sqlmock.Sqlmock) { m.ExpectBegin().WillReturnError(mysql.ErrInvalidConn) }}, 1, wpdb.ErrLinkLost, false},
		"certification at commit":     {script{begin, statement, commitFails(number(3101)), begin, statement, commit}, 2, nil, false},
		"not primary at commit":       {script{begin, statement, commitFails(number(1047))}, 1, wpdb.ErrUnavailable, false},
		"commit never sent":           {script{begin, statement, commitFails(driver.ErrBadConn)}, 1, wpdb.ErrLinkLost, false},
		"killed at commit":            {script{begin, statement, commitFails(number(1317))}, 1, wpdb.ErrTimeout, true},
		"proxy without server":        {script{begin, statement, commitFails(number(9001))}, 1, wpdb.ErrUnavailable, true},
		"ended by another member":     {script{begin, fails(number(1180)), rollback, begin, statement, commit}, 2, nil, false},
		"engine fails at commit":      {script{begin, statement, commitFails(number(1180))}, 1, wpdb.ErrLinkLost, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, mock := wpdbtest.MockExact(t, 1)
			for _, expect := range c.script {
				expect(mock)
			}
			runs := 0
			err := db.Transact(t.Context(), "store booking", func(tx *wpdb.DB) error {
				runs++
				return change(t.Context(), tx, text)
			})
			expect.Error(t, c.want, err)
			expect.Equal(t, c.unknown, errors.Is(err, wpdb.ErrOutcomeUnknown), err, ": outcome unknown")
			expect.Equal(t, c.runs, runs, "runs")
		})
	}
}

// TestTransactRunsAgainAfterAChange: it is no conflict with another writer that is worth counting.
func TestTransactRunsAgainAfterAChange(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.MockExact(t, 1)
	mock.ExpectBegin()
	mock.ExpectRollback()
	mock.ExpectBegin()
	mock.ExpectCommit()
	err := wpdb.ErrChanged
	result := db.Transact(t.Context(), "store booking", func(*wpdb.DB) (once error) {
		once, err = err, nil
		return once
	})
	if result != nil || db.TransactionConflicts() != 0 {
		t.Errorf("error %v, %d conflicts", result, db.TransactionConflicts())
	}
}

// TestTransactErrors: the callback's error is returned as it is, joined with an error of
// the rollback.
func TestTransactErrors(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.MockExact(t, 1)
	mock.ExpectBegin()
	mock.ExpectRollback()
	err := db.Transact(t.Context(), "store booking", func(*wpdb.DB) error { return errOurs })
	if !errors.Is(err, errOurs) || err.Error() != errOurs.Error() {
		t.Errorf("error %v, want %v and no more", err, errOurs)
	}
	mock.ExpectBegin()
	mock.ExpectRollback().WillReturnError(mysql.ErrInvalidConn)
	err = db.Transact(t.Context(), "store booking", func(*wpdb.DB) error { return errOurs })
	if !errors.Is(err, errOurs) || !errors.Is(err, wpdb.ErrLinkLost) {
		t.Errorf("error %v, want %v and %v", err, errOurs, wpdb.ErrLinkLost)
	}
	if want := "the slot is taken\nstore booking: roll back: connection lost"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	mock.ExpectBegin()
	mock.ExpectCommit().WillReturnError(mysql.ErrInvalidConn)
	err = db.Transact(t.Context(), "store booking", func(*wpdb.DB) error { return nil })
	if want := "store booking: commit: connection lost"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestTransactStopsWaiting: work does not run again once its context has ended.
func TestTransactStopsWaiting(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.MockExact(t, 1)
	mock.ExpectBegin()
	mock.ExpectRollback()
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := db.Transact(ctx, "store booking", func(*wpdb.DB) error {
		runs++
		cancel()
		return fmt.Errorf("store booking: %w", wpdb.ErrConflict)
	})
	if !errors.Is(err, context.Canceled) || runs != 1 {
		t.Errorf("error %v after %d runs, want %v after 1", err, runs, context.Canceled)
	}
}

// TestTransactEndsAtDeadline: a deadline that expires while the callback runs rolls
// back, and the error says why.
func TestTransactEndsAtDeadline(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := db.Transact(ctx, "mark", func(tx *wpdb.DB) error {
		if err := change(ctx, tx, mark); err != nil {
			return err
		}
		for err := error(nil); err == nil; { // until the pool has rolled back
			_, err = wpdb.All(context.Background(), tx, "wait", sq.Select("1"), wpdb.Value[int])
		}
		return nil
	})
	expect.Error(t, wpdb.ErrTimeout, err)
	expect.Equal(t, "Main Location", markOf(t, database), "stored")
}

// TestLostTransaction uses a real connection: nothing in a transaction is repeated. The
// byte before COMMIT is the command byte of a statement.
func TestLostTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault fixtures.Fault
		want  string
	}{
		"at a read":                      {fixtures.Fault{On: "SELECT option_name"}, "Main Location"},
		"at a write":                     {fixtures.Fault{On: mark}, "Main Location"},
		"at a commit that never arrives": {fixtures.Fault{On: "\x03COMMIT", Lost: true}, "Main Location"},
		"at a commit that was done":      {fixtures.Fault{On: "\x03COMMIT"}, "Main Location!"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.Legacy())
			through, _ := withFaults(t, configOf(database), c.fault)
			db := wpdbtest.OpenConfig(t, through)
			runs := 0
			ctx, usage := wpdb.WithUsage(t.Context())
			err := db.Transact(ctx, "mark", func(tx *wpdb.DB) error {
				runs++
				if err := change(ctx, tx, mark); err != nil {
					return err
				}
				_, err := read(ctx, tx, "SELECT option_name FROM wp_options")
				return err
			})
			expect.Error(t, wpdb.ErrLinkLost, err)
			expect.Equal(t, strings.Contains(c.fault.On, "COMMIT"), errors.Is(err, wpdb.ErrOutcomeUnknown), err, ": outcome unknown")
			if runs != 1 || usage.Queries() > 4 {
				t.Errorf("ran %d times, %d statements", runs, usage.Queries())
			}
			expect.Equal(t, c.want, markOf(t, database), "stored")
			expect.Succeeded(t, ping(t.Context(), db))
		})
	}
}

// TestNestedTransaction: nesting is an error, because beginning an inner transaction would commit the outer
// one.
func TestNestedTransaction(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.Legacy())))
	ran := false
	err := db.Transact(t.Context(), "outer", func(tx *wpdb.DB) error {
		return tx.Transact(t.Context(), "inner", func(*wpdb.DB) error { ran = true; return nil })
	})
	if err == nil || ran {
		t.Errorf("error %v, inner transaction run: %t", err, ran)
	}
}
