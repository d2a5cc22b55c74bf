package adapter

import (
	"os"
	"testing"
	_ "time/tzdata"

	"bookside/fixtures"
)

func TestMain(m *testing.M) { os.Exit(fixtures.Run(m)) }
