package wpdb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// ownAccount returns a configuration with a new account that has privileges only on its
// database, and a function that returns the account's threads on the server.
func ownAccount(t *testing.T, database *fixtures.Database) (c wpdb.Config, threads func(where string) []int64) {
	t.Helper()
	c = user(t, database, "SELECT, INSERT, UPDATE, DELETE")
	driver, err := mysql.ParseDSN(c.DSN)
	if err != nil {
		t.Fatal(err)
	}
	return c, func(where string) []int64 {
		t.Helper()
		found, err := database.Threads(t.Context(), "user = ? AND "+where, driver.User)
		if err != nil {
			t.Error(err)
		}
		return found
	}
}

// nothingRuns fails the test if any of an account's statements outlasts the time limits of this file's
// sessions.
func nothingRuns(t *testing.T, threads func(where string) []int64) {
	t.Helper()
	running := threads("info LIKE '%latepoint%'")
	for began := time.Now(); len(running) > 0; running = threads("info LIKE '%latepoint%'") {
		if time.Since(began) > 10*time.Second {
			t.Errorf("%d statements still run", len(running))
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// lockAgent locks an agent's row until the test ends.
func lockAgent(t *testing.T, database *fixtures.Database) {
	t.Helper()
	other, err := database.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Rollback() })
	if _, err := other.ExecContext(t.Context(), "SELECT id FROM wp_latepoint_agents WHERE id = 1 FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
}

const writeAgent = "UPDATE wp_latepoint_agents SET phone = 'x' WHERE id = 1"

// TestAbandonedStatements: however many requests are canceled while the server runs their statements, our
// threads on the server never outnumber the pool's connections plus the killer's, and the next request is
// served.
func TestAbandonedStatements(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	const connections = 4
	database := fixtures.New(t, fixtures.Legacy())
	config, threads := ownAccount(t, database)
	config.MaxOpen, config.AcquireTimeout, config.LockWait = connections, time.Minute, time.Second
	config.StatementTimeout = 2 * time.Second
	db := wpdbtest.OpenConfig(t, config)
	lockAgent(t, database)

	over := make(chan struct{})
	most := make(chan int)
	go func() {
		seen := 0
		for {
			select {
			case <-over:
				most <- seen
				return
			case <-time.After(time.Millisecond):
				seen = max(seen, len(threads("TRUE")))
			}
		}
	}()
	var requests sync.WaitGroup
	for i := range 150 {
		requests.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+i)*time.Millisecond)
			defer cancel()
			err := runAbandoned(ctx, db, i)
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, wpdb.ErrConflict) && !errors.Is(err, wpdb.ErrTimeout) {
				t.Errorf("request %d: error %v", i, err)
			}
		})
	}
	requests.Wait()
	nothingRuns(t, threads)
	close(over)
	if got, want := <-most, connections+1; got > want {
		t.Errorf("%d threads, want %d at most", got, want)
	}
	for range 3 * connections { // no connection may get a late KILL
		if err := change(t.Context(), db, "UPDATE wp_latepoint_agents SET phone = 'y' WHERE id = 2"); err != nil {
			t.Error(err)
		}
	}
}

// runAbandoned runs one of the statements that outlast their context.
func runAbandoned(ctx context.Context, db *wpdb.DB, kind int) error {
	switch kind % 4 {
	case 0:
		return change(ctx, db, writeAgent)
	case 1:
		_, err := read(ctx, db, "SELECT id FROM wp_latepoint_agents WHERE SLEEP(20) = 0")
		return err
	case 2:
		_, err := read(ctx, db, "SELECT REPEAT('latepoint', 1000) FROM wp_latepoint_agents a, wp_latepoint_agents b, wp_options c, wp_options d WHERE SLEEP(0.01) = 0") // fetched row by row
		return err
	default:
		return db.Transact(ctx, "write", func(tx *wpdb.DB) error { return change(ctx, tx, writeAgent) })
	}
}

// TestConnectionsAbandonedByTheDriver: the driver closes a connection to a server that
// does not answer in time, which may just be busy. Its thread occupies the pool's only connection
// until it has ended.
func TestConnectionsAbandonedByTheDriver(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Legacy())
	config, threads := ownAccount(t, database)
	config.IOTimeout, config.LockWait, config.StatementTimeout = 500*time.Millisecond, time.Second, 2*time.Second
	config.MaxOpen, config.AcquireTimeout = 1, time.Minute
	db := wpdbtest.OpenConfig(t, config)
	lockAgent(t, database)
	if err := change(t.Context(), db, writeAgent); !errors.Is(err, wpdb.ErrLinkLost) {
		t.Errorf("error %v, want %v", err, wpdb.ErrLinkLost)
	}
	if err := ping(t.Context(), db); err != nil {
		t.Error(err)
	}
	if n := len(threads("info LIKE '%latepoint%'")); n > 0 {
		t.Errorf("%d statements still run beside the next one", n)
	}
}

// TestKillerSparesOtherServers: after the killer has lost its connection, thread ids may be those of a
// restarted server, so it kills no thread from before.
func TestKillerSparesOtherServers(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Legacy())
	config, threads := ownAccount(t, database)
	config.MaxOpen, config.LockWait = 1, time.Second
	db := wpdbtest.OpenConfig(t, config)
	lockAgent(t, database)
	killer := threads("TRUE")[0]
	database.Execute(t, fmt.Sprintf("KILL %d", killer))
	for len(threads("TRUE")) != 1 {
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := change(ctx, db, writeAgent); !errors.Is(err, wpdb.ErrTimeout) || time.Since(began) < 300*time.Millisecond {
		t.Errorf("error %v after %v, want %v after the server was waited for", err, time.Since(began), wpdb.ErrTimeout)
	}
	if err := ping(t.Context(), db); err != nil {
		t.Error(err)
	}
}
