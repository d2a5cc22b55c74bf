package server

import (
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// now is the date of the sample site.
var now = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

func wantTexts(t *testing.T, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in: %s", text, got)
		}
	}
}

func execute(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}
