package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// withIntegers returns JSON of the usual form as generated clients get it: ids as numbers, 0 for an empty one
// and -1 for any. It knows ids by their names alone.
func withIntegers(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for member, inner := range value {
			value[member] = withIntegers(member, inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = withIntegers("", inner)
		}
	case string:
		id := (name == "id" || strings.HasSuffix(name, "_id")) && name != "source_id" && name != "message_id"
		switch {
		case id && value == "any":
			return -1.0
		case id && value == "":
			return 0.0
		case id:
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				return n
			}
		}
	}
	return value
}

// TestTypedResponses: every JSON response has integers for ids if the request asks for them, and is otherwise
// the same; the two forms have different tags. Requests and responses are those of the document for clients.
func TestTypedResponses(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	p := newProvoker(t)
	p.valid["listFreeAgents"] = request{path: "/agents/availability", query: "service_id=4"}
	changed := 0
	p.eachOperation(t, http.MethodGet, func(t *testing.T, p *provoker, id string, r request) {
		usual := p.send(p.server, r).want(http.StatusOK)
		if strings.HasSuffix(r.path, ".ics") || id == "status" {
			return
		}
		for _, asks := range []http.Header{{"X-Ids": {"integer"}}, {"Accept": {"application/json; ids=integer"}}} {
			r.header = asks
			typed := p.send(p.server, r).want(http.StatusOK)
			var want, got any
			if err := json.Unmarshal(usual.body, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(typed.body, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, withIntegers("", want)) {
				t.Errorf("usual: %.2000s\nfor clients: %.2000s", usual.body, typed.body)
			}
			if string(usual.body) != string(typed.body) {
				changed++
			}
			if vary := typed.header.Values("Vary"); !slices.Contains(vary, "X-Ids") || !slices.Contains(vary, "Accept") {
				t.Errorf("Vary %q", vary)
			}
			tags := [2]string{usual.header.Get("ETag"), typed.header.Get("ETag")}
			if tags[0] == tags[1] {
				t.Errorf("both have the tag %s", tags[0])
			}
			for form, header := range []http.Header{{}, asks} {
				for tag, sent := range tags {
					r.header = header.Clone()
					r.header.Set("If-None-Match", sent)
					want := map[bool]int{true: http.StatusNotModified, false: http.StatusOK}[form == tag]
					p.send(p.server, r).want(want)
				}
			}
			r.header = asks.Clone() // a proxy that compresses
			r.header.Set("If-None-Match", strings.TrimSuffix(tags[1], `"`)+`-gzip"`)
			p.send(p.server, r).want(http.StatusNotModified)
		}
	})
	if changed < 30 {
		t.Errorf("only %d responses differ", changed)
	}
	p.eachOperation(t, http.MethodPut, func(t *testing.T, p *provoker, id string, r request) {
		read := r
		read.method, read.body, read.query = http.MethodGet, "", ""
		for _, form := range []http.Header{{}, {"X-Ids": {"integer"}}} {
			read.header = form
			tag := p.send(p.server, read).want(http.StatusOK).header.Get("ETag")
			r.header = http.Header{"X-Ids": {"integer"}, "If-Match": {tag}}
			if a := p.send(p.server, r); a.status != http.StatusOK {
				t.Errorf("If-Match %s: %d %s", tag, a.status, a.body)
			}
		}
		now := p.send(p.server, read)
		r.header.Set("If-Match", `"other"`)
		changed := p.send(p.server, r).want(http.StatusPreconditionFailed)
		record := now.object()
		if data, enveloped := record["data"].(map[string]any); enveloped {
			record = data
		}
		if changed.at("data", "present", "etag") != now.header.Get("ETag") || !reflect.DeepEqual(changed.at("data", "present", "record"), any(record)) {
			t.Errorf("now %s %s\n412 %s", now.header.Get("ETag"), now.body, changed.body)
		}
	})
	p.eachOperation(t, http.MethodPost, func(t *testing.T, p *provoker, id string, r request) {
		if id == "testWebhook" {
			return // sends a request
		}
		webhook := strings.Contains(id, "Webhook") // whose responses are not stored
		r.header = http.Header{"X-Ids": {"integer"}}
		if !webhook {
			r.header.Set("Idempotency-Key", "typed")
		}
		first := p.send(p.server, r)
		if first.status >= http.StatusBadRequest {
			t.Fatalf("%d %s", first.status, first.body)
		}
		if webhook {
			return
		}
		if again := p.send(p.server, r); again.header.Get("Idempotent-Replayed") != "true" || string(again.body) != string(first.body) {
			t.Errorf("first %s\nagain %s", first.body, again.body)
		}
	})
}

// TestTypedErrors provokes an error with each code except that of a changed record, which is above, and compares it with the example in the whole document:
// it has one form.
func TestTypedErrors(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	p := newProvoker(t)
	seen := map[string]bool{}
	for _, path := range c.document.Paths.InMatchingOrder() {
		item := c.document.Paths.Value(path)
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				media := response.Value.Content["application/json"]
				if media == nil {
					continue
				}
				for name, example := range media.Examples {
					number, err := strconv.Atoi(status)
					if err != nil {
						t.Fatal(err)
					}
					d := documentedError{method, path, operation, number, example.Value.Value}
					kind := fmt.Sprint(status, d.code(), d.details() != nil)
					if number < http.StatusBadRequest || name == "answer" || seen[kind] || number == http.StatusHTTPVersionNotSupported || number == http.StatusPreconditionFailed || strings.HasSuffix(path, ".ics") {
						continue
					}
					seen[kind] = true
					t.Run(kind, func(t *testing.T) { p.at(t).compareTyped(d) })
				}
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d kinds of errors", len(seen))
	}
}

// compareTyped provokes an error in the form for generated clients.
func (p *provoker) compareTyped(d documentedError) {
	p.t.Helper()
	p.typed = true
	a, _ := p.provoke(d)
	if a.status != d.status {
		p.t.Fatalf("%d, want %d: %s", a.status, d.status, a.body)
	}
	code, data := a.at("code"), a.at("data").(map[string]any)
	if want := d.code(); want != "" && code != want || code == "" || fmt.Sprint(data["status"]) != strconv.Itoa(d.status) {
		p.t.Errorf("%s, want the code %s and the status %d", a.body, want, d.status)
	}
	if details := d.details(); details != nil && data["details"] == nil && data["permission"] == nil && data["conflict"] == nil && data["time_off"] == nil && data["present"] == nil {
		p.t.Errorf("%s has no details like %v", a.body, details)
	}
}
