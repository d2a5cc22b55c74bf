package server

import (
	"os"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }
