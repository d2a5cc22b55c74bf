package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// askFor sends a request for a WordPress user, and returns the body and the code of an error.
func (s *server) askFor(user keys.Key, method, target, body string) (status int, answer, code string) {
	s.t.Helper()
	user.Kind = keys.User
	r := httptest.NewRequestWithContext(s.t.Context(), method, "/v1"+target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	status, _, text := handlers.AskFor(s.handler, user, r)
	var failure struct {
		Code  string
		Error struct{ Code string }
	}
	if err := json.Unmarshal(text, &failure); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return status, string(text), failure.Code + failure.Error.Code
}

// TestRequestsForUsers: what WordPress asks for a user needs no key, is limited by the user's rights alone, and is entered
// into the journal as theirs. Nobody else can ask in the name of a user.
func TestRequestsForUsers(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.SiteA()), func(o *handlers.Options) {
		o.RateLimit.Enabled, o.RateLimit.Live.PerMinute = true, 1
	})
	const day = "2026-12-07"
	at := func(agent any, start string) string {
		return fmt.Sprintf(`{"service_id":1,"agent_id":%v,"location_id":1,"customer_id":1,"start_date":%q,"start_time":%q}`, agent, day, start)
	}
	writer := keys.Key{UserID: 77, Permissions: []string{"write_bookings"}, Scope: domain.Scope{Agents: []int64{2}}}
	free := func() []string {
		t.Helper()
		_, body, _ := s.askFor(keys.Key{Permissions: []string{"read_availability"}}, http.MethodGet, "/availability?service_id=1&agent_id=2&date="+day, "")
		var found struct {
			Data struct {
				Starts []string `json:"available_slots"`
			}
		}
		if err := json.Unmarshal([]byte(body), &found); err != nil || len(found.Data.Starts) < 3 {
			t.Fatalf("%s: %v", body, err)
		}
		return found.Data.Starts
	}
	starts := free()
	status, body, _ := s.askFor(writer, http.MethodPost, "/bookings", at(`"any"`, starts[0]))
	var made struct {
		Data struct {
			ID    int64
			Agent struct{ ID json.Number }
		}
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated || made.Data.Agent.ID != "2" {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if status, body, _ := s.askFor(writer, http.MethodPut, fmt.Sprint("/bookings/", made.Data.ID), `{"status":"cancelled"}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	var entered, remembered int
	query := fmt.Sprintf("SELECT (SELECT COUNT(*) FROM wp_bookside_change_inbox WHERE resource = 'bookings' AND resource_id = %d AND origin = 'site' AND actor_id = 77), (SELECT COUNT(*) FROM wp_bookside_booking_customers)", made.Data.ID)
	if err := s.database.SQL.QueryRowContext(t.Context(), query).Scan(&entered, &remembered); err != nil || entered != 2 || remembered != 0 {
		t.Errorf("%d changes of the user, and %d records of a key: %v", entered, remembered, err)
	}
	for name, c := range map[string]struct {
		user         keys.Key
		method, path string
		body         string
		want         string
	}{
		"another agent":         {writer, http.MethodPost, "/bookings", at(1, starts[1]), "outside_key_limits"},
		"another's booking":     {keys.Key{Permissions: writer.Permissions, Scope: domain.Scope{Agents: []int64{1}}}, http.MethodPut, fmt.Sprint("/bookings/", made.Data.ID), `{"status":"approved"}`, "booking_not_found"},
		"without a permission":  {keys.Key{}, http.MethodPost, "/bookings", at(2, starts[1]), "insufficient_permissions"},
		"beyond the permission": {writer, http.MethodGet, "/customers/1", "", "insufficient_permissions"},
	} {
		if status, body, code := s.askFor(c.user, c.method, c.path, c.body); code != c.want {
			t.Errorf("%s: %d %s, want %s", name, status, body, c.want)
		}
	}
	if got := s.do(http.MethodGet, "/v1/availability?service_id=1&agent_id=2&date="+day, nil); got.status != http.StatusUnauthorized {
		t.Errorf("without a user and a key: %d", got.status)
	}
}
