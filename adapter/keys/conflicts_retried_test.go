package keys

import (
	"context"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestConflictsAreRetried: a statement runs again if another node of a cluster was first, so that a key is
// revoked at once.
func TestConflictsAreRetried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rejected string // the statement that fails once
		run      func(context.Context, *wpdb.DB) error
	}{
		"revoke a key": {"UPDATE .*api_keys", func(ctx context.Context, db *wpdb.DB) error {
			_, err := NewStore(db, time.Now, nil).Revoke(ctx, 1)
			return err
		}},
		"log out": {"DELETE FROM .*admin_tokens", func(ctx context.Context, db *wpdb.DB) error {
			return NewAdminTokens(db, time.Now, nil).Logout(ctx, "session")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, mock := wpdbtest.Mock(t)
			mock.ExpectBegin()
			mock.ExpectExec(c.rejected).WillReturnError(&mysql.MySQLError{Number: 1213})
			mock.ExpectRollback()
			mock.ExpectBegin()
			mock.ExpectExec(c.rejected).WillReturnResult(sqlmock.NewResult(1, 1))
			mock.ExpectCommit()
			expect.Succeeded(t, c.run(t.Context(), db))
		})
	}
}

// TestUseIsRecordedByAnotherNode: if another node records the use of a key at the same time, that is not an
// error; any other failure is.
func TestUseIsRecordedByAnotherNode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number uint16
		fails  bool
	}{"conflict": {1213, false}, "read-only": {1290, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, mock := wpdbtest.Mock(t)
			mock.ExpectExec("UPDATE .*api_keys").WillReturnError(&mysql.MySQLError{Number: c.number})
			if err := NewStore(db, time.Now, nil).Used(t.Context(), Key{ID: 1}); (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
		})
	}
}
