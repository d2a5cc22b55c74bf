// Package times_test tests times: free ones, slots, hours, time off, calendars and assets.
package times_test

import (
	"os"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }
