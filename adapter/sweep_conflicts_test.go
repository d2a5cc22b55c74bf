package adapter

import (
	"log/slog"
	"testing"

	"bookside/fixtures/wpdbtest"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
)

// TestSweepConflictsAreRetried: two servers that sweep on two nodes of a cluster do not
// stop each other.
func TestSweepConflictsAreRetried(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.Mock(t)
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
	for _, table := range []string{"webhook_tries", "webhook_deliveries", "webhook_tries", "webhook_deliveries", "webhooks", "holds", "figures", "figures"} {
		mock.ExpectQuery("SELECT .*id FROM .*" + table).WillReturnRows(ids())
	}
	if _, err := NewSweeper(db, recordedNow, slog.New(slog.DiscardHandler)).Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}
