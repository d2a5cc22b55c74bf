package compare

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadScenario(t *testing.T) {
	t.Parallel()
	s, err := ReadScenario(write(t, "writes.http", `# What clients do.

# @name booking
POST /bookings HTTP/1.1
idempotency-key: 7

{
  "service_id": 2
}

###
// @name second
put /x
`))
	if err == nil || !strings.Contains(err.Error(), "line 13: not a request") {
		t.Errorf("a method in lower case: %v, %v", s, err)
	}
	s, err = ReadScenario(write(t, "writes.http", "# @name a\nPOST /bookings HTTP/1.1\nidempotency-key: 7\n\n{\n  \"x\": 1\n}\n\n### second\n\nDELETE /bookings/{{ a.data.0.id }}?force=true\n\n###\n# nothing\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Scenario{
		{name: "a", method: "POST", path: "/bookings", header: http.Header{"Idempotency-Key": {"7"}}, body: "{\n  \"x\": 1\n}", line: 2},
		{method: "DELETE", path: "/bookings/{{ a.data.0.id }}?force=true", header: http.Header{}, line: 11},
	}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(scenarioRequest{})); diff != "" {
		t.Errorf("scenario (-want +got):\n%s", diff)
	}
	answers := map[string]value{"a": mustParse(t, `{"data":[{"id":17}]}`)}
	if got, err := fill(s[1].path, answers); err != nil || got != "/bookings/17?force=true" {
		t.Errorf("filled %q, %v", got, err)
	}
	for _, text := range []string{"{{a.data.1.id}}", "{{a.data}}", "{{a.data.0.code}}"} {
		if got, err := fill(text, answers); err == nil {
			t.Errorf("%s was filled as %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"POST /bookings\nno header\n":                             "line 2: not a header",
		"PUT /bookings/{{later.id}}\n":                            "has the name later",
		"# @name a\nPOST /a\n\n{\"b\": {{a.id}}}":                 "has the name a",
		"# @name a\nPOST /a\n\n###\nPUT /a/{{a}}\n":               "line 5: {{a}} is not a reference",
		"# @name a\nPOST /a\n\n###\nPUT /a\n\n{\"b\": {{a.d-e}}}": "line 5: {{a.d-e}} is not a reference",
		"\n": "has no request",
	} {
		if s, err := ReadScenario(write(t, "writes.http", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", text, s, err, want)
		}
	}
}

// TestProgressLine: the line that people see while they wait.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Progress{
		"reading Bookside's lists":                                {Waiting: "Bookside's lists"},
		"12 of 300 compared, 1 differ, about 5 minutes left":      {Done: 12, Planned: 300, Differing: 1, Left: 5 * 60e9},
		"12 of 300 compared, 0 differ, about 3 hours left":        {Done: 12, Planned: 300, Left: 3 * 3600e9},
		"299 of 300 compared, 0 differ, about 1 seconds left":     {Done: 299, Planned: 300, Left: 1e9},
		"1 of 3 compared, 0 differ; waiting 30s, because of that": {Done: 1, Planned: 3, Waiting: "30s, because of that"},
	} {
		if got := p.Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
