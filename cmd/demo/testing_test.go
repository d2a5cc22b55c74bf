package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/sitefile"
)

// examples are the folder of the examples that TESTING.md links to.
const examples = "../../fixtures/testing"

// TestExamples runs the tests in other languages that TESTING.md links to, each against a demo of its own.
func TestExamples(t *testing.T) {
	fixtures.RequireTime(t)
	site := fixtures.WriteFile(t, "site.yaml", sitefile.Example)
	folder := t.TempDir()
	expect.NoError(t, os.CopyFS(folder, os.DirFS(examples)))
	npm := func(program string) []string {
		return []string{filepath.Join(folder, "node_modules", ".bin", program)}
	}
	example(t, folder, site, "test_booking.py", "2 passed", fixtures.RequirePython(t, "pytest"), "-m", "pytest", "-p", "no:cacheprovider")
	example(t, folder, site, "BookingTest.php", "OK (2 tests, ", fixtures.RequireTool(t, "phpunit"))
	install := exec.CommandContext(t.Context(), fixtures.RequireTool(t, "npm"), "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline")
	install.Dir = folder
	if printed, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, printed)
	}
	example(t, folder, site, "booking.test.js", "2 passed", npm("jest")...)
	example(t, folder, site, "booking.spec.js", "2 passed", append(npm("playwright"), "test")...)
}

// example runs the test in a file, and wants to see that it passed.
func example(t *testing.T, folder, site, file, want string, command ...string) {
	t.Helper()
	t.Run(file, func(t *testing.T) {
		t.Helper()
		d := startDemo(t, time.Now, "--fixtures", site)
		run := exec.CommandContext(t.Context(), command[0], append(command[1:], file)...)
		run.Dir = folder
		run.Env = append(os.Environ(), "BOOKSIDE_API="+d.api, "BOOKSIDE_ADMIN="+d.admin, "CI=1")
		if printed, err := run.CombinedOutput(); err != nil || !strings.Contains(string(printed), want) {
			t.Errorf("%v: %v\n%s", command, err, printed)
		}
	})
}
