package notify

import (
	_ "embed"
	"encoding/json"
	"os/exec"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

//go:embed testdata/php.json
var phpJSON []byte

// phpAnswers is what PHP 8.2 answered to testdata/php.php.
type phpAnswers struct {
	Dates []struct {
		Zone        string
		Unix, Micro int64
		Want        map[string]string
	}
	Formats []struct{ Format, Want string }
	Texts   []string
	Equal   []string // one row and one column for each of Texts; 1 for equal
	Floats  []any
	Offsets []struct{ Value, Unit, Side, At, Want string }
	Encoded []struct{ Text, Want string }
}

func php(t *testing.T) phpAnswers {
	t.Helper()
	var answers phpAnswers
	expect.NoError(t, json.Unmarshal(phpJSON, &answers))
	return answers
}

// TestFunctionsAnswerAsPHP runs the script again if PHP is installed.
func TestFunctionsAnswerAsPHP(t *testing.T) {
	t.Parallel()
	interpreter := fixtures.RequireTool(t, "php")
	got, err := exec.CommandContext(t.Context(), interpreter, "testdata/php.php").Output()
	expect.NoError(t, err)
	if diff := cmp.Diff(string(phpJSON), string(got)); diff != "" {
		t.Errorf("testdata/php.json (-recorded +answered):\n%s", diff)
	}
}

// location returns an IANA zone, or an offset as the site names it.
func location(t *testing.T, name string) *time.Location {
	t.Helper()
	if offset, err := time.Parse("-07:00", name); err == nil {
		_, seconds := offset.Zone()
		return time.FixedZone(name, seconds)
	}
	loc, err := time.LoadLocation(name)
	expect.NoError(t, err)
	return loc
}
