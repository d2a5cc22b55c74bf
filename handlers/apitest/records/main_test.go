// Package records_test tests the lists and records of all resources, their exports, changes, webhooks and mails.
package records_test

import (
	"os"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }
