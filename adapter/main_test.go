package adapter

import (
	"os"
	"testing"
	_ "time/tzdata"

	"bookside/fixtures"
	"bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }
