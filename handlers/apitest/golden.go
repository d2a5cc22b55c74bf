package apitest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// Update rewrites the golden files; a person must then review the differences.
var Update = flag.Bool("update", false, "rewrite the golden files in testdata")

// Golden compares a JSON body, indented and with its keys in order, with
// testdata/NAME.json.
func Golden(t testing.TB, name string, body []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		t.Fatalf("body %.500q: %v", body, err)
	}
	indented.WriteByte('\n')
	GoldenFile(t, name+".json", indented.Bytes())
}

// GoldenFile compares a text with a file in testdata.
func GoldenFile(t testing.TB, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *Update {
		expect.NoError(t, os.WriteFile(file, text, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	expect.NoError(t, err)
	expect.Equal(t, string(want), string(text), file)
}
