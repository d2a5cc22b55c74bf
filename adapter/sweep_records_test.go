package adapter_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

// TestWhatKeysMadeIsForgotten: it is forgotten with the record, not with the key; otherwise the next key
// would profit.
func TestWhatKeysMadeIsForgotten(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(fixtures.RecordedNow()))
	db := wpdb.New(database.SQL, "wp_")
	if err := db.CreateOwnTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO wp_bookside_api_keys (id, key_hash, key_start, last_four, name, kind, permissions, status, created_at) VALUES (71, 'a', 'a', 'a', 'a', 'live', 'read', 'active', NOW()), (72, 'b', 'b', 'b', 'b', 'live', 'read', 'revoked', NOW())",
		"INSERT INTO wp_bookside_key_records (key_id, resource, record_id, created_at) SELECT k.id, 'customers', c.id, NOW() FROM wp_bookside_api_keys k JOIN (SELECT MIN(id) AS id FROM wp_latepoint_customers UNION SELECT 99999) c WHERE k.id IN (71, 72)",
		"INSERT INTO wp_bookside_key_records (key_id, resource, record_id, created_at) SELECT 71, 'bookings', MIN(id), NOW() FROM wp_latepoint_bookings",
		"INSERT INTO wp_bookside_key_records (key_id, resource, record_id, created_at) VALUES (71, 'orders', 999999, NOW()), (71, 'payments', 999999, NOW()), (70, 'bookings', 1, NOW())",
	} {
		database.Execute(t, statement)
	}
	sweeper := upkeep.NewSweeper(db, time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
	deleted, err := sweeper.Forget(t.Context())
	if err != nil || deleted != 4 {
		t.Errorf("%d rows, want 4: %v", deleted, err)
	}
}
