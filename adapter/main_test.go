package adapter

import (
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"bookside/fixtures"
	"bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// recordedNow returns the moment at which the recorded site was recorded.
func recordedNow() time.Time { return time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC) }
