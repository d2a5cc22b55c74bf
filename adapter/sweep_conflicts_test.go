package adapter

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"bookside/wpdb"
)

// TestSweepConflictsAreRetried: two servers that sweep on two nodes of a cluster do not
// stop each other.
func TestSweepConflictsAreRetried(t *testing.T) {
	t.Parallel()
	pool, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	ids := func() *sqlmock.Rows { return sqlmock.NewRows([]string{"id"}) }
	mock.ExpectQuery("SELECT id FROM .*idempotency").WillReturnRows(ids().AddRow(1))
	mock.ExpectBegin()
	mock.ExpectExec("DELETE FROM .*idempotency").WillReturnError(&mysql.MySQLError{Number: 1213})
	mock.ExpectRollback()
	mock.ExpectBegin()
	mock.ExpectExec("DELETE FROM .*idempotency").WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectCommit()
	mock.ExpectQuery("SELECT id FROM .*outbox").WillReturnRows(ids())
	mock.ExpectQuery("SELECT id FROM .*outbox").WillReturnRows(ids())
	mock.ExpectClose()
	_, err = NewSweeper(wpdb.New(pool, "wp_"), recordedNow, slog.New(slog.DiscardHandler)).Sweep(t.Context())
	if err := errors.Join(err, pool.Close(), mock.ExpectationsWereMet()); err != nil {
		t.Error(err)
	}
}
