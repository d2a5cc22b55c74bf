package wpdb_test

import (
	"testing"

	"bookside/fixtures"
	"bookside/wpdb"
)

// cutOff puts a cutter with these faults in front of the server of a
// configuration.
func cutOff(t testing.TB, c wpdb.Config, faults ...fixtures.Fault) (wpdb.Config, *fixtures.Cutter) {
	t.Helper()
	var cutter *fixtures.Cutter
	c.DSN, cutter = fixtures.CutOff(t, c.DSN, faults...)
	return c, cutter
}
