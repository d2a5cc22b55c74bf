package handlers_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
)

// TestExamplesCanBeSent sends what the viewer fills in: the examples of required parameters and bodies.
// Reads find records of the small site, and writes are accepted.
func TestExamplesCanBeSent(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.Small(now)))
	for _, o := range inOrder(s.described()) {
		t.Run(o.method+o.path, func(t *testing.T) {
			path, body := "/v1"+o.path, ""
			query := "?"
			for _, p := range o.Parameters {
				example := fmt.Sprint(p.Value.Example)
				switch {
				case !p.Value.Required && p.Value.Example == nil:
					continue
				case p.Value.In == openapi3.ParameterInPath:
					path = strings.Replace(path, "{"+p.Value.Name+"}", example, 1)
				case p.Value.In == openapi3.ParameterInQuery:
					query += p.Value.Name + "=" + example + "&"
				default:
					t.Errorf("the header %s would be sent with each request", p.Value.Name)
				}
			}
			if o.RequestBody != nil {
				sent, err := json.Marshal(o.RequestBody.Value.Content["application/json"].Example)
				if err != nil {
					t.Fatal(err)
				}
				body = string(sent)
			}
			if strings.HasSuffix(path, ".ics") { // the viewer does not have its key
				calendar := s.calendar(keys.Busy, domain.Resource(strings.TrimSuffix(strings.Split(o.path, "/")[1], "s")), 1)
				query += calendar.query
			}
			if strings.HasPrefix(o.path, "/bookings/{id}/") { // the example is completed
				s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 1")
				defer s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'completed' WHERE id = 1")
			}
			if strings.HasPrefix(o.path, "/time-off") {
				s.database.Execute(t, exampleDayOff)
				defer s.database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE id >= 206") // the other examples are on that day
			}
			a := s.send(o.method, path+query, http.Header{"X-Api-Key": {s.key}, "Content-Type": {"application/json"}}, body)
			switch {
			case o.method == http.MethodDelete: // may be refused, for example because a customer has bookings
				if a.status == http.StatusNotFound {
					t.Errorf("status 404: %s", a.body)
				}
			case a.status >= http.StatusMultipleChoices:
				t.Errorf("sent %s\nstatus %d: %s", body, a.status, a.body)
			case o.method == http.MethodGet && o.path != "/status" && o.path != "/changes" && !findsRows(a.body) && !strings.Contains(string(a.body), "BEGIN:VEVENT"):
				t.Errorf("found nothing: %s", a.body)
			}
		})
	}
}

// described returns the document as the server serves it: the days in its examples follow the server's
// clock.
func (s *server) described() *openapi3.T {
	s.t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(s.do(http.MethodGet, "/openapi.json", nil).want(http.StatusOK).body)
	if err != nil {
		s.t.Fatal(err)
	}
	return document
}

// TestExamplesStayAhead: the days in examples are always in the future, however long a server runs.
func TestExamplesStayAhead(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newServer(t, small(t))
	for range 3 {
		example := s.described().Paths.Value("/availability").Get.Parameters.GetByInAndName(openapi3.ParameterInQuery, "date").Example
		day, err := time.Parse(time.DateOnly, fmt.Sprint(example))
		if ahead := day.Sub(s.clock); err != nil || day.Weekday() != time.Tuesday || ahead < 45*24*time.Hour || ahead > 60*24*time.Hour {
			t.Errorf("on %s the example is %v", s.clock.Format(time.DateOnly), example)
		}
		s.clock = s.clock.AddDate(0, 4, 3)
	}
}

// findsRows reports whether a response has a record, alone or in a list, or free times.
func findsRows(body []byte) bool {
	var found struct {
		ID   any             `json:"id"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &found) != nil {
		return false
	}
	var slots struct {
		Times []string `json:"available_slots"`
	}
	if json.Unmarshal(found.Data, &slots) == nil && slots.Times != nil {
		return len(slots.Times) > 0
	}
	return found.ID != nil || len(found.Data) > len("[]") && string(found.Data) != "null"
}

type placedOperation struct {
	*openapi3.Operation
	method, path string
}

// inOrder returns the operations in an order in which what one creates exists for the next: holds and
// webhooks are created before they are read, and deletions come last.
func inOrder(document *openapi3.T) []placedOperation {
	var all []placedOperation
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			all = append(all, placedOperation{operation, method, path})
		}
	}
	rank := func(o placedOperation) int {
		made := strings.HasPrefix(o.path, "/holds") || strings.HasPrefix(o.path, "/webhooks")
		switch {
		case o.method == http.MethodGet && !made:
			return 0
		case strings.HasSuffix(o.path, "/test"): // creates a delivery
			return 3
		case o.method == http.MethodPost:
			return 1 + strings.Count(o.path, "/")
		case o.method == http.MethodGet:
			return 10
		case o.method == http.MethodPut:
			return 11
		default:
			return 12
		}
	}
	slices.SortFunc(all, func(a, b placedOperation) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.path, b.path))
	})
	return all
}
