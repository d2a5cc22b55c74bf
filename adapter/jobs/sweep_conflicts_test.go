package jobs

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestSweepGoesOn: a table that cannot be swept does not stop the others, and the error names it.
func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.Mock(t)
	ids := func() *sqlmock.Rows { return sqlmock.NewRows([]string{"id"}) }
	mock.ExpectQuery("SELECT id FROM .*idempotency").WillReturnError(&mysql.MySQLError{Number: 1142})
	mock.ExpectQuery("SELECT id FROM .*events").WillReturnRows(ids().AddRow(1))
	mock.ExpectBegin()
	mock.ExpectExec("DELETE FROM .*events").WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectCommit()
	for _, table := range []string{"webhook_tries", "webhook_deliveries", "webhook_tries", "webhook_deliveries", "webhooks"} {
		mock.ExpectQuery("SELECT .*id FROM .*" + table).WillReturnRows(ids())
	}
	mock.ExpectQuery("SELECT id FROM .*holds").WillReturnError(&mysql.MySQLError{Number: 1146})
	for _, table := range []string{"requests"} {
		mock.ExpectQuery("SELECT id FROM .*" + table).WillReturnRows(ids())
	}
	deleted, err := NewSweeper(db, time.Now, slog.New(slog.DiscardHandler)).Sweep(t.Context())
	if deleted != 1 || !errors.Is(err, wpdb.ErrAccessDenied) || !errors.Is(err, wpdb.ErrSchema) {
		t.Errorf("deleted %d, error %v", deleted, err)
	}
	for _, table := range []string{"wp_bookside_idempotency: ", "wp_bookside_holds: "} {
		if err != nil && !strings.Contains(err.Error(), table) {
			t.Errorf("no %q in: %v", table, err)
		}
	}
}

// TestSweepEndsWithItsContext: no other table is tried once the server stops.
func TestSweepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	db, _ := wpdbtest.Mock(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := NewSweeper(db, time.Now, slog.New(slog.DiscardHandler)).Sweep(ctx)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
