package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// Answer is a response, read to the end.
type Answer struct {
	T      testing.TB
	Status int
	Header http.Header
	Body   []byte
}

// Want fails the test unless the status is this one.
func (a Answer) Want(status int) Answer {
	a.T.Helper()
	if a.Status != status {
		a.T.Fatalf("status %d, want %d: %.2000s", a.Status, status, a.Body)
	}
	return a
}

// Object returns the body as generic JSON, with numbers as json.Number.
func (a Answer) Object() map[string]any {
	a.T.Helper()
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(a.Body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		a.T.Fatalf("body %.500q: %v", a.Body, err)
	}
	return object
}

// At walks into the body: at("error", "code"), at("data", 0, "id").
func (a Answer) At(path ...any) any {
	a.T.Helper()
	var value any = a.Object()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, ok := value.(map[string]any)
			if !ok {
				a.T.Fatalf("no object at %v before %q: %.1000s", path, step, a.Body)
			}
			value, ok = object[step]
			if !ok {
				a.T.Fatalf("no %q on the way to %v: %.1000s", step, path, a.Body)
			}
		case int:
			list, ok := value.([]any)
			if !ok || step >= len(list) {
				a.T.Fatalf("no element %d on the way to %v: %.1000s", step, path, a.Body)
			}
			value = list[step]
		}
	}
	return value
}

// Records returns the list in data.
func (a Answer) Records() []map[string]any {
	a.T.Helper()
	list, ok := a.At("data").([]any)
	if !ok {
		a.T.Fatalf("data is not a list: %.1000s", a.Body)
	}
	records := make([]map[string]any, len(list))
	for i := range list {
		records[i] = list[i].(map[string]any)
	}
	return records
}

// WantContains fails the test unless text contains part; format and args say what it is.
func WantContains(t testing.TB, part, text, format string, args ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s lacks %q: %.2000s", fmt.Sprintf(format, args...), part, text)
	}
}

// Tally counts changes by table and kind.
func Tally(changes []fixtures.Change) string {
	counts := map[string]int{}
	for _, c := range changes {
		counts[string(c.Op)+" "+c.Table]++
	}
	return fmt.Sprint(counts)
}

// IDNumber returns the id of a record as a number.
func IDNumber(t testing.TB, id any) int {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(id))
	expect.NoError(t, err)
	return n
}

// WantReplayOf checks that the response is a replay of the first one.
func (a Answer) WantReplayOf(t testing.TB, first Answer) {
	t.Helper()
	if a.Status != first.Status || string(a.Body) != string(first.Body) || a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("not replayed: %d, Idempotent-Replayed %q, %s, first %d %s", a.Status, a.Header.Get("Idempotent-Replayed"), a.Body, first.Status, first.Body)
	}
}

// WantCode checks for an error with a status and a code that is no replay.
func WantCode(t testing.TB, a Answer, status int, code string) {
	t.Helper()
	if a.Status != status || a.At("error", "code") != code || a.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%d %s, want %d %s", a.Status, a.Body, status, code)
	}
}

// WantFields compares some fields of the record in "data".
func (s *Server) WantFields(t testing.TB, path string, want map[string]any) {
	t.Helper()
	record, ok := s.Get(path).Want(http.StatusOK).Object()["data"].(map[string]any)
	if !ok {
		t.Fatalf("%s: no record in data", path)
	}
	for name, value := range want {
		if got, known := record[name]; !known || !cmp.Equal(got, value) {
			t.Errorf("%s: %s is %#v, want %#v", path, name, got, value)
		}
	}
}
