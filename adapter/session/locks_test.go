package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// lockRowsOf returns the rows of the lock table with how often each was taken.
func lockRowsOf(t *testing.T, database *fixtures.Database) map[string]int {
	t.Helper()
	rows, err := database.SQL.QueryContext(t.Context(), "SELECT kind, id, n FROM wp_bookside_locks WHERE n > 0")
	expect.NoError(t, err)
	defer rows.Close()
	found := map[string]int{}
	for rows.Next() {
		var kind, id, n int
		expect.NoError(t, rows.Scan(&kind, &id, &n))
		found[fmt.Sprint(kind, "/", id)] = n
	}
	expect.NoError(t, rows.Err())
	return found
}

// TestLocksChangeTheirRows: each lock changes its row, and no other; otherwise a cluster would not notice it. Rows are
// created when they are first needed.
func TestLocksChangeTheirRows(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	site, err := NewPlatform(wpdbtest.Open(t, database, 2), fixtures.RecordedNow).Session(t.Context())
	expect.NoError(t, err)
	for round := 1; round <= 3; round++ {
		err := site.Transact(t.Context(), "take locks", func(tx *Tx) error {
			return tx.Lock(t.Context(), LockOf(ContactLock, 1335545754), Lock{AgentLock, 7}, Lock{AgentLock, 5}, Lock{AgentLock, 7}, LockOf(OrderLock, 1030), LockOf(CustomerLock, -1))
		})
		expect.NoError(t, err)
		want := map[string]int{"4/5": round, "4/7": round, "5/922": round, "7/0": round, "8/6": round}
		got := lockRowsOf(t, database)
		expect.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "round ", round, ": locks ", got, want)
	}
	var agents, contacts int // of which the next write needs others, that rarely exist
	expect.NoError(t, database.SQL.QueryRowContext(t.Context(), "SELECT SUM(kind = 4), SUM(kind = 5) FROM wp_bookside_locks").Scan(&agents, &contacts))
	expect.Equal(t, "2 1024", fmt.Sprint(agents, " ", contacts), "rows of agents and contacts")
}

// TestCreatingLocksHoldsNoOthers: while one writer creates rows and waits for one that another holds, the
// other can take the rows already created.
func TestCreatingLocksHoldsNoOthers(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	site, err := NewPlatform(wpdbtest.Open(t, database, 2), fixtures.RecordedNow).Session(t.Context())
	expect.NoError(t, err)
	held, missing := Lock{AgentLock, 7}, Lock{AgentLock, 5}
	expect.NoError(t, CreateLocks(t.Context(), site, []Lock{held}))
	tx, err := database.SQL.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	expect.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	take := func(l Lock) {
		t.Helper()
		_, err := tx.ExecContext(t.Context(), "UPDATE wp_bookside_locks SET n = n + 1 WHERE kind = ? AND id = ?", l.kind, l.id)
		expect.NoError(t, err)
	}
	take(held)
	created := make(chan error, 1)
	go func() { created <- CreateLocks(t.Context(), site, []Lock{missing, held}) }()
	for visible := 0; visible == 0; {
		select {
		case err := <-created:
			t.Fatalf("did not wait for the row that is held: %v", err)
		case <-time.After(time.Millisecond):
		}
		expect.NoError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_bookside_locks WHERE kind = ? AND id = ?", missing.kind, missing.id).Scan(&visible))
	}
	take(missing)
	expect.NoError(t, tx.Commit())
	expect.Succeeded(t, <-created)
}

// TestLocksOutOfOrderAreRejected: a transaction that takes locks out of order, or after rows of the site,
// is stopped.
func TestLocksOutOfOrderAreRejected(t *testing.T) {
	t.Parallel()
	site, err := NewPlatform(wpdbtest.Open(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), 2), fixtures.RecordedNow).Session(t.Context())
	expect.NoError(t, err)
	agent, order := LockOf(AgentLock, 5), LockOf(OrderLock, 5)
	expect.NoError(t, CreateLocks(t.Context(), site, []Lock{agent, order}))
	for name, c := range map[string]struct {
		work func(ctx context.Context, tx *Tx) error
		want error
	}{
		"ascending": {func(ctx context.Context, tx *Tx) error {
			return errors.Join(tx.Lock(ctx, agent), tx.Lock(ctx, order), tx.LockRows(ctx, wpdb.Orders, []int64{1}))
		}, nil},
		"descending": {func(ctx context.Context, tx *Tx) error {
			return errors.Join(tx.Lock(ctx, order), tx.Lock(ctx, agent))
		}, errLockOrder},
		"twice": {func(ctx context.Context, tx *Tx) error {
			return errors.Join(tx.Lock(ctx, agent), tx.Lock(ctx, agent, order))
		}, errLockOrder},
		"after a locked row": {func(ctx context.Context, tx *Tx) error {
			return errors.Join(tx.LockRows(ctx, wpdb.Orders, []int64{1}), tx.Lock(ctx, order))
		}, errLockOrder},
		"after a written row": {func(ctx context.Context, tx *Tx) error {
			return errors.Join(tx.Update(ctx, wpdb.Orders, 1, Row{tx.UpdateTimestamp()}), tx.Lock(ctx, order))
		}, errLockOrder},
	} {
		t.Run(name, func(t *testing.T) {
			err := site.Transact(t.Context(), "take locks", func(tx *Tx) error { return c.work(t.Context(), tx) })
			expect.Error(t, c.want, err)
		})
	}
}

// TestLockCommentQuotesTheStatement: the comment that others follow shows the statement as it is run.
func TestLockCommentQuotesTheStatement(t *testing.T) {
	t.Parallel()
	s := &Session{DB: wpdb.New(nil, "wp_")}
	text, args, err := lockStatement(s, []Lock{{LocationLock, 1}, {AgentLock, 5}, {AgentLock, 7}, {ContactLock, 311}}).ToSql()
	expect.NoError(t, err)
	for _, arg := range args {
		text = strings.Replace(text, "?", fmt.Sprint(arg), 1)
	}
	const want = "UPDATE `wp_bookside_locks` FORCE INDEX (PRIMARY) SET n = n + 1 WHERE " +
		"((kind = 2 AND id IN (1)) OR (kind = 4 AND id IN (5,7)) OR (kind = 5 AND id IN (311))) ORDER BY kind, id"
	expect.Equal(t, want, text)
}

// TestTransactionsThatNeverHaveTheirLocks: work that needs other rows in each run ends as unavailable.
func TestTransactionsThatNeverHaveTheirLocks(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	site, err := NewPlatform(wpdbtest.Open(t, database, 2), fixtures.RecordedNow).Session(t.Context())
	expect.NoError(t, err)
	agent := int64(1000)
	err = site.Transact(t.Context(), "take locks", func(tx *Tx) error {
		agent++
		return tx.Lock(t.Context(), Lock{AgentLock, agent})
	})
	expect.Equal(t, domain.CodeUnavailable, domain.CodeOf(err), err)
}
