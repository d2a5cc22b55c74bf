package adapter

import (
	"flag"
	"os"
	"testing"
	_ "time/tzdata"

	"bookside/fixtures"
	"bookside/wpdb"
)

func TestMain(m *testing.M) {
	if !fixtures.Thorough() {
		// A third of rapid's own number of runs against a database; -rapid.checks goes before it.
		if err := flag.Set("rapid.checks", "33"); err != nil {
			panic(err)
		}
	}
	os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements))
}
