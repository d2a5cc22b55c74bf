package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/companiontest"
	"github.com/bookside/bookside/handlers/monitor"
)

// standIn replaces the companion: it offers every day from 08:10 to 09:10 and from 10:00 to 11:00, has its
// own price, and refuses bookings at 08:10.
type standIn struct {
	s        *server
	requests atomic.Int64
	away     atomic.Bool
}

func (w *standIn) answer(t *testing.T, of json.RawMessage) (status int, says any) {
	t.Helper()
	w.requests.Add(1)
	// WordPress must not be asked while locks are held.
	if _, err := w.s.database.SQL.ExecContext(t.Context(), "SELECT n FROM wp_bookside_locks FOR UPDATE NOWAIT"); err != nil {
		t.Errorf("while WordPress is asked: %v", err)
	}
	if w.away.Load() {
		return http.StatusForbidden, nil
	}
	var question struct {
		Times []struct {
			From string `json:"start_date"`
			To   string `json:"date_to"`
		}
		Bookings []struct {
			Start int `json:"start_time"`
		}
	}
	if err := json.Unmarshal(of, &question); err != nil {
		t.Error(err)
	}
	times, bookings := []any{}, []any{}
	for _, q := range question.Times {
		days := map[string][][]int{}
		for day, _ := time.Parse(time.DateOnly, q.From); day.Format(time.DateOnly) <= q.To; day = day.AddDate(0, 0, 1) {
			days[day.Format(time.DateOnly)] = [][]int{{490, 1}, {600, 1}}
		}
		times = append(times, map[string]any{"duration": 60, "resources": []any{map[string]any{"agent": 5, "location": 1, "days": days}}})
	}
	for _, q := range question.Bookings {
		judgement := map[string]any{"available": true, "agent_id": 5, "location_id": 1, "price": map[string]any{
			"subtotal": "20.0000", "total": "21.5000", "tax": "1.5000", "discount": "0.0000", "coupon_code": "",
			"item": map[string]string{"subtotal": "20.0000", "total": "19.0000", "discount": "0.0000"}, "breakdown": `{"before_subtotal":[],"said":"by / it"}`,
		}}
		if q.Start == 490 {
			judgement["refusal"] = "Not before nine."
		}
		bookings = append(bookings, judgement)
	}
	return http.StatusOK, map[string]any{"times": times, "bookings": bookings}
}

func newAskingServer(t *testing.T) *standIn {
	t.Helper()
	w := &standIn{s: newWriter(t, fixtures.SiteA().WithFewBookings())}
	w.s.asks(t, func(_ string, of json.RawMessage) (int, any) { return w.answer(t, of) })
	return w
}

// asks makes the server ask a stand-in for the companion about times, prices and acceptance.
func (s *server) asks(t *testing.T, answer func(action string, of json.RawMessage) (status int, says any)) {
	t.Helper()
	s.platform.Asker = extensions.NewAsker(companiontest.New(t, s.platform.DB, s.platform.Now, answer), s.platform.Now)
	s.database.Execute(t, activate(pluginFile, "rules/rules.php"), reported("3"),
		`REPLACE INTO wp_bookside_extensions (id, reported_at, plugins) VALUES (1, '2026-11-01', '[{"plugin":"rules","title":"House Rules","listeners":[{"hook":"latepoint_get_resources_grouped_by_day","callback":"a","priority":10},
			{"hook":"latepoint_cart_calculate_prices","callback":"b","priority":10},{"hook":"latepoint_model_validate","callback":"c","priority":10}]}]')`)
}

// reported returns the statement by which the companion reports the number of listeners, and that it is there.
func reported(listeners string) string {
	return "REPLACE INTO wp_options (option_name, option_value) VALUES ('bookside_companion_extensions', '0123456789abcdef 1796000000 " + listeners + "'), ('bookside_companion_seen', '" + seen(0) + "')"
}

// seen is what the companion noted when WordPress last loaded it, so long ago.
func seen(ago time.Duration) string { return fmt.Sprint("0.2.0 ", now.Add(-ago).Unix()) }

// TestExtensionsAreAsked: decisions of an extension are answered as by WordPress.
func TestExtensionsAreAsked(t *testing.T) {
	t.Parallel()
	w := newAskingServer(t)
	asks := func(n int64, what string) {
		t.Helper()
		wantEqual(t, n, w.requests.Swap(0), "%s: requests to WordPress", what)
	}
	wantEqual(t, "asked", w.s.get("/site").want(http.StatusOK).at("data", "extensions", 0, "kind"), "kind")
	const range2 = "/availability?service_id=4&agent_id=5&date=2027-02-05&date_to=2027-03-05"
	asks(0, "the list of extensions")
	a := w.s.get(range2).want(http.StatusOK)
	if timing := a.header.Get("Server-Timing"); !strings.Contains(timing, ", wordpress;dur=") {
		t.Errorf("Server-Timing %q", timing)
	}
	asks(1, "times of two months")
	if days, _ := json.Marshal(a.at("data", "days", "2027-02-05")); string(days) != `["08:10","10:00"]` {
		t.Errorf("times %s", days)
	}
	w.s.get(range2).want(http.StatusOK)
	a = w.s.get("/availability?service_id=4&agent_id=5&date=2027-02-05&explain=1").want(http.StatusOK)
	asks(0, "the same times, and those of a day of them")
	unavailable, _ := a.at("data", "explain", "unavailable").([]any)
	if !slices.ContainsFunc(unavailable, func(u any) bool {
		start := u.(map[string]any)
		return start["start_time"] == "10:30" && start["reason"] == "extension" && start["extension"] == "House Rules"
	}) {
		t.Errorf("explained: %v", unavailable)
	}

	w.s.write(http.MethodPost, "/bookings", friday("start_time", `"09:00"`)).want(http.StatusConflict)
	asks(1, "a booking at a time that is not offered")
	refused := w.s.write(http.MethodPost, "/bookings", friday("start_time", `"08:10"`)).want(http.StatusUnprocessableEntity)
	if !strings.Contains(string(refused.body), `"extension":"House Rules: Not before nine."`) {
		t.Errorf("refused: %s", refused.body)
	}
	asks(1, "a booking that is refused")
	w.s.write(http.MethodPost, "/holds", friday("customer_id", "", "start_time", `"09:00"`)).want(http.StatusConflict)
	asks(1, "a hold")
	w.s.write(http.MethodPost, "/bookings?dry_run=1", friday()).want(http.StatusOK)
	asks(1, "a dry run")
	made := w.s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	asks(1, "a booking")
	if price := made.at("data", "price"); price != "19.0000" && price != 19.0 && price != "19.00" {
		t.Errorf("price %v", price)
	}
	var amounts string
	w.s.database.Scan(t, "SELECT CONCAT_WS(' ', subtotal, tax_total, total, price_breakdown) FROM wp_latepoint_orders ORDER BY id DESC LIMIT 1", &amounts)
	wantEqual(t, `20.0000 1.5000 21.5000 {"before_subtotal":[],"said":"by \/ it"}`, amounts, "the order")

	w.away.Store(true)
	away := w.s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-08"`)).want(http.StatusServiceUnavailable)
	if away.at("data", "written") != false || !strings.Contains(string(away.body), "House Rules") {
		t.Errorf("without WordPress: %s", away.body)
	}
	admin := newAdmin()
	admin.Started(w.s.platform)
	if got := reportLine(t, admin, monitor.ExtensionsUnanswered); !strings.HasPrefix(got, "minor WordPress does not answer what extensions decide. See") {
		t.Errorf("reported: %s", got)
	}
	w.s.platform.Asker.Serve = true
	served := w.s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-08"`)).want(http.StatusCreated)
	wantEqual(t, `199 bookside "WordPress does not answer: this is without House Rules"`, served.header.Get("Warning"), "Warning")
	w.s.get("/availability?service_id=4&agent_id=5&date=2027-06-07").want(http.StatusOK)
	w.requests.Store(0)

	w.s.database.Execute(t, reported("0"), "UPDATE wp_bookside_extensions SET plugins = '[]'")
	wantEqual(t, "", reportLine(t, admin, monitor.ExtensionsUnanswered), "the report without anything that decides")
	w.s.write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-09"`)).want(http.StatusCreated)
	w.s.get("/availability?service_id=4&agent_id=5&date=2027-02-10").want(http.StatusOK)
	asks(0, "a site on which nothing listens")
}

// TestChosenAgentIsTakenMeanwhile: WordPress chooses for two bookings at a time while neither is stored. The one that finds its agent
// taken gets another; it is refused if WordPress insists.
func TestChosenAgentIsTakenMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path     string
		body     string
		chosen   []int // agents, in turn
		status   int
		requests int
	}{
		"a booking":           {"/bookings", friday("service_id", "1", "agent_id", `"any"`), []int{1, 2}, http.StatusCreated, 2},
		"a dry run":           {"/bookings?dry_run=1", friday("service_id", "1", "agent_id", `"any"`), []int{1, 2}, http.StatusOK, 2},
		"a hold":              {"/holds", friday("service_id", "1", "agent_id", `"any"`, "customer_id", ""), []int{1, 2}, http.StatusCreated, 2},
		"WordPress insists":   {"/bookings", friday("service_id", "1", "agent_id", `"any"`), []int{1, 1}, http.StatusConflict, 2},
		"an agent was chosen": {"/bookings", friday("service_id", "1", "agent_id", "1"), []int{1, 1}, http.StatusConflict, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithFewBookings())
			requests := 0
			s.asks(t, func(string, json.RawMessage) (int, any) {
				requests++
				if requests == 1 { // the other booking is stored
					s.database.Execute(t, `INSERT INTO wp_latepoint_bookings (booking_code, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
						VALUES ('OTHER', 1, 1, 1, 'approved', '2027-02-05', 600, '2027-02-05', 660, 0, 0, 1)`)
				}
				resources := []any{}
				for _, agent := range []int{1, 2} {
					resources = append(resources, map[string]any{"agent": agent, "location": 1, "days": map[string][][]int{"2027-02-05": {{600, 1}}}})
				}
				return http.StatusOK, map[string]any{
					"times":    []any{map[string]any{"duration": 60, "resources": resources}},
					"bookings": []any{map[string]any{"available": true, "agent_id": c.chosen[min(requests, len(c.chosen))-1], "location_id": 1, "price": map[string]string{"total": "1.0000", "breakdown": "{}"}}},
				}
			})
			a := s.write(http.MethodPost, c.path, c.body).want(c.status)
			if got := regexp.MustCompile(`"(?:agent_id":|agent":\{"id":"?)(\d+)`).FindSubmatch(a.body); c.status < http.StatusMultipleChoices && (got == nil || string(got[1]) != "2") {
				t.Errorf("agent: %s", a.body)
			}
			wantEqual(t, c.requests, requests, "questions")
		})
	}
}
