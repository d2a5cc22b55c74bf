package adapter

import (
	"flag"
	"os"
	"testing"
	_ "time/tzdata"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) {
	if !fixtures.Thorough() {
		// A third of rapid's default number of runs, because each uses a database; -rapid.checks overrides
		// it.
		if err := flag.Set("rapid.checks", "33"); err != nil {
			panic(err)
		}
	}
	os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements))
}
