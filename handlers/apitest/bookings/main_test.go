// Package bookings_test tests what the API writes of bookings and customers: new ones, changes, holds, prices, custom fields, and records put back.
package bookings_test

import (
	"os"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }
