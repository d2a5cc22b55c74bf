package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// newSlowCountServer serves a site on which each count for a list takes 100 ms.
func newSlowCountServer(t *testing.T, maxAge time.Duration) *server {
	t.Helper()
	var s *server
	s = tappedServer(t, fixtures.New(t, fixtures.SiteA()), func(shown statement) error {
		if s != nil && strings.Contains(shown.text, "COUNT(*)") {
			s.clock = s.clock.Add(100 * time.Millisecond)
		}
		return nil
	}, func(o *handlers.Options) { o.AllowedOrigins = []string{"*"} })
	s.platform.Totals.ExactTime, s.platform.Totals.MaxAge = 20*time.Millisecond, maxAge
	return s
}

// insertByPHP is the statement with which the site's PHP adds a booking.
const insertByPHP = "INSERT INTO wp_latepoint_bookings (start_date, start_time, end_time, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id) " +
	"SELECT start_date, start_time, end_time, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id FROM wp_latepoint_bookings WHERE id = 7"

// TestTotalsThatTakeLongAreShared: such a total may be as old as the setting allows, and the
// response states its age. Our own writes are counted at once, and pages are always exact.
func TestTotalsThatTakeLongAreShared(t *testing.T) {
	t.Parallel()
	for path, first := range map[string]string{
		"/bookings?": "SELECT COUNT(*) FROM wp_latepoint_bookings", "/bookings?sort=id&": "SELECT COUNT(*) FROM wp_latepoint_bookings",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newSlowCountServer(t, 5*time.Second)
			s.get("/status").want(http.StatusOK)
			actual := func() (n int) {
				s.database.Scan(t, first, &n)
				return n
			}
			check := func(when string, total int, age string) {
				t.Helper()
				a := s.get(path + "per_page=2").want(http.StatusOK)
				if got := fmt.Sprint(a.at("pagination", "total")); got != fmt.Sprint(total) || a.header.Get("X-Total-Age") != age {
					t.Errorf("%s: total %s, age %q, want %d, %q", when, got, a.header.Get("X-Total-Age"), total, age)
				}
			}
			n := actual()
			check("counted with the rows", n, "")
			check("counted alone", n, "")
			s.database.Execute(t, insertByPHP)
			check("shared", n, "0")
			s.clock = s.clock.Add(4 * time.Second)
			check("shared 4 seconds later", n, "4")
			last := s.get(fmt.Sprintf("%sper_page=100&page=%d", path, n/100+1)).want(http.StatusOK)
			if got := fmt.Sprint(last.at("pagination", "total")); got != fmt.Sprint(n+1) || last.at("pagination", "has_next_page") != false {
				t.Errorf("the last page: total %s of %d", got, n+1)
			}
			s.clock = s.clock.Add(time.Second)
			check("too old", n+1, "")
			s.database.Execute(t, insertByPHP)
			check("shared again", n+1, "0")
			s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
			check("after a write of ours", n+3, "")
		})
	}
}

// TestTotalsCountedAloneAreSharedAtOnce: if a statement does nothing but count, its time shows whether the
// total may be shared.
func TestTotalsCountedAloneAreSharedAtOnce(t *testing.T) {
	t.Parallel()
	s := newSlowCountServer(t, 5*time.Second)
	for i, age := range []string{"", "0", "0"} {
		if got := s.get("/payments?per_page=2").want(http.StatusOK).header.Get("X-Total-Age"); got != age {
			t.Errorf("request %d: age %q, want %q", i, got, age)
		}
	}
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	if got := s.get("/payments?per_page=2").want(http.StatusOK).header.Get("X-Total-Age"); got != "" {
		t.Errorf("after a write of ours: age %q", got)
	}
}

// TestTotalsAreExact: totals are exact if counting is quick or the setting
// demands it.
func TestTotalsAreExact(t *testing.T) {
	t.Parallel()
	quick := newServer(t, fixtures.New(t, fixtures.SiteA()))
	quick.platform.Totals.ExactTime, quick.platform.Totals.MaxAge = 20*time.Millisecond, 5*time.Second
	for name, s := range map[string]*server{"quick": quick, "no age": newSlowCountServer(t, 0)} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/bookings?per_page=2", "/bookings?per_page=2&sort=status", "/customers?per_page=2", "/orders?per_page=2", "/payments?per_page=2"} {
				table := strings.Replace(strings.TrimPrefix(strings.Split(path, "?")[0], "/"), "payments", "transactions", 1)
				for range 3 {
					a := s.get(path).want(http.StatusOK)
					if want := len(s.table(t, table)); fmt.Sprint(a.at("pagination", "total")) != fmt.Sprint(want) || a.header.Get("X-Total-Age") != "" {
						t.Errorf("%s: total %v, want %d; age %q", path, a.at("pagination", "total"), want, a.header.Get("X-Total-Age"))
					}
					s.database.Execute(t, insertByPHP)
				}
			}
		})
	}
}

// TestTotalsOfOtherFilters: the total of one filter is not used for another filter or another list.
func TestTotalsOfOtherFilters(t *testing.T) {
	t.Parallel()
	s := newSlowCountServer(t, 5*time.Second)
	seen := map[string]string{}
	for range 3 {
		for _, path := range []string{"/bookings?", "/bookings?status=approved&", "/bookings?status=pending&", "/bookings?agent_id=1&", "/bookings?agent_id=2&", "/customers?", "/orders?", "/payments?"} {
			total := fmt.Sprint(s.get(path+"per_page=1").want(http.StatusOK).at("pagination", "total"))
			if first, ok := seen[path]; ok && first != total {
				t.Errorf("%s: total %s, then %s", path, first, total)
			}
			seen[path] = total
		}
	}
	different := map[string]bool{}
	for _, total := range seen {
		different[total] = true
	}
	if len(different) < 7 {
		t.Errorf("the case proves nothing: %v", seen)
	}
}

// TestTotalsInOtherScopes: a total counted for one key is shared with keys of the same scope, and with no
// others.
func TestTotalsInOtherScopes(t *testing.T) {
	t.Parallel()
	s := newSlowCountServer(t, 5*time.Second)
	scopes := []domain.Scope{{}, {Agents: []int64{1}}, {Agents: []int64{5}}, {Agents: []int64{1, 5}}, {Locations: []int64{1}}, {Agents: []int64{1}, Locations: []int64{1}}}
	totals := map[string]int{}
	for round := range 3 {
		for _, scope := range scopes {
			s.key = s.limitedKey(scope) // another key with the same scope
			a := s.get("/bookings?per_page=1").want(http.StatusOK)
			want := scalar[int](t, s, "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE "+withinSQL(scope))
			if got := fmt.Sprint(a.at("pagination", "total")); got != fmt.Sprint(want) {
				t.Errorf("round %d, limits %v: total %s, want %d", round, scope, got, want)
			}
			if shared := a.header.Get("X-Total-Age") != ""; shared != (round == 2) {
				t.Errorf("round %d, limits %v: shared %t", round, scope, shared)
			}
			totals[scope.String()] = want
		}
	}
	if len(slices.Compact(slices.Sorted(maps.Values(totals)))) < 4 {
		t.Errorf("the case proves nothing: %v", totals)
	}
}
