package compare

import (
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Scenario is a list of writing requests, in the format of .http files:
//
//	# @name booking
//	POST /bookings
//	Idempotency-Key: 1
//
//	{"service_id": 2, "agent_id": 1, "start_date": "2026-12-01", "start_time": "10:00",
//	 "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.com"}}
//
//	###
//	PUT /bookings/{{booking.data.id}}
//
//	{"status": "cancelled"}
//
// Text between {{ and }} is replaced with a value from the response to an earlier request, each side using
// its own.
type Scenario []scenarioRequest

type scenarioRequest struct {
	name, method, path string
	header             http.Header
	body               string
	line               int
}

// ReadScenario reads a scenario from a file.
func ReadScenario(name string) (Scenario, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	var s Scenario
	var block []string
	for i, line := range append(strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n"), "###") {
		if !strings.HasPrefix(line, "###") {
			block = append(block, line)
			continue
		}
		r, ok, err := parseBlock(block, i+1-len(block))
		if err == nil && ok {
			err = s.check(r)
			s = append(s, r)
		}
		if err != nil {
			return nil, err
		}
		block = nil
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("%s has no request", name)
	}
	return s, nil
}

var (
	nameLine    = regexp.MustCompile(`^(?:#|//)\s*@name\s+([A-Za-z][A-Za-z0-9_]*)\s*$`)
	requestLine = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE)\s+(/(?:\{\{[^{}]*\}\}|\S)*)(?:\s+HTTP/[0-9.]+)?$`)
	braces      = regexp.MustCompile(`\{\{[^{}]*\}\}`)
	reference   = regexp.MustCompile(`\{\{\s*([A-Za-z][A-Za-z0-9_]*)((?:\.[A-Za-z0-9_]+)+)\s*\}\}`)
)

// parseBlock parses the text between two lines of ###; ok is false if it is only comments.
func parseBlock(lines []string, first int) (r scenarioRequest, ok bool, err error) {
	r.header = http.Header{}
	for i, line := range lines {
		text := strings.TrimSpace(line)
		switch m := nameLine.FindStringSubmatch(text); {
		case m != nil && !ok:
			r.name = m[1]
		case !ok && (text == "" || text[0] == '#' || strings.HasPrefix(text, "//")):
		case !ok:
			m := requestLine.FindStringSubmatch(text)
			if m == nil {
				return r, false, fmt.Errorf("line %d: not a request such as POST /bookings", first+i)
			}
			r.method, r.path, r.line, ok = m[1], m[2], first+i, true
		case text == "":
			r.body = strings.TrimSpace(strings.Join(lines[i:], "\n"))
			return r, true, nil
		default:
			name, value, found := strings.Cut(text, ":")
			if !found || strings.ContainsAny(name, " \t") {
				return r, false, fmt.Errorf("line %d: not a header; an empty line stands before the body", first+i)
			}
			r.header.Set(textproto.CanonicalMIMEHeaderKey(name), strings.TrimSpace(value))
		}
	}
	return r, ok, nil
}

// check reports references to requests that do not come earlier.
func (s Scenario) check(r scenarioRequest) error {
	for _, m := range reference.FindAllStringSubmatch(r.path+r.body, -1) {
		if !slices.ContainsFunc(s, func(earlier scenarioRequest) bool { return earlier.name == m[1] }) {
			return fmt.Errorf("line %d: no request before it has the name %s", r.line, m[1])
		}
	}
	if wrong := braces.FindString(reference.ReplaceAllString(r.path+"\n"+r.body, "")); wrong != "" {
		return fmt.Errorf("line %d: %s is not a reference such as {{booking.data.id}}", r.line, wrong)
	}
	return nil
}

// fill replaces references with values from the responses.
func fill(text string, answers map[string]value) (string, error) {
	var missing error
	filled := reference.ReplaceAllStringFunc(text, func(found string) string {
		m := reference.FindStringSubmatch(found)
		v := answers[m[1]].at(m[2][1:])
		if !v.scalar() {
			missing = fmt.Errorf("the answer to %s has no %s", m[1], m[2][1:])
		}
		return v.text
	})
	return filled, missing
}
