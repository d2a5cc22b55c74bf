package handlers_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/companiontest"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestSiteTellsExtensions: any key may know what is active, and which parts of it are not honoured.
func TestSiteTellsExtensions(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	expect.Equal[any](t, []any{}, s.Get("/site").Want(http.StatusOK).At("data", "extensions"), "a plain site")
	s.Database.Execute(t, apitest.Setting("active_addons", `["latepoint-qr-code","latepoint-zoom"]`), apitest.Setting("enable_zoom", "on"),
		"INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-zoom_addon_db_version', '1.0.1')")
	a := s.Get("/site").Want(http.StatusOK)
	for path, want := range map[string]any{"id": "latepoint-zoom", "title": "Zoom", "version": "1.0.1", "kind": "not_honoured"} {
		expect.Equal(t, want, a.At("data", "extensions", 0, path), path)
	}
	if subject, means := a.At("data", "extensions", 0, "parts", 0, "subject"), a.At("data", "extensions", 0, "parts", 0, "means"); subject != "reactions" || !strings.HasSuffix(means.(string), ".") {
		t.Errorf("%v: %v", subject, means)
	}
	expect.Equal(t, "takes_no_part", a.At("data", "extensions", 1, "kind"), "the second")
	tag := a.Header.Get("ETag")
	s.Database.Execute(t, "UPDATE wp_latepoint_settings SET value = 'off' WHERE name = 'enable_zoom'")
	if got := s.Get("/site").Want(http.StatusOK).Header.Get("ETag"); tag == "" || got == tag {
		t.Errorf("tags %q, %q", tag, got)
	}
}

// TestExtensionsThatDecideCanBeRefused: if the owner wants it, writes are refused that an extension would
// decide about but that is not honoured.
func TestExtensionsThatDecideCanBeRefused(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Platform.Config.RefuseIgnored = true
	deciding, reacting := apitest.Setting("active_addons", `["latepoint-unknown","latepoint-zoom"]`), apitest.Setting("active_addons", `["latepoint-zoom"]`)
	s.Database.Execute(t, apitest.Setting("enable_zoom", "on"))
	before := s.Database.Snapshot(t)
	s.Write(http.MethodPost, "/bookings?dry_run=1", apitest.Friday()).Want(http.StatusOK)
	s.Database.Execute(t, reacting)
	s.Write(http.MethodPost, "/bookings?dry_run=1", apitest.Friday()).Want(http.StatusOK)

	before.Restore(t)
	s.Database.Execute(t, deciding)
	written := s.Database.Snapshot(t)
	for _, w := range []struct{ method, path, body string }{
		{http.MethodPost, "/bookings", apitest.Friday()},
		{http.MethodPost, "/bookings?dry_run=1", apitest.Friday()},
		{http.MethodPost, "/bookings/bulk", "[" + apitest.Friday() + "]"},
		{http.MethodPut, "/bookings/53", `{"total_attendees":2}`},
		{http.MethodPut, "/bookings/53", `{"start_time":"11:00"}`},
		{http.MethodPut, "/bookings/53", `{"price":"77.00"}`},
		{http.MethodPost, "/holds", apitest.Friday()},
		{http.MethodPost, "/orders", `{"customer_id":5,"total":10}`},
		{http.MethodPut, "/orders/40", `{"total":"77.00"}`},
		{http.MethodPut, "/orders/40", `{"discount_total":"7.00"}`},
	} {
		a := s.Write(w.method, w.path, w.body)
		if message, _ := a.At("message").(string); a.Status != http.StatusServiceUnavailable || !strings.Contains(message, "latepoint-unknown") || strings.Contains(message, "Zoom") || a.At("data", "written") != false {
			t.Errorf("%s %s: %d %s", w.method, w.path, a.Status, a.Body)
		}
	}
	apitest.WantNoWrites(t, "refused", written)
	s.Get("/bookings").Want(http.StatusOK)
	for _, w := range []struct{ method, path, body string }{ // nothing that an extension would decide
		{http.MethodPut, "/customers/5", `{"notes":"x"}`},
		{http.MethodPut, "/bookings/53", `{"notes":"x"}`},
		{http.MethodPut, "/bookings/53?dry_run=1", `{"customer":{"notes":"x"}}`},
		{http.MethodPut, "/bookings/53", `{"status":"cancelled"}`},
		{http.MethodPut, "/orders/40", `{"status":"open","customer_comment":"x"}`},
	} {
		s.Write(w.method, w.path, w.body).Want(http.StatusOK)
	}
	blocks := s.Write(http.MethodPut, "/bookings/53", `{"status":"approved"}`).Want(http.StatusServiceUnavailable)
	if message, _ := blocks.At("message").(string); !strings.Contains(message, "latepoint-unknown") {
		t.Errorf("a status that blocks: %s", blocks.Body)
	}

	s.Platform.Config.RefuseIgnored = false
	s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
}

// refused fails the test unless a booking is refused because of a field, alone and as a dry run, with a sentence that names
// the extension.
func refused(t *testing.T, s *apitest.Server, title, field, extension string, fields ...string) {
	t.Helper()
	for _, dry := range []string{"true", "false"} {
		a := s.Write(http.MethodPost, "/bookings", apitest.Friday(append(fields[:len(fields):len(fields)], "dry_run", dry)...)).Want(http.StatusUnprocessableEntity)
		if got, _ := a.At("error", "details", field).(string); !strings.Contains(got, extension) {
			t.Errorf("%s, dry run %s: %v", title, dry, a.At("error", "details"))
		}
	}
}

// TestBookingsThatArePaidAtOnce: where customers cannot pay later, an unpaid booking is made only for nothing, or with its price.
func TestBookingsThatArePaidAtOnce(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	const addOn = "latepoint-payments-pay-pal/latepoint-payments-pay-pal.php"
	taken := func(title string, fields ...string) {
		t.Helper()
		a := s.Write(http.MethodPost, "/bookings", apitest.Friday(append(fields, "dry_run", "true")...))
		expect.Equal(t, http.StatusOK, a.Status, fmt.Sprintf("%s: %s", title, a.Body))
	}
	on := apitest.Setting("enable_payment_processor_pay_pal", "on")
	s.Database.Execute(t, on, apitest.Setting("enable_payments_local", "off"), apitest.Setting("enable_payment_processor_stripe_connect", "on"))
	taken("the add-on is not active")
	s.Database.Execute(t, apitest.Activate(apitest.PluginFile, addOn), apitest.Setting("enable_payment_processor_pay_pal", "off"))
	taken("the add-on is switched off")
	s.Database.Execute(t, on, apitest.Setting("enable_payments_local", "on"))
	taken("customers may pay later")
	s.Database.Execute(t, apitest.Setting("enable_payments_local", "off"))
	unpaid := s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusUnprocessableEntity)
	if got, _ := unpaid.At("error", "details", "price").(string); !strings.Contains(got, "latepoint-payments-pay-pal") {
		t.Errorf("paid at once: %s", unpaid.Body)
	}
	tried := s.Write(http.MethodPost, "/bookings", apitest.Friday("dry_run", "true")).Want(http.StatusOK)
	if got := tried.Header.Get("Warning"); !strings.Contains(got, "latepoint-payments-pay-pal") || tried.At("data", "price") == nil {
		t.Errorf("dry run: %q, %s", got, tried.Body)
	}
	bulk := s.Write(http.MethodPost, "/bookings/bulk", "["+apitest.Friday()+"]").Want(http.StatusBadRequest)
	if got, _ := bulk.At("results", "errors", 0, "error").(string); !strings.HasPrefix(got, "price: ") || !strings.Contains(got, "POST /payments") {
		t.Errorf("among others: %s", bulk.Body)
	}
	taken("with its price", "price", "42")
	taken("for nothing by its price", "price", "0")
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET charge_amount = 0 WHERE id = 4", "DELETE FROM wp_latepoint_service_meta WHERE object_id = 4 AND meta_key = 'durations'")
	taken("for nothing")
}

// TestLinkedServices: a service with which others are booked is neither booked nor held.
func TestLinkedServices(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	const linked = "REPLACE INTO wp_latepoint_service_meta (id, object_id, meta_key, meta_value) VALUES (90000, 4, 'linked_services', '%s')"
	s.Database.Execute(t, strings.ReplaceAll(linked, "%s", `["2"]`))
	s.Write(http.MethodPost, "/bookings", apitest.Friday("dry_run", "true")).Want(http.StatusOK)
	s.Database.Execute(t, apitest.Activate(apitest.PluginFile, "latepoint-linked-services/latepoint-linked-services.php"))
	refused(t, s, "linked", "service_id", "Linked Services")
	held := s.Write(http.MethodPost, "/holds", apitest.HoldBody()).Want(http.StatusUnprocessableEntity)
	if got, _ := held.At("error", "details", "service_id").(string); !strings.Contains(got, "Linked Services") {
		t.Errorf("held: %s", held.Body)
	}
	for _, none := range []string{"[]", "", "none"} {
		s.Database.Execute(t, strings.ReplaceAll(linked, "%s", none))
		s.Write(http.MethodPost, "/bookings", apitest.Friday("dry_run", "true")).Want(http.StatusOK)
	}
}

// TestSeriesInOneRequest: Pro Features makes several bookings of a recurrence, so that it is refused there, and unknown elsewhere.
func TestSeriesInOneRequest(t *testing.T) {
	t.Parallel()
	pro, plain := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures()), apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())
	for _, series := range []string{`{"rules":{"repeat_unit":"week"}}`, `"weekly"`, `true`, `3`} {
		refused(t, pro, series, "recurrence", "Pro Features", "recurrence", series)
		plain.Write(http.MethodPost, "/bookings", apitest.Friday("recurrence", series, "dry_run", "true")).Want(http.StatusOK)
	}
	a := pro.Write(http.MethodPost, "/bookings/bulk", "["+apitest.Friday("recurrence", `true`)+"]").Want(http.StatusBadRequest)
	if got, _ := a.At("results", "errors", 0, "error").(string); !strings.Contains(got, "POST /bookings/bulk") {
		t.Errorf("among others: %s", a.Body)
	}
	for _, none := range []string{`null`, `""`, `false`, `[]`, `{}`} {
		pro.Write(http.MethodPost, "/bookings", apitest.Friday("recurrence", none, "dry_run", "true")).Want(http.StatusOK)
	}
}

// standIn replaces the companion: it offers every day from 08:10 to 09:10 and from 10:00 to 11:00, has its
// own price, and refuses bookings at 08:10.
type standIn struct {
	s        *apitest.Server
	requests atomic.Int64
	away     atomic.Bool
}

func (w *standIn) answer(t *testing.T, of json.RawMessage) (status int, says any) {
	t.Helper()
	w.requests.Add(1)
	// WordPress must not be asked while locks are held.
	if _, err := w.s.Database.SQL.ExecContext(t.Context(), "SELECT n FROM wp_bookside_locks FOR UPDATE NOWAIT"); err != nil {
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
	expect.NoError(t, json.Unmarshal(of, &question))
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
	t.Parallel()
	w := &standIn{s: apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())}
	asks(t, w.s, func(_ string, of json.RawMessage) (int, any) { return w.answer(t, of) })
	return w
}

// asks makes the server ask a stand-in for the companion about times, prices and acceptance.
func asks(t *testing.T, s *apitest.Server, answer func(action string, of json.RawMessage) (status int, says any)) {
	t.Helper()
	s.Platform.Asker = extensions.NewAsker(companiontest.New(t, s.Platform.DB, s.Platform.Now, answer), s.Platform.Now)
	s.Database.Execute(t, apitest.Activate(apitest.PluginFile, "rules/rules.php"), reported("3"),
		`REPLACE INTO wp_bookside_extensions (id, reported_at, plugins) VALUES (1, '2026-11-01', '[{"plugin":"rules","title":"House Rules","listeners":[{"hook":"latepoint_get_resources_grouped_by_day","callback":"a","priority":10},
			{"hook":"latepoint_cart_calculate_prices","callback":"b","priority":10},{"hook":"latepoint_model_validate","callback":"c","priority":10}]}]')`)
}

// reported returns the statement by which the companion reports the number of listeners, and that it is there.
func reported(listeners string) string {
	return "REPLACE INTO wp_options (option_name, option_value) VALUES ('bookside_companion_extensions', '0123456789abcdef 1796000000 " + listeners + "'), ('bookside_companion_seen', '" + seen(0) + "')"
}

// seen is what the companion noted when WordPress last loaded it, so long ago.
func seen(ago time.Duration) string { return fmt.Sprint("0.2.0 ", apitest.Now.Add(-ago).Unix()) }

// TestExtensionsAreAsked: decisions of an extension are answered as by WordPress.
func TestExtensionsAreAsked(t *testing.T) {
	w := newAskingServer(t)
	asks := func(n int64, what string) {
		t.Helper()
		expect.Equal(t, n, w.requests.Swap(0), fmt.Sprintf("%s: requests to WordPress", what))
	}
	expect.Equal(t, "asked", w.s.Get("/site").Want(http.StatusOK).At("data", "extensions", 0, "kind"), "kind")
	const range2 = "/availability?service_id=4&agent_id=5&date=2027-02-05&date_to=2027-03-05"
	asks(0, "the list of extensions")
	a := w.s.Get(range2).Want(http.StatusOK)
	apitest.WantContains(t, ", wordpress;dur=", a.Header.Get("Server-Timing"), "Server-Timing")
	asks(1, "times of two months")
	expect.Equal(t, "[08:10 10:00]", fmt.Sprint(a.At("data", "days", "2027-02-05")), "times")
	w.s.Get(range2).Want(http.StatusOK)
	a = w.s.Get("/availability?service_id=4&agent_id=5&date=2027-02-05&explain=1").Want(http.StatusOK)
	asks(0, "the same times, and those of a day of them")
	unavailable, _ := a.At("data", "explain", "unavailable").([]any)
	if !slices.ContainsFunc(unavailable, func(u any) bool {
		start := u.(map[string]any)
		return start["start_time"] == "10:30" && start["reason"] == "extension" && start["extension"] == "House Rules"
	}) {
		t.Errorf("explained: %v", unavailable)
	}

	w.s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"09:00"`)).Want(http.StatusConflict)
	asks(1, "a booking at a time that is not offered")
	refused := w.s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"08:10"`)).Want(http.StatusUnprocessableEntity)
	apitest.WantContains(t, `"extension":"House Rules: Not before nine."`, string(refused.Body), "refused")
	asks(1, "a booking that is refused")
	w.s.Write(http.MethodPost, "/holds", apitest.Friday("customer_id", "", "start_time", `"09:00"`)).Want(http.StatusConflict)
	asks(1, "a hold")
	w.s.Write(http.MethodPost, "/bookings?dry_run=1", apitest.Friday()).Want(http.StatusOK)
	asks(1, "a dry run")
	made := w.s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	asks(1, "a booking")
	if price := made.At("data", "price"); price != "19.0000" && price != 19.0 && price != "19.00" {
		t.Errorf("price %v", price)
	}
	var amounts string
	w.s.Database.Scan(t, "SELECT CONCAT_WS(' ', subtotal, tax_total, total, price_breakdown) FROM wp_latepoint_orders ORDER BY id DESC LIMIT 1", &amounts)
	expect.Equal(t, `20.0000 1.5000 21.5000 {"before_subtotal":[],"said":"by \/ it"}`, amounts, "the order")

	w.away.Store(true)
	away := w.s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-08"`)).Want(http.StatusServiceUnavailable)
	if away.At("data", "written") != false || !strings.Contains(string(away.Body), "House Rules") {
		t.Errorf("without WordPress: %s", away.Body)
	}
	admin := newAdmin()
	admin.Started(w.s.Platform)
	if got := reportLine(t, admin, monitor.ExtensionsUnanswered); !strings.HasPrefix(got, "minor WordPress does not answer what extensions decide. See") {
		t.Errorf("reported: %s", got)
	}
	w.s.Platform.Asker.Serve = true
	served := w.s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-08"`)).Want(http.StatusCreated)
	expect.Equal(t, `199 bookside "WordPress does not answer: this is without House Rules"`, served.Header.Get("Warning"), "Warning")
	w.s.Get("/availability?service_id=4&agent_id=5&date=2027-06-07").Want(http.StatusOK)
	w.requests.Store(0)

	w.s.Database.Execute(t, reported("0"), "UPDATE wp_bookside_extensions SET plugins = '[]'")
	expect.Equal(t, "", reportLine(t, admin, monitor.ExtensionsUnanswered), "the report without anything that decides")
	w.s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-09"`)).Want(http.StatusCreated)
	w.s.Get("/availability?service_id=4&agent_id=5&date=2027-02-10").Want(http.StatusOK)
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
		"a booking":           {"/bookings", apitest.Friday("service_id", "1", "agent_id", `"any"`), []int{1, 2}, http.StatusCreated, 2},
		"a dry run":           {"/bookings?dry_run=1", apitest.Friday("service_id", "1", "agent_id", `"any"`), []int{1, 2}, http.StatusOK, 2},
		"a hold":              {"/holds", apitest.Friday("service_id", "1", "agent_id", `"any"`, "customer_id", ""), []int{1, 2}, http.StatusCreated, 2},
		"WordPress insists":   {"/bookings", apitest.Friday("service_id", "1", "agent_id", `"any"`), []int{1, 1}, http.StatusConflict, 2},
		"an agent was chosen": {"/bookings", apitest.Friday("service_id", "1", "agent_id", "1"), []int{1, 1}, http.StatusConflict, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
			requests := 0
			asks(t, s, func(string, json.RawMessage) (int, any) {
				requests++
				if requests == 1 { // the other booking is stored
					s.Database.Execute(t, `INSERT INTO wp_latepoint_bookings (booking_code, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
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
			a := s.Write(http.MethodPost, c.path, c.body).Want(c.status)
			if got := regexp.MustCompile(`"(?:agent_id":|agent":\{"id":"?)(\d+)`).FindSubmatch(a.Body); c.status < http.StatusMultipleChoices && (got == nil || string(got[1]) != "2") {
				t.Errorf("agent: %s", a.Body)
			}
			expect.Equal(t, c.requests, requests, "questions")
		})
	}
}

// TestFailedDeletionIsTakenBack: extensions that were told about a deletion that then failed are told about the booking as it is, so
// that they create again what they have deleted.
func TestFailedDeletionIsTakenBack(t *testing.T) {
	t.Parallel()
	told := map[string]int{"failed": 0}
	const meanwhile = "UPDATE wp_latepoint_bookings SET status = 'approved'"
	for name, c := range map[string]struct {
		status int    // of WordPress
		says   any    // by the companion; not signed if it is nil or a header
		then   string // what happens while extensions are told
		want   int
		events []string
	}{
		"it succeeds":                    {http.StatusOK, told, "", http.StatusOK, []string{"booking_deleted|%s|"}},
		"an extension fails":             {http.StatusOK, map[string]any{"failed": 1, "failure": "no calendar"}, "", http.StatusOK, []string{"booking_will_be_deleted|%s|", "booking_deleted|%s|"}},
		"it needs force meanwhile":       {http.StatusOK, told, meanwhile, http.StatusBadRequest, []string{"booking_updated|%s|"}},
		"WordPress breaks off":           {http.StatusInternalServerError, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension exits":             {http.StatusOK, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension redirects":         {http.StatusFound, http.Header{"Location": {"/"}}, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension forbids it":        {http.StatusForbidden, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension dies with a 503":   {http.StatusServiceUnavailable, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"it answers in another form":     {http.StatusOK, []int{1}, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"LatePoint is switched off":      {http.StatusServiceUnavailable, "off", "", http.StatusServiceUnavailable, nil},
		"the companion fails":            {http.StatusInternalServerError, "failed", "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"WordPress is under maintenance": {http.StatusServiceUnavailable, http.Header{"Retry-After": {"600"}}, "", http.StatusServiceUnavailable, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
			requests := 0
			to := companiontest.New(t, s.Platform.DB, s.Platform.Now, func(string, json.RawMessage) (int, any) {
				requests++
				s.Database.Execute(t, c.then)
				return c.status, c.says
			})
			s.Platform.Events = extensions.NewRelay(s.Platform.DB, s.Platform.Now, to, slog.New(slog.DiscardHandler))
			id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("status", `"pending"`)).Want(http.StatusCreated).At("data", "id"))
			s.Database.Execute(t, "INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'booking_updated booking_will_be_deleted booking_deleted'), ('bookside_companion_seen', '"+seen(0)+"')")
			s.Write(http.MethodDelete, "/bookings/"+id, "").Want(c.want)
			expect.Equal(t, 1, requests, "requests that told it")
			var want []string
			for _, e := range c.events {
				want = append(want, fmt.Sprintf(e, id))
			}
			expect.Equal(t, want, apitest.RowsOf(t, s.Database, "SELECT event, record_id, COALESCE(old, '') FROM wp_bookside_events ORDER BY id"), "events")
			failed, err := extensions.TroubledEvents(t.Context(), s.Platform.DB, apitest.Now, apitest.Now.Add(-time.Hour), 10)
			if _, fails := c.says.(map[string]any); err != nil || len(failed) > 0 != fails || fails && (failed[0].Failure != "no calendar" || failed[0].FinishedAt == "" || failed[0].Repeatable()) {
				t.Errorf("failed: %+v, %v", failed, err)
			}
		})
	}
}

// TestDeletionIsToldOnce: of requests that delete a booking at the same time, one tells extensions and deletes it.
func TestDeletionIsToldOnce(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	var told atomic.Int32
	to := companiontest.New(t, s.Platform.DB, s.Platform.Now, func(string, json.RawMessage) (int, any) {
		told.Add(1)
		time.Sleep(200 * time.Millisecond) // while the others arrive
		return http.StatusOK, map[string]int{"failed": 0}
	})
	s.Platform.Events = extensions.NewRelay(s.Platform.DB, s.Platform.Now, to, slog.New(slog.DiscardHandler))
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("status", `"pending"`)).Want(http.StatusCreated).At("data", "id"))
	s.Database.Execute(t, "INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'booking_will_be_deleted booking_deleted'), ('bookside_companion_seen', '"+seen(0)+"')")
	var statuses [4]int
	var wait sync.WaitGroup
	for i := range statuses {
		wait.Go(func() { statuses[i] = s.Write(http.MethodDelete, "/bookings/"+id, "").Status })
	}
	wait.Wait()
	slices.Sort(statuses[:])
	if want := [4]int{http.StatusOK, http.StatusNotFound, http.StatusNotFound, http.StatusNotFound}; statuses != want || told.Load() != 1 {
		t.Errorf("answers %v, told %d times", statuses, told.Load())
	}
}

// TestTheCompanionIsGone: what the companion reported counts no longer once it was removed, or was not seen for three days: WordPress is
// neither asked nor told, bookings are deleted nevertheless, and the site says what is not honoured.
func TestTheCompanionIsGone(t *testing.T) {
	t.Parallel()
	const option = " WHERE option_name = 'bookside_companion_seen'"
	for name, c := range map[string]struct {
		then string
		gone bool
	}{
		"it was seen lately": {"UPDATE wp_options SET option_value = '" + seen(2*24*time.Hour) + "'" + option, false},
		"it was removed":     {"UPDATE wp_options SET option_value = ''" + option, true},
		"it is silent":       {"UPDATE wp_options SET option_value = '" + seen(4*24*time.Hour) + "'" + option, true},
		"it was uninstalled": {"DELETE FROM wp_options" + option, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
			var requests atomic.Int64
			away := func(string, json.RawMessage) (int, any) { requests.Add(1); return http.StatusServiceUnavailable, nil }
			asks(t, s, away)
			s.Platform.Events = extensions.NewRelay(s.Platform.DB, s.Platform.Now, companiontest.New(t, s.Platform.DB, s.Platform.Now, away), slog.New(slog.DiscardHandler))
			s.Database.Execute(t, c.then, "INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'booking_updated booking_will_be_deleted')",
				`UPDATE wp_bookside_extensions SET plugins = '[{"plugin":"rules","title":"House Rules","listeners":[{"hook":"latepoint_booking_updated","callback":"a","priority":10},
					{"hook":"latepoint_get_resources_grouped_by_day","callback":"b","priority":10}]}]'`)
			kinds, answer, kept := []any{"asked", "run_afterwards"}, http.StatusServiceUnavailable, []string{"booking_updated"}
			if c.gone {
				kinds, answer, kept = []any{"not_honoured", "not_honoured"}, http.StatusOK, nil
			}
			site := s.Get("/site").Want(http.StatusOK)
			expect.Equal(t, kinds, []any{site.At("data", "extensions", 0, "parts", 0, "kind"), site.At("data", "extensions", 0, "parts", 1, "kind")}, "kinds")
			s.Get("/availability?service_id=4&agent_id=5&date=2027-02-05").Want(answer)
			s.Write(http.MethodPut, "/bookings/53", `{"customer_comment":"late"}`).Want(http.StatusOK)
			s.Write(http.MethodDelete, "/bookings/53?force=true", "").Want(answer)
			if c.gone == (requests.Load() > 0) {
				t.Errorf("%d requests to WordPress", requests.Load())
			}
			expect.Equal(t, kept, apitest.RowsOf(t, s.Database, "SELECT event FROM wp_bookside_events ORDER BY id"), "events")
		})
	}
}
