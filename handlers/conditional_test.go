package handlers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// tagOfBody returns the tag that a response with a body must have.
func tagOfBody(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// TestEveryReadHasATag: the response of every GET, except that of the current time, has a tag of its body,
// and is not sent again to a client that names the tag.
func TestEveryReadHasATag(t *testing.T) {
	fixtures.SkipUnderRace(t)
	p := newEveryOperation(t)
	p.valid["listFreeAgents"] = apitest.Request{Path: "/agents/availability", Query: "service_id=4"}
	p.each(t, http.MethodGet, func(t *testing.T, p *everyOperation, id string, r apitest.Request) {
		a := p.send(r).Want(http.StatusOK)
		tag := a.Header.Get("ETag")
		if id == "status" {
			if tag != "" || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("ETag %q, Cache-Control %q", tag, a.Header.Get("Cache-Control"))
			}
			return
		}
		if tag != tagOfBody(a.Body) || a.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("ETag %q, Cache-Control %q", tag, a.Header.Get("Cache-Control"))
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r.Method = method
			for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, `W/"a,b",W/` + tag, strings.Trim(tag, `"`), strings.TrimSuffix(tag, `"`) + `-gzip"`, "*"} {
				r.Header = http.Header{"If-None-Match": {sent}}
				same := p.send(r)
				if same.Status != http.StatusNotModified || len(same.Body) > 0 || same.Header.Get("ETag") != tag ||
					same.Header.Get("Cache-Control") != "private, no-cache" || same.Header.Get("X-Request-Id") == "" || same.Header.Get("Content-Type") != "" {
					t.Errorf("%s, If-None-Match %s: %d %v %s", method, sent, same.Status, same.Header, same.Body)
				}
			}
			for _, sent := range []string{"", `""`, `"other"`, `"*"`, `"other,` + strings.Trim(tag, `"`) + `"`, strings.ToUpper(tag), tag[:20] + `"`} {
				r.Header = http.Header{"If-None-Match": {sent}}
				if again := p.send(r); again.Status != http.StatusOK || again.Header.Get("ETag") != tag || string(again.Body) != string(a.Body) {
					t.Errorf("%s, If-None-Match %s: %d %s", method, sent, again.Status, again.Body)
				}
			}
		}
	})
}

// TestNotModifiedAnswersAreLimitedAndExposed: a response without a body costs a request like any other, and
// has the same headers for pages of other origins.
func TestNotModifiedAnswersAreLimitedAndExposed(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) {
		o.RateLimit.Enabled, o.AllowedOrigins = true, []string{"https://app.example"}
	})
	const path = "/v1/agents/1"
	header := http.Header{"X-Api-Key": {s.Key}, "Origin": {"https://app.example"}}
	first := s.Do(http.MethodGet, path, header).Want(http.StatusOK)
	header.Set("If-None-Match", first.Header.Get("ETag"))
	same := s.Do(http.MethodGet, path, header).Want(http.StatusNotModified)
	if before, after := first.Header.Get("X-RateLimit-Remaining"), same.Header.Get("X-RateLimit-Remaining"); before != "59" || after != "58" {
		t.Errorf("%s requests left, then %s", before, after)
	}
	for name := range first.Header {
		if name != "Content-Type" && len(same.Header.Values(name)) == 0 {
			t.Errorf("304 lacks %s", name)
		}
	}
	if exposed := strings.Split(same.Header.Get("Access-Control-Expose-Headers"), ","); !slices.Contains(exposed, "ETag") {
		t.Errorf("exposed: %v", exposed)
	}
	preflight := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, path, nil)
	preflight.Header.Set("Origin", "https://app.example")
	preflight.Header.Set("Access-Control-Request-Method", http.MethodPut)
	apitest.WantContains(t, ",If-None-Match,", ","+s.Serve(preflight).Header.Get("Access-Control-Allow-Headers")+",", "Access-Control-Allow-Headers")
}

// TestErrorsHaveNoTag: an error is never stored, and no condition changes it.
func TestErrorsHaveNoTag(t *testing.T) {
	s := apitest.Small(t)
	for path, status := range map[string]int{
		"/v1/bookings/8000000": http.StatusNotFound, "/v1/bookings?page=0": http.StatusBadRequest, "/v1/nothing": http.StatusNotFound,
	} {
		a := s.Do(http.MethodGet, path, http.Header{"X-Api-Key": {s.Key}, "If-None-Match": {"*"}}).Want(status)
		if a.Header.Get("ETag") != "" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: ETag %q, Cache-Control %q", path, a.Header.Get("ETag"), a.Header.Get("Cache-Control"))
		}
	}
}

// TestTagsFollowTheContent: a change by plain SQL changes the tag, and so does anything that a key may not
// see.
func TestTagsFollowTheContent(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	all, also, some := s.NewKey("read"), s.NewKey("read", "write_bookings"), s.NewKey("read_bookings")
	tag := func(path, key string) string {
		return s.Do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {key}}).Want(http.StatusOK).Header.Get("ETag")
	}
	const path = "/bookings/53"
	if len(s.Get(path).At("data", "transactions").([]any)) == 0 {
		t.Fatal("the booking has no payment to hide")
	}
	first := tag(path, all)
	expect.Equal(t, first, tag(path, also), "the tag of a key that sees the same")
	hidden := tag(path, some)
	if hidden == first {
		t.Error("a key that does not see the payments gets the same tag")
	}
	s.Do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {some}, "If-None-Match": {first}}).Want(http.StatusOK)
	listPath := fmt.Sprint("/bookings?per_page=100&customer_id=", s.Get(path).At("data", "customer", "id"))
	list := tag(listPath, all)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET total_attendees = total_attendees + 1 WHERE id = 53")
	for what, tags := range map[string][2]string{"booking": {first, tag(path, all)}, "guarded booking": {hidden, tag(path, some)}, "list": {list, tag(listPath, all)}} {
		if tags[0] == tags[1] {
			t.Errorf("%s: the tag is the same after a change", what)
		}
	}
}

// TestSharedReadsHaveTheTagOfTheirBody: requests that share one execution are each answered by their own
// condition.
func TestSharedReadsHaveTheTagOfTheirBody(t *testing.T) {
	s := apitest.Small(t)
	const path = "/v1/bookings?per_page=100"
	first := s.Do(http.MethodGet, path, http.Header{"X-Api-Key": {s.Key}}).Want(http.StatusOK)
	tag := first.Header.Get("ETag")
	var readers sync.WaitGroup
	for i := range 16 {
		readers.Go(func() {
			for range 10 {
				header := http.Header{"X-Api-Key": {s.Key}}
				want := http.StatusOK
				if i%2 == 0 {
					header.Set("If-None-Match", tag)
					want = http.StatusNotModified
				}
				a := s.Do(http.MethodGet, path, header)
				if a.Status != want || a.Header.Get("ETag") != tag || want == http.StatusOK && string(a.Body) != string(first.Body) {
					t.Errorf("%d, want %d: ETag %s", a.Status, want, a.Header.Get("ETag"))
				}
			}
		})
	}
	readers.Wait()
}

// changedByPHP are statements that change what a GET shows of a record, by the part of its path before its id, which
// each takes.
var changedByPHP = map[string]string{
	"webhooks":  "UPDATE wp_bookside_webhooks SET name = CONCAT(name, 'x') WHERE id = %s",
	"holds":     "UPDATE wp_bookside_holds SET total_attendees = total_attendees + 1 WHERE id = %s",
	"time-off":  "UPDATE wp_latepoint_work_periods SET custom_date = custom_date + INTERVAL 1 DAY WHERE chain_id = (SELECT * FROM (SELECT chain_id FROM wp_latepoint_work_periods WHERE id = %s DIV 2) AS c)",
	"bookings":  "UPDATE wp_latepoint_bookings SET total_attendees = total_attendees + 1 WHERE id = %s",
	"customers": "UPDATE wp_latepoint_customers SET notes = CONCAT(COALESCE(notes, ''), 'x') WHERE id = %s",
	"services":  "UPDATE wp_latepoint_services SET charge_amount = COALESCE(charge_amount, 0) + 1 WHERE id = %s",
	"payments":  "UPDATE wp_latepoint_transactions SET notes = CONCAT(COALESCE(notes, ''), 'x') WHERE id = %s",
	"orders":    "UPDATE wp_latepoint_orders SET customer_comment = CONCAT(COALESCE(customer_comment, ''), 'x') WHERE id = %s",
	"invoices":  "UPDATE wp_latepoint_order_invoices SET charge_amount = charge_amount + 1 WHERE id = %s",
	"coupons":   "UPDATE wp_latepoint_coupons SET name = CONCAT(COALESCE(name, ''), 'x') WHERE code = '%s'",
}

// statementOfPHP returns a statement that changes the record of a path.
func statementOfPHP(t testing.TB, path string) string {
	t.Helper()
	parts := strings.Split(path, "/")
	if path == "/business-hours" {
		return "UPDATE wp_latepoint_work_periods SET end_time = end_time - 5 WHERE agent_id = 0 AND service_id = 0 AND location_id = 0 AND week_day = 2 AND custom_date IS NULL"
	}
	statement, ok := changedByPHP[parts[len(parts)-2]]
	if !ok {
		t.Fatalf("no statement that changes %s", path)
	}
	return fmt.Sprintf(statement, parts[len(parts)-1])
}

// changeByPHP changes the record of a path as PHP would, without a transaction.
func changeByPHP(t testing.TB, s *apitest.Server, path string) {
	t.Helper()
	s.Database.Execute(t, statementOfPHP(t, path))
}

// TestEveryRecordThatIsWrittenCanBeRead: each PUT and DELETE has a GET of the same path, whose
// tag it is compared with.
func TestEveryRecordThatIsWrittenCanBeRead(t *testing.T) {
	t.Parallel()
	for _, r := range handlers.Routes() {
		if r.Method != http.MethodGet && r.Method != http.MethodPost && !slices.ContainsFunc(handlers.Routes(), func(get handlers.RouteInfo) bool {
			return get.Method == http.MethodGet && get.Path == r.Path
		}) {
			t.Errorf("%s %s changes a record that no GET of this path shows", r.Method, r.Path)
		}
	}
}

// TestEveryWriteComparesTheTag: a PUT or DELETE with an outdated tag writes nothing, whoever changed the
// record; with the present tag it succeeds.
func TestEveryWriteComparesTheTag(t *testing.T) {
	fixtures.SkipUnderRace(t)
	p := newEveryOperation(t)
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		p.each(t, method, func(t *testing.T, p *everyOperation, _ string, r apitest.Request) {
			read := func() apitest.Answer {
				return p.send(apitest.Request{Method: http.MethodGet, Path: r.Path, Header: http.Header{}}).Want(http.StatusOK)
			}
			first := read().Header.Get("ETag")
			changeByPHP(t, p.server, r.Path)
			now := read()
			before := p.server.Database.Snapshot(t)
			present := strings.Trim(now.Header.Get("ETag"), `"`)
			for _, sent := range []string{first, "W/" + first, `"other", ` + first, "", `""`, `"*"`, strings.ToUpper(now.Header.Get("ETag")), present[:20]} {
				r.Header = http.Header{"If-Match": {sent}}
				a := p.send(r)
				apitest.WantCode(t, a, http.StatusPreconditionFailed, "precondition_failed")
				if a.Header.Get("ETag") != "" || a.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("ETag %q, Cache-Control %q", a.Header.Get("ETag"), a.Header.Get("Cache-Control"))
				}
			}
			apitest.WantNoWrites(t, r.Path, before)
			r.Header = http.Header{"If-Match": {`"other"`, `W/"` + present + `-gzip"`}}
			if a := p.send(r); a.Status != http.StatusOK || a.Header.Get("ETag") != "" {
				t.Errorf("with the present tag: %d %s, ETag %q", a.Status, a.Body, a.Header.Get("ETag"))
			}
			if method == http.MethodPut && read().Header.Get("ETag") == now.Header.Get("ETag") {
				t.Error("the tag is the same after a write")
			}
			missing := r
			missing.Path = r.Path[:strings.LastIndex(r.Path, "/")] + "/8000000"
			for _, sent := range []string{first, "*"} {
				missing.Header = http.Header{"If-Match": {sent}}
				p.send(missing).Want(http.StatusNotFound)
			}
		})
	}
}

// TestConditionalWritesCanBeRepeated: with an Idempotency-Key, a repeated PUT or DELETE gets the same
// response as the first, although the tag has changed by then or the record is gone.
func TestConditionalWritesCanBeRepeated(t *testing.T) {
	p := newEveryOperation(t)
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		p.each(t, method, func(t *testing.T, p *everyOperation, _ string, r apitest.Request) {
			if strings.HasPrefix(r.Path, "/webhooks/") {
				return // responses about webhooks may have secrets and are not stored
			}
			tag := p.send(apitest.Request{Method: http.MethodGet, Path: r.Path, Header: http.Header{}}).Want(http.StatusOK).Header.Get("ETag")
			r.Header = http.Header{"If-Match": {`"outdated"`}, "Idempotency-Key": {t.Name()}}
			p.send(r).Want(http.StatusPreconditionFailed)
			r.Header.Set("If-Match", tag)
			first := p.send(r).Want(http.StatusOK)
			before := p.server.Database.Snapshot(t)
			p.send(r).WantReplayOf(t, first)
			apitest.WantNoWrites(t, "a repetition", before)
			r.Header.Del("Idempotency-Key")
			if again := p.send(r); again.Status != http.StatusPreconditionFailed && again.Status != http.StatusNotFound {
				t.Errorf("without the key: %d %s", again.Status, again.Body)
			}
		})
	}
}

// TestEveryCreationCanBeRepeated: with an Idempotency-Key, a repeated POST gets the same response as the first and writes nothing.
func TestEveryCreationCanBeRepeated(t *testing.T) {
	newEveryOperation(t).each(t, http.MethodPost, func(t *testing.T, p *everyOperation, _ string, r apitest.Request) {
		if strings.HasPrefix(r.Path, "/webhooks") {
			return // responses about webhooks may have secrets and are not stored
		}
		r.Header = http.Header{"Idempotency-Key": {""}}
		p.send(r).Want(http.StatusBadRequest)
		r.Header = http.Header{"Idempotency-Key": {t.Name()}}
		first := p.send(r)
		if first.Status >= http.StatusBadRequest {
			t.Fatalf("%d %s", first.Status, first.Body)
		}
		before := p.server.Database.Snapshot(t)
		p.send(r).WantReplayOf(t, first)
		r.Query = "reason=another" // a field of moves
		if !strings.HasPrefix(r.Path, "/bookings/") || strings.HasSuffix(r.Path, "/bulk") {
			r.Query, r.Body = "", strings.Replace(r.Body, "{", `{"location_id":2,`, 1)
		}
		apitest.WantCode(t, p.send(r), http.StatusUnprocessableEntity, "idempotency_key_reused")
		apitest.WantNoWrites(t, "a repetition", before)
	})
}

// TestUnconditionalWritesNeedNoName: a PUT without a condition does the same when repeated, and its
// Idempotency-Key is ignored, as before conditions existed.
func TestUnconditionalWritesNeedNoName(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	for _, notes := range []string{"one", "two"} {
		a := s.Write(http.MethodPut, "/bookings/7", `{"notes":"`+notes+`"}`, "Idempotency-Key", "a").Want(http.StatusOK)
		if a.Header.Get("Idempotent-Replayed") != "" || a.At("data", "notes") != notes {
			t.Errorf("%s: %s", notes, a.Body)
		}
	}
	s.Write(http.MethodPut, "/bookings/7", `{}`, "Idempotency-Key", "", "If-Match", "*").Want(http.StatusBadRequest)
	expect.Equal(t, 0, s.Count("bookside_idempotency", "1 = 1"), "stored answers")
}

// TestAnyTagMatchesARecordThatExists: * requires only that, and no permission to read. A tag does require
// it.
func TestAnyTagMatchesARecordThatExists(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	writer := s.NewKey("write_bookings")
	put := func(key, tag, notes string) apitest.Answer {
		header := http.Header{"X-Api-Key": {key}, "Content-Type": {apitest.JSONType}, "If-Match": {tag}}
		return s.Send(http.MethodPut, "/v1/bookings/7", header, `{"notes":"`+notes+`"}`)
	}
	put(writer, "*", "one").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
	a := put(writer, s.Get("/bookings/7").Header.Get("ETag"), "two").Want(http.StatusForbidden)
	expect.Equal(t, "read_bookings", a.At("error", "details", "required_permission"), "the permission needed")
	apitest.WantNoWrites(t, "without the permission to read", before)
}

// TestTagsBelongToWhatAKeySees: a key compares, and is shown, what it sees itself.
func TestTagsBelongToWhatAKeySees(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	const path = "/v1/bookings/53"
	some := s.NewKey("read_bookings", "write_bookings")
	put := func(key, tag string) apitest.Answer {
		return s.Send(http.MethodPut, path, http.Header{"X-Api-Key": {key}, "Content-Type": {apitest.JSONType}, "If-Match": {tag}}, `{"notes":"new"}`)
	}
	all := s.Get("/bookings/53").Want(http.StatusOK)
	own := s.Do(http.MethodGet, path, http.Header{"X-Api-Key": {some}}).Want(http.StatusOK)
	if len(all.At("data", "transactions").([]any)) == 0 {
		t.Fatal("the booking has no payment to hide")
	}
	a := put(some, all.Header.Get("ETag")).Want(http.StatusPreconditionFailed)
	if shown := a.At("error", "details", "record", "transactions").([]any); len(shown) > 0 {
		t.Errorf("payments are shown: %v", shown)
	}
	expect.Equal[any](t, own.Header.Get("ETag"), a.At("error", "details", "etag"), "etag")
	put(some, own.Header.Get("ETag")).Want(http.StatusOK)
}

// TestConditionsAreAboutTheSameURL: the tag of a GET with include is compared with a PUT with the same
// include.
func TestConditionsAreAboutTheSameURL(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	const path, asked = "/services/4", "/services/4?include=agents"
	tag := s.Get(asked).Want(http.StatusOK).Header.Get("ETag")
	s.Write(http.MethodPut, path, `{"short_description":"new"}`, "If-Match", tag).Want(http.StatusPreconditionFailed)
	s.Write(http.MethodPut, asked, `{"short_description":"new"}`, "If-Match", tag).Want(http.StatusOK)
	customer := s.NewKey("read_customers", "write_customers")
	header := http.Header{"X-Api-Key": {customer}, "Content-Type": {apitest.JSONType}, "If-Match": {tag}}
	a := s.Send(http.MethodPut, "/v1/customers/9?include=bookings", header, `{"notes":"new"}`).Want(http.StatusForbidden)
	expect.Equal(t, "read_bookings", a.At("error", "details", "required_permission"), "the permission needed")
}

// TestConditionsComeBeforeTheBody: a client with an outdated state is told so, instead of what is wrong
// with its change.
func TestConditionsComeBeforeTheBody(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved' WHERE id = 7")
	tag := s.Get("/bookings/7").Want(http.StatusOK).Header.Get("ETag")
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE id = 7")
	s.Write(http.MethodPut, "/bookings/7", `{"status":"completed"}`).Want(http.StatusUnprocessableEntity)
	s.Write(http.MethodPut, "/bookings/7", `{"status":"completed"}`, "If-Match", tag).Want(http.StatusPreconditionFailed)
	s.Write(http.MethodPut, "/bookings/7", `{"status":`, "If-Match", tag).Want(http.StatusBadRequest)
}

// TestMethodOverridesAreConditional: a POST that stands for PUT has PUT's conditions; one that creates a
// record has none.
func TestMethodOverridesAreConditional(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Write(http.MethodPost, "/services/4", `{"short_description":"new"}`, "X-HTTP-Method-Override", "PUT", "If-Match", `"other"`).Want(http.StatusPreconditionFailed)
	s.Write(http.MethodPost, "/services", `{"name":"new"}`, "If-Match", `"other"`).Want(http.StatusCreated)
}

// TestOneOfManyConditionalWritesWins: of several clients on two servers that change a record with the same
// tag, one succeeds.
func TestOneOfManyConditionalWritesWins(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	servers := []*apitest.Server{apitest.NewServer(t, database), apitest.NewServer(t, database)}
	servers[0].Write(http.MethodPost, "/coupons", `{"code":"RACE","discount_type":"percent","discount_value":5}`).Want(http.StatusCreated)
	servers[0].Write(http.MethodPost, "/webhooks", `{"url":"https://example.org/","events":["booking.created"]}`).Want(http.StatusCreated)
	for path, body := range map[string]string{
		"/bookings/7":            `{"notes":"%d"}`,
		"/customers/9":           `{"notes":"%d"}`,
		"/services/4":            `{"short_description":"%d"}`,
		"/payments/7":            `{"notes":"%d"}`,
		"/orders/10":             `{"customer_comment":"%d"}`,
		"/orders/10/invoices/10": `{"charge_amount":%d}`,
		"/coupons/RACE":          `{"name":"%d"}`,
	} {
		wantOneWinner(t, servers, path, path+"?force=true", body)
	}
	t.Run("/webhooks/1", func(t *testing.T) { // which one key sees
		wantOneWinner(t, servers[:1], "/webhooks/1", "/webhooks/1", `{"name":"%d","enabled":false}`)
	})
}

// wantOneWinner sends concurrent conditional PUTs to target, with the tag of path. Each body has a
// different number.
func wantOneWinner(t *testing.T, servers []*apitest.Server, path, target, body string) {
	t.Helper()
	tag := servers[0].Get(path).Want(http.StatusOK).Header.Get("ETag")
	statuses := make([]int, 8)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() {
			statuses[i] = servers[i%len(servers)].Write(http.MethodPut, target, fmt.Sprintf(body, 100+i), "If-Match", tag).Status
		})
	}
	all.Wait()
	slices.Sort(statuses)
	if statuses[0] != http.StatusOK || statuses[1] != http.StatusPreconditionFailed || statuses[len(statuses)-1] != http.StatusPreconditionFailed {
		t.Errorf("%s: statuses %v", path, statuses)
	}
}

// TestConditionsSeeWhatPHPWroteInBetween: PHP changes the record after a PUT has begun, just
// before the PUT locks the record.
func TestConditionsSeeWhatPHPWroteInBetween(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	var change func()
	s := tappedServer(t, database, func(shown statement) error {
		if change != nil && strings.HasSuffix(shown.text, "FOR UPDATE") {
			now := change
			change = nil
			now()
		}
		return nil
	})
	s.Write(http.MethodPost, "/coupons", `{"code":"RACE","discount_type":"percent","discount_value":5}`).Want(http.StatusCreated)
	for path, body := range map[string]string{
		"/bookings/7": `{"notes":"new"}`, "/customers/9": `{"notes":"new"}`, "/services/4": `{"short_description":"new"}`, "/payments/7": `{"notes":"new"}`,
		"/orders/10": `{"customer_comment":"new"}`, "/orders/10/invoices/10": `{"status":"void"}`, "/coupons/RACE": `{"name":"new"}`,
	} {
		tag := s.Get(path).Want(http.StatusOK).Header.Get("ETag")
		var after *fixtures.Snapshot
		change = func() {
			changeByPHP(t, s, path)
			after = database.Snapshot(t)
		}
		s.Write(http.MethodPut, path, body, "If-Match", tag).Want(http.StatusPreconditionFailed)
		if after == nil {
			t.Fatalf("%s: no record was locked", path)
		}
		apitest.WantNoWrites(t, path, after)
	}
}

// TestRecordsStayLockedAfterTheComparison: PHP cannot change a record between the comparison of its tag and
// the end of the PUT.
func TestRecordsStayLockedAfterTheComparison(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	apitest.NewServer(t, database).Write(http.MethodPost, "/coupons", `{"code":"RACE","discount_type":"percent","discount_value":5}`).Want(http.StatusCreated)
	for name, c := range map[string]struct{ path, body, changedByPHP string }{
		"booking":           {"/bookings/7", `{"total_attendees":1,"notes":"new"}`, "/bookings/7"},
		"notes of booking":  {"/bookings/53", `{"notes":"new"}`, "/orders/52"},
		"customer":          {"/customers/9", `{"notes":"new"}`, "/customers/9"},
		"service":           {"/services/4", `{"charge_amount":7}`, "/services/4"},
		"payment":           {"/payments/7", `{"notes":"new"}`, "/payments/7"},
		"order":             {"/orders/20", `{"customer_comment":"new"}`, "/orders/20"},
		"invoice":           {"/orders/10/invoices/10", `{"status":"void"}`, "/orders/10/invoices/10"},
		"coupon":            {"/coupons/RACE", `{"name":"new"}`, "/coupons/RACE"},
		"booking to delete": {"/bookings/8?force=true", "", "/bookings/8"},
		"coupon to delete":  {"/coupons/WELCOME10", "", "/coupons/WELCOME10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried := false
			s := tappedServer(t, database, func(shown statement) error {
				if tried || !strings.HasPrefix(shown.text, "UPDATE `wp_latepoint_") && !strings.HasPrefix(shown.text, "DELETE FROM `wp_latepoint_") {
					return nil
				}
				tried = true
				conn, err := database.SQL.Conn(t.Context())
				if err != nil {
					t.Error(err)
					return nil
				}
				defer conn.Close()
				if _, err := conn.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
					t.Error(err)
				}
				_, err = conn.ExecContext(t.Context(), statementOfPHP(t, c.changedByPHP))
				var timeout *mysql.MySQLError
				if !errors.As(err, &timeout) || timeout.Number != 1205 {
					t.Errorf("PHP changed the record after the comparison: %v", err)
				}
				if _, err := conn.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = DEFAULT"); err != nil {
					t.Error(err)
				}
				return nil
			})
			method := http.MethodPut
			if c.body == "" {
				method = http.MethodDelete
			}
			path, _, _ := strings.Cut(c.path, "?")
			tag := s.Get(path).Want(http.StatusOK).Header.Get("ETag")
			s.Write(method, c.path, c.body, "If-Match", tag).Want(http.StatusOK)
			if !tried {
				t.Error("nothing was written")
			}
		})
	}
}

// TestRetriedTransactionsCheckTheConditionAgain: a transaction that runs again after a deadlock compares
// the tag with what the winner wrote.
func TestRetriedTransactionsCheckTheConditionAgain(t *testing.T) {
	t.Parallel()
	const path = "/services/4"
	for name, c := range map[string]struct {
		changed bool // by the winner
		want    int
	}{"the record is the same": {false, http.StatusOK}, "the winner changed the record": {true, http.StatusPreconditionFailed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			var s *apitest.Server
			deadlocks, locked := 0, 0
			s = tappedServer(t, database, func(shown statement) error {
				if strings.HasSuffix(shown.text, "FOR UPDATE") {
					locked++
					if locked == 2 && c.changed {
						changeByPHP(t, s, path)
					}
				}
				if deadlocks == 0 && strings.HasPrefix(shown.text, "UPDATE `wp_latepoint_services`") {
					deadlocks++
					return &mysql.MySQLError{Number: 1213}
				}
				return nil
			})
			tag := s.Get(path).Want(http.StatusOK).Header.Get("ETag")
			s.Write(http.MethodPut, path, `{"short_description":"new"}`, "If-Match", tag).Want(c.want)
			if deadlocks != 1 || locked != 2 {
				t.Errorf("%d deadlocks, %d runs", deadlocks, locked)
			}
		})
	}
}
