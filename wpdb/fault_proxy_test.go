package wpdb_test

import (
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

// withFaults returns the configuration with a fault proxy in front of its server.
func withFaults(t testing.TB, c wpdb.Config, faults ...fixtures.Fault) (wpdb.Config, *fixtures.FaultProxy) {
	t.Helper()
	var proxy *fixtures.FaultProxy
	c.DSN, proxy = fixtures.NewFaultProxy(t, c.DSN, faults...)
	return c, proxy
}
