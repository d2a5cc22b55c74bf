package handlers_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update rewrites the golden files; a person must then review the differences.
var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares a JSON body, indented and with its keys in order, with
// testdata/NAME.json.
func golden(t testing.TB, name string, body []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		t.Fatalf("body %.500q: %v", body, err)
	}
	indented.WriteByte('\n')
	goldenFile(t, name+".json", indented.Bytes())
}

// goldenFile compares a text with a file in testdata.
func goldenFile(t testing.TB, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
