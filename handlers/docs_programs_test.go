package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// awkward is a body with everything that some language writes in its own way.
const awkward = `{"quotes": "O'Brien said \"Grüße 👍\" for $5 \\ <?php` + "`date`" + `", "lines": "one\ntwo", "list": [1, -2.5, true, null, []],
	"numbered": {"0": "first", "1": "second"}, "empty": {}}`

// programs are those of a request, by language.
type programs map[string]string

// runPrograms runs the programs that the page shows for a list, for free times and for a body that was
// typed, and those of a request with an awkward body.
func (s *server) runPrograms(page context.Context, t *testing.T) {
	for path, part := range map[string]string{"/customers": `"email":`, "/availability": `"available_slots":[`} {
		o := s.operation(path, http.MethodGet)
		t.Run(o.OperationID, func(t *testing.T) {
			s.run(t, shownPrograms(page, t, o, ""), func(t *testing.T, output string) {
				if !strings.Contains(output, part) {
					t.Errorf("printed %.500s", output)
				}
			})
		})
	}
	t.Run("createBooking", func(t *testing.T) {
		const notes = `O'Brien: "Grüße 👍" \ ` + "`date`"
		body, err := json.Marshal(map[string]any{
			"service_id": 2, "agent_id": 1, "start_date": s.operation("/availability", http.MethodGet).Parameters.GetByInAndName("query", "date").Example, "start_time": "10:00",
			"customer": map[string]any{"first_name": "Ada", "last_name": "Byron", "email": "ada@example.com", "phone": "+442079460000"}, "notes": notes, "dry_run": true,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.run(t, shownPrograms(page, t, s.operation("/bookings", http.MethodPost), string(body)), func(t *testing.T, output string) {
			var booking struct{ Data struct{ Notes string } }
			_, answer, _ := strings.Cut(output, "{") // after the status
			if err := json.Unmarshal([]byte("{"+answer), &booking); err != nil || booking.Data.Notes != notes {
				t.Errorf("%v, notes %q: printed %.500s", err, booking.Data.Notes, output)
			}
		})
	})
	t.Run("awkward body", func(t *testing.T) {
		echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut || r.Header.Get("X-Api-Key") != s.key {
				t.Errorf("%s with the key %q", r.Method, r.Header.Get("X-Api-Key"))
			}
			if _, err := io.Copy(w, r.Body); err != nil {
				t.Error(err)
			}
		}))
		t.Cleanup(echo.Close)
		request, err := json.Marshal(map[string]any{
			"method": http.MethodPut, "url": echo.URL, "body": awkward,
			"headers": map[string]string{"Content-Type": "application/json", "X-API-Key": "YOUR_KEY"},
		})
		if err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf(`import("/docs/docs.snippets.js").then(({ languages }) => Object.fromEntries(Object.entries(languages).map(([name, write]) => [name, write(%s)])))`, request)
		written, err := chromedp.Run(page, chromedp.Evaluate[programs](script, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		s.run(t, written, func(t *testing.T, output string) {
			var got, want any
			_, answer, _ := strings.Cut(output, "{")
			err := json.Unmarshal([]byte("{"+answer), &got)
			if err := json.Unmarshal([]byte(awkward), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("sent (-want +got):\n%s%v\nprinted %s", diff, err, output)
			}
		})
	})
}

// shownPrograms returns the programs that the page shows for an operation, with a body if it has one.
func shownPrograms(page context.Context, t *testing.T, o placedOperation, body string) programs {
	t.Helper()
	typed, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := chromedp.Run(page, chromedp.Evaluate[programs](fmt.Sprintf(programsScript, o.block(), typed), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

const programsScript = `(async () => {` + onPage + `
	const block = "%s ", body = %s;
	(await find(block + ".opblock-summary-control")).click();
	await find(block + ".execute:enabled");
	if (body) fill(await find(block + "textarea"), body);
	const shown = {};
	for (const button of document.querySelectorAll(block + ".snippets-bar [aria-pressed]")) {
		button.click();
		await until("chosen language", () => button.getAttribute("aria-pressed") === "true");
		shown[button.textContent] = document.querySelector(block + ".snippets pre").textContent;
	}
	document.querySelector(block + ".opblock-summary-control").click();
	return shown;
})()`

// run runs programs with the key, and passes what each prints to check. Of those in Go, whose compiler takes
// a second, it runs only the one for the awkward body; the others have only to be formatted.
func (s *server) run(t *testing.T, all programs, check func(t *testing.T, output string)) {
	t.Helper()
	languages := map[string][]string{"curl": {"sh", "program.sh"}, "TypeScript": {"node", "program.mjs"}, "Go": {"go", "run", "program.go"}, "Python": {"python3", "program.py"}, "PHP": {"php", "program.php"}}
	if len(all) != len(languages) {
		t.Errorf("%d programs, want %d", len(all), len(languages))
	}
	for language, command := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			program := all[language] + "\n"
			if strings.Count(program, "YOUR_KEY") != 1 || strings.Contains(program, s.key) {
				t.Errorf("the key is not a placeholder:\n%s", program)
			}
			if language == "Go" {
				if formatted, err := format.Source([]byte(program)); err != nil || string(formatted) != program {
					t.Errorf("gofmt: %v\n%s", err, formatted)
				}
				if !strings.Contains(t.Name(), "awkward") {
					return
				}
			}
			fixtures.RequireTool(t, command[0])
			folder := t.TempDir()
			file := filepath.Join(folder, command[len(command)-1])
			if err := os.WriteFile(file, []byte(strings.Replace(program, "YOUR_KEY", s.key, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), command[0], command[1:]...)
			run.Dir = folder
			output, err := run.Output()
			if err != nil {
				t.Fatalf("%v:\n%s", err, program)
			}
			check(t, string(output))
		})
	}
}
