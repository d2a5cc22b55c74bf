package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// decidingSite is a site with an extension that decides in every way that LatePoint supports, and a server
// that asks it.
type decidingSite struct {
	*bookingSite
	functions string // statement that loads testdata/decisions.php
	loopback  string // setting
}

func newDecidingSite(t *testing.T) *decidingSite {
	t.Helper()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	b := &bookingSite{WordPress: fixtures.NewWordPressWithPlatform(t, db), t: t, db: db, bookday: "2031-03-03"}
	plugin, err := os.ReadFile("testdata/decides.php")
	expect.NoError(t, err)
	functions, err := filepath.Abs("testdata/decisions.php")
	expect.NoError(t, err)
	writeBelow(t, b.Content, map[string]string{"plugins/decides/decides.php": string(plugin)})
	db.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name IN ('earliest_possible_booking', 'latest_possible_booking')")
	db.Execute(t, "UPDATE wp_latepoint_services SET earliest_possible_booking = NULL, latest_possible_booking = NULL")
	b.Activate(t, "latepoint/latepoint.php", "decides/decides.php")
	installCompanion(t, b.WordPress)
	b.key = newKey(t, settingsFor(db), "--permissions", "read,write")
	wordpress := b.ServeByWorkers(t, 2)
	loopback := "BOOKSIDE_WORDPRESS__LOOPBACK=" + wordpress.URL
	b.s = serveAt(t, append(settingsFor(db, loopback), unlimited...), time.Now)
	if a, err := roundTrip(t.Context(), http.MethodGet, wordpress.URL+"/"); err != nil || a.status >= http.StatusInternalServerError {
		t.Fatalf("a visit: %+v, %v", a, err)
	}
	return &decidingSite{b, "require_once '" + functions + "';", loopback}
}

// each returns the results of a PHP function for each of its arguments.
func each[T any](s *decidingSite, function string, asked [][]any) []T {
	s.t.Helper()
	text, err := json.Marshal(asked)
	expect.NoError(s.t, err)
	return fromPHP[[]T](s.t, s.WordPress, s.functions+"return array_map('"+function+"', json_decode("+phpText(string(text))+"));")
}

// TestCompanionDecidesTimes: the API offers what LatePoint with the extension offers, and explains why not.
func TestCompanionDecidesTimes(t *testing.T) {
	t.Parallel()
	s := newDecidingSite(t)
	offered := sameTimes(t, s.s.url, s.key, rand.New(rand.NewPCG(5, 6)), func(asked string) []map[string][]string {
		return fromPHP[[]map[string][]string](t, s.WordPress, s.functions+"return array_map('test_offers', json_decode("+phpText(asked)+"));")
	})
	early := slices.DeleteFunc(slices.Clone(offered), func(start string) bool { return start != "06:07" })
	if len(offered) < 1000 || len(early) < 100 {
		t.Errorf("%d times are offered, %d of them early: the case proves little", len(offered), len(early))
	}
	_, body := get(t, s.s.url+"/v1/availability?service_id=1&agent_id=1&date="+s.bookday+"&explain=1", s.key)
	expect.Texts(t, body, `{"start_time":"12:00","reason":"extension","message":"An extension of the site does not offer it.","extension":"Decides"}`)
	expect.NoTexts(t, body, `"end_time":"09:30"`)

	verify := []string{"verify", "--days", "2", "--seed", "7"}
	bookings := s.number("SELECT COUNT(*) FROM {p}bookings")
	expect.Texts(t, runAt(t, time.Now, settingsFor(s.db, s.loopback), "", verify...).want(t, exit.OK).stdout, "prices (--seed 7).\nThe API answers as the site does.\n")
	run(t, settingsFor(s.db, "BOOKSIDE_WORDPRESS__LOOPBACK=http://127.0.0.1:1"), "", verify...).want(t, exit.Failure)
	expect.Equal(t, bookings, s.number("SELECT COUNT(*) FROM {p}bookings"), "bookings after the comparison")
}

// TestCompanionDecidesBookings: bookings are written as LatePoint with the extension would write them.
func TestCompanionDecidesBookings(t *testing.T) {
	t.Parallel()
	s := newDecidingSite(t)
	const customer = `"customer":{"first_name":"Ada","last_name":"Neu","email":"ada.neu@example.test"}`
	at := func(agent any, time, more string) string {
		return fmt.Sprintf(`{"service_id":1,"agent_id":%v,"location_id":1,%s,"start_date":%q,"start_time":%q%s}`, agent, customer, s.bookday, time, more)
	}
	post := func(path, body string) (int, string, http.Header) {
		t.Helper()
		response, err := http.DefaultClient.Do(apiRequest(t, http.MethodPost, s.s.url+"/v1"+path, s.key, body))
		expect.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		expect.NoError(t, err)
		return response.StatusCode, string(text), response.Header
	}
	refused := func(path, body string, want int, texts ...string) {
		t.Helper()
		status, text, _ := post(path, body)
		expect.Equal(t, want, status, path, " ", body, ": ", text)
		expect.Texts(t, text, texts...)
	}
	prices := each[[]string](s, "test_price", [][]any{{1, "1", s.bookday, 367}, {1, "7", s.bookday, 600}})
	stored := func(where string) []string {
		t.Helper()
		return strings.Split(s.text("SELECT CONCAT_WS('|', b.agent_id, b.start_time, b.end_time, i.subtotal, i.total, o.subtotal, o.tax_total, o.coupon_discount, o.total, o.price_breakdown) FROM {p}bookings b "+
			"JOIN {p}order_items i ON i.id = b.order_item_id JOIN {p}orders o ON o.id = i.order_id WHERE b.start_date = '"+s.bookday+"' AND "+where), "|")
	}

	refused("/bookings", at(1, "12:00", ""), http.StatusConflict, `"time_slot_unavailable"`)
	refused("/bookings", at(1, "15:00", ""), http.StatusConflict, `"time_slot_unavailable"`)
	refused("/bookings", at(1, "11:00", ""), http.StatusUnprocessableEntity, "Decides: Nobody comes at eleven.")
	refused("/bookings", at(1, "11:00", `,"dry_run":true`), http.StatusUnprocessableEntity, "Decides: Nobody comes at eleven.")
	refused("/holds", at(1, "12:00", ""), http.StatusConflict, `"time_slot_unavailable"`)
	status, text, header := post("/bookings", at(1, "06:07", ""))
	if status != http.StatusCreated {
		t.Fatal(status, text)
	}
	if timing := header.Get("Server-Timing"); !strings.Contains(timing, ", wordpress;dur=") {
		t.Errorf("Server-Timing %q", timing)
	}
	duration := s.number("SELECT duration FROM {p}services WHERE id = 1")
	if diff := cmp.Diff(append([]string{"1", "367", fmt.Sprint(367 + duration + 10)}, prices[0]...), stored("b.start_time = 367")); diff != "" {
		t.Errorf("the booking (-LatePoint +API):\n%s", diff)
	}
	if got := s.text("SELECT CONCAT_WS(' ', o.coupon_code, i.coupon_code) FROM {p}bookings b JOIN {p}order_items i ON i.id = b.order_item_id JOIN {p}orders o ON o.id = i.order_id WHERE b.start_date = '" + s.bookday + "' AND b.start_time = 367"); got != "LOYAL LOYAL" {
		t.Errorf("coupon of the extension: %q", got)
	}
	if status, text, _ := post("/bookings", at(`"any"`, "10:00", "")); status != http.StatusCreated {
		t.Fatal(status, text)
	}
	if diff := cmp.Diff(append([]string{"7", "600", fmt.Sprint(600 + duration + 10)}, prices[1]...), stored("b.start_time = 600")); diff != "" {
		t.Errorf("the booking of any agent (-LatePoint +API):\n%s", diff)
	}
	if status, text, _ := post("/bookings", at(1, "13:00", `,"price":7`)); status != http.StatusCreated || stored("b.start_time = 780")[5] != "7.0000" {
		t.Error("a booking with a price of its own", status, text, stored("b.start_time = 780"))
	}

	var kept struct{ Data struct{ ID json.Number } }
	status, text, _ = post("/holds", at(1, "16:00", ""))
	if err := json.Unmarshal([]byte(text), &kept); err != nil || status != http.StatusCreated {
		t.Fatal(status, text, err)
	}
	refused("/bookings", at(1, "16:00", ""), http.StatusConflict, `"time_slot_unavailable"`)
	if status, text, _ := post("/bookings", `{"hold_id":`+kept.Data.ID.String()+`,`+customer+`}`); status != http.StatusCreated {
		t.Error("the booking of the hold", status, text)
	}

	id := s.number("SELECT id FROM {p}bookings WHERE start_date = '" + s.bookday + "' AND start_time = 367")
	move := func(body string, want int, texts ...string) {
		t.Helper()
		status, text, err := sendOnce((&toldSite{bookingSite: s.bookingSite}).request(http.MethodPut, fmt.Sprint("/bookings/", id), body))
		if err != nil || status != want {
			t.Errorf("%s: %d %s %v, want %d", body, status, text, err, want)
		}
		expect.Texts(t, text, texts...)
	}
	move(`{"start_time":"15:00"}`, http.StatusConflict, `"time_slot_unavailable"`)
	move(`{"start_time":"11:00"}`, http.StatusUnprocessableEntity, "Decides: Nobody comes at eleven.")
	move(`{"start_time":"14:00"}`, http.StatusOK)
	if got, want := stored(fmt.Sprint("b.id = ", id))[2], fmt.Sprint(840+duration+10); got != want {
		t.Errorf("the booking that moved ends at %s, want %s", got, want)
	}
	move(`{"notes":"nobody is asked"}`, http.StatusOK)

	away := "BOOKSIDE_WORDPRESS__LOOPBACK=http://127.0.0.1:1"
	reached := s.s
	s.s = serveAt(t, settingsFor(s.db, away), time.Now)
	refused("/bookings", at(1, "17:00", ""), http.StatusServiceUnavailable, "WordPress, which has to be asked, does not answer: Decides", `"written":false`)
	if status, text := get(t, s.s.url+"/v1/availability?service_id=1&agent_id=1&date="+s.bookday, s.key); status != http.StatusServiceUnavailable {
		t.Error("times without WordPress", status, text)
	}
	s.s = serveAt(t, settingsFor(s.db, away, "BOOKSIDE_EXTENSIONS__UNREACHABLE=serve"), time.Now)
	status, text, header = post("/bookings", at(1, "11:00", ""))
	if warning := header.Get("Warning"); status != http.StatusCreated || warning != `199 bookside "WordPress does not answer: this is without Decides"` {
		t.Error("served without WordPress", status, text, warning)
	}
	s.s = reached
	expect.Texts(t, runAt(t, time.Now, settingsFor(s.db, away), "", "check").want(t, exit.OK).stdout, "WordPress cannot be asked: ", "See wordpress.loopback")
	expect.NoTexts(t, s.Faults(t), "mu-plugins/bookside")
}
