package wpdb

import (
	"context"
	"database/sql/driver"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures/expect"
)

// scriptedConn is a connection that gives a test's answers and records what it is sent.
type scriptedConn struct {
	driverConn
	sent   []string
	answer func(ctx context.Context, statement string) error
}

func (s *scriptedConn) ExecContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	s.sent = append(s.sent, query)
	return driver.ResultNoRows, s.answer(ctx, query)
}

func (s *scriptedConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	s.sent = append(s.sent, "BEGIN")
	return nil, nil //nolint:nilnil // COMMIT and ROLLBACK do not use it
}

func (s *scriptedConn) IsValid() bool { return true }

// TestCommitMayOutliveItsContext: the answer to a COMMIT is waited for a little longer than its context lasts. If
// none comes, what happened is unknown.
func TestCommitMayOutliveItsContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes time.Duration // beyond the context
		want  error
	}{"late": {commitGrace / 2, nil}, "silent": {time.Hour, ErrOutcomeUnknown}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				inner := &scriptedConn{answer: func(within context.Context, _ string) error {
					select {
					case <-time.After(time.Second + c.takes):
						return nil
					case <-within.Done():
						return within.Err()
					}
				}}
				tx, err := (&conn{driverConn: inner, limit: time.Minute}).BeginTx(ctx, driver.TxOptions{})
				expect.NoError(t, err)
				began := time.Now()
				expect.Error(t, c.want, wrapCommit("write", tx.Commit()))
				if took := time.Since(began); took > time.Second+commitGrace {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestCommitFails: a transaction whose COMMIT failed may still be open, and the next
// BEGIN would commit it.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	rejected := &mysql.MySQLError{Number: 1047}
	for name, c := range map[string]struct {
		rollback error
		valid    bool
	}{"rolled back": {nil, true}, "not rolled back": {rejected, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := &scriptedConn{answer: func(_ context.Context, statement string) error {
				if statement == "COMMIT" {
					return rejected
				}
				return c.rollback
			}}
			conn := &conn{driverConn: inner, limit: time.Minute}
			tx, err := conn.BeginTx(t.Context(), driver.TxOptions{})
			expect.NoError(t, err)
			expect.Error(t, rejected, tx.Commit())
			if want := []string{"BEGIN", "COMMIT", "ROLLBACK"}; !slices.Equal(inner.sent, want) || conn.IsValid() != c.valid {
				t.Errorf("sent %q, valid %t", inner.sent, conn.IsValid())
			}
		})
	}
}
