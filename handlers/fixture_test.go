package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/sitefile"
	"github.com/bookside/bookside/handlers/apitest"
)

// newServerOf serves the site of a fixture, at its time.
func newServerOf(t *testing.T, text string) (*apitest.Server, sitefile.Content) {
	t.Helper()
	site, err := sitefile.Parse("site.yaml", []byte(text))
	expect.NoError(t, err)
	content, err := site.Build(apitest.Now)
	expect.NoError(t, err)
	s := apitest.NewServer(t, fixtures.New(t, content.Site()))
	s.Clock = content.Now
	for _, key := range content.Keys {
		if _, err := s.Keys.Import(t.Context(), key.Secret, keys.NewKey{Name: key.Name, Permissions: key.Permissions}, true); err != nil {
			t.Fatal(err)
		}
		s.Key = key.Secret
	}
	return s, content
}

// TestFixtureIsServed: the commented example of a fixture is a site whose records and times the API shows to
// the key that it names.
func TestFixtureIsServed(t *testing.T) {
	t.Parallel()
	s, _ := newServerOf(t, sitefile.Example)
	if s.Key != "lp_test_fixture" {
		t.Fatalf("the key is %s", s.Key)
	}
	got := map[string]string{}
	for _, booking := range s.Get("/bookings").Want(http.StatusOK).Records() {
		customer, agent := booking["customer"].(map[string]any), booking["agent"].(map[string]any)
		got[fmt.Sprint(booking["booking_code"])] = fmt.Sprint(booking["start_date"], " ", booking["start_time"], " ", booking["status"], " ",
			agent["full_name"], " ", customer["last_name"], " ", booking["payment_status"])
	}
	want := map[string]string{
		"B1": "2027-01-13 15:30 approved Jörg Thiessen Hopper fully_paid",
		"B2": "2027-01-15 09:00 approved Anna Schmidt Lovelace not_paid",
		"B3": "2027-01-01 11:00 no_show Anna Schmidt Turing not_paid",
		"B4": "2027-01-12 10:00 approved Anna Schmidt Lovelace not_paid",
		"B5": "2027-01-19 10:00 pending Anna Schmidt Lovelace not_paid",
		"B6": "2027-01-12 12:00 approved Anna Schmidt Hopper fully_paid",
	}
	expect.Equal(t, want, got, "bookings")
	for query, free := range map[string]bool{
		"service_id=2&agent_id=1&date=2027-01-13": true,
		"service_id=2&agent_id=1&date=2027-01-14": false, // a day off
		"service_id=1&agent_id=2&date=2027-01-12": false, // his own
		"service_id=1&agent_id=2&date=2027-01-18": false, // no Mondays
		"service_id=1&agent_id=2&date=2027-01-19": true,
	} {
		if got := s.Get("/availability?"+query).Want(http.StatusOK).At("data", "available_slots"); (len(got.([]any)) > 0) != free {
			t.Errorf("%s: %v", query, got)
		}
	}
	slots := s.Get("/availability?service_id=2&agent_id=1&date=2027-01-11").Want(http.StatusOK).At("data", "available_slots").([]any)
	if slices.Contains(slots, any("13:00")) || !slices.Contains(slots, any("14:00")) {
		t.Errorf("around the event in the calendar: %v", slots)
	}
}

// TestFixtureHasWhatTheAPIWrites: a booking in a fixture has the rows that the same booking gets through the
// API, also with what Pro Features adds.
func TestFixtureHasWhatTheAPIWrites(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	const (
		site = `
now: 2027-01-11T08:00
site:
  timezone: Europe/Berlin
  addons: [pro-features]
  settings: {currency_symbol_before: "€ ", thousand_separator: ".", decimal_separator: ","}
agents: [Anna Schmidt, {name: Jörg Thiessen, email: joerg@example.org}]
locations: [Park]
services:
  - {name: Massage, price: 1075.5, base_fee: 5, durations: [{minutes: 90, price: 105}], buffer_before: 5, buffer_after: 10, capacity: 4, extras: [Hot stones, Lunch]}
extras:
  - {id: 7, name: Lunch, price: 7.5, per_attendee: yes}
  - {id: 4, name: Hot stones, price: 10, duration: 15, maximum: 3}
assets: [{name: Room, quantity: 2, services: [Massage]}, {name: Bed, services: [Massage], agents: [Jörg]}]
coupons: [{code: WELCOME10, discount: 10%}, {code: FIVE, discount: 5.25}]
custom_fields: {booking: [{id: cf_reason, label: Reason}]}
customers: [{name: Grace Hopper, email: grace@example.com, created: 2027-01-01, status: active}]
keys: [{name: tests, key: lp_test_fixture, permissions: [read, write]}]
`
		body = `{"service_id":1,"agent_id":2,"location_id":1,"customer_id":1,"start_date":"2027-01-12","start_time":"10:00"%s}`
	)
	for name, c := range map[string]struct{ noun, body string }{
		"plain":            {"", ""},
		"notes and status": {", notes: 'Sends \"<b>\" & é/ü', status: pending", `,"notes":"Sends \"\" & é/ü","status":"pending"`},
		"a price":          {", price: 50, extras: [Lunch]", `,"price":50,"extras":[{"id":7}]`},
		"attendees":        {", attendees: 3", `,"total_attendees":3`},
		"extras":           {", attendees: 2, extras: [{extra: Hot stones, quantity: 2}, Lunch]", `,"total_attendees":2,"extras":[{"id":4,"quantity":2},{"id":7}]`},
		"a percentage":     {", coupon: welcome10", `,"coupon_code":"WELCOME10"`},
		"taxes":            {", coupon: welcome10, attendees: 3, extras: [Lunch]", `,"coupon_code":"WELCOME10","total_attendees":3,"extras":[{"id":7}]`},
		"custom fields":    {", custom_fields: {cf_reason: Back pain}", `,"custom_fields":{"cf_reason":"Back pain"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noun := strings.Replace(c.noun, `"<b>"`, `""`, 1)
			site := site
			if strings.Contains(name, "taxes") {
				site += "taxes: [{name: VAT, rate: 7.75%}, {name: Fee, rate: 2.5}, {name: Other, rate: 0.013%}]\n"
			}
			s, without := newServerOf(t, site)
			before := s.Database.Snapshot(t)
			s.Send(http.MethodPost, "/v1/bookings", http.Header{"X-Api-Key": {s.Key}, "Content-Type": {"application/json"}}, fmt.Sprintf(body, c.body)).Want(http.StatusCreated)
			var written []map[string]any
			for _, change := range fixtures.Changes(before, before.Again(t)) {
				if change.Op == fixtures.Insert && strings.HasPrefix(change.Table, "latepoint_") && change.Table != "latepoint_activities" {
					written = append(written, comparable(change.Table, change.Values))
				}
			}
			parsed, err := sitefile.Parse("site.yaml", []byte(site+"bookings: [{service: Massage, agent: Jörg, customer: Grace Hopper, start: tomorrow 10:00"+noun+"}]\n"))
			expect.NoError(t, err)
			with, err := parsed.Build(time.Time{})
			expect.NoError(t, err)
			described := newRowsOf(with, without)
			sortRows(written)
			sortRows(described)
			if diff := cmp.Diff(written, described); diff != "" || len(written) < 8 {
				t.Errorf("%d rows (-API +fixture):\n%s", len(written), diff)
			}
		})
	}
}

// TestFixtureHasWorkflows: the workflows of a fixture run for bookings that are made afterwards, when they
// say and if their conditions hold.
func TestFixtureHasWorkflows(t *testing.T) {
	t.Parallel()
	s, _ := newServerOf(t, `
now: 2027-01-11T08:00
site:
  settings: {notifications_email_processor: wp_mail}
  options: {cron: 'a:1:{i:1795000000;a:1:{s:32:"latepoint_process_scheduled_jobs";a:0:{}}}'}
services: [{name: Massage, agents: [Anna]}]
workflows:
  - {name: Confirmation, on: booking_created, actions: [{id: pa_1, subject: "For {{customer_first_name}}"}]}
  - {name: Reminder, on: booking_start, before: 2 hours, conditions: [{property: booking__status, value: approved}], actions: [{id: pa_1, to: "{{agent_email}}", subject: Soon}]}
  - {name: Waiting, on: booking_created, conditions: [{property: booking__status, value: pending}], actions: [{subject: S}]}
customers: [Grace Hopper]
bookings: [{service: Massage, customer: Grace Hopper, start: tomorrow 12:00}]
keys: [{name: tests, key: lp_test_fixture, permissions: [read, write]}]
`)
	s.Send(http.MethodPost, "/v1/bookings", http.Header{"X-Api-Key": {s.Key}, "Content-Type": {"application/json"}},
		`{"service_id":1,"agent_id":1,"customer_id":1,"start_date":"2027-01-12","start_time":"10:00"}`).Want(http.StatusCreated)
	want := []string{
		"Confirmation 2027-01-11 08:00:00 Grace Hopper <grace.hopper@example.org> For Grace",
		"Reminder 2027-01-12 08:00:00 anna@example.org Soon",
	}
	got := s.Texts(`SELECT CONCAT_WS(' ', JSON_VALUE(process_info, '$.name'), to_run_after_utc, JSON_VALUE(settings, '$.action_data.pa_1.to'), JSON_VALUE(settings, '$.action_data.pa_1.subject'))
		FROM wp_latepoint_process_jobs ORDER BY id`)
	expect.Equal(t, want, got, "jobs")
}

// comparable returns a row with its table, without what is drawn at random.
func comparable(table string, values map[string]any) map[string]any {
	row := map[string]any{"table": table}
	for column, value := range values {
		key, _ := values["meta_key"].(string)
		if slices.Contains([]string{"booking_code", "confirmation_code", "access_key"}, column) || column == "meta_value" && strings.HasPrefix(key, "key_") || column == "id" && strings.HasSuffix(table, "_meta") {
			continue
		}
		row[column] = value
	}
	return row
}

// newRowsOf returns the rows that one content has and another has not, but for activities.
func newRowsOf(with, without sitefile.Content) (rows []map[string]any) {
	old := map[string]int{}
	for _, table := range without.Tables {
		old[table.Name] = len(table.Rows)
	}
	for _, table := range with.Tables {
		for _, row := range table.Rows[old[table.Name]:] {
			values := map[string]any{}
			for i, column := range table.Columns {
				if values[column] = row[i]; row[i] != nil {
					values[column] = fmt.Sprint(row[i])
				}
			}
			if table.Name != "latepoint_activities" {
				rows = append(rows, comparable(table.Name, values))
			}
		}
	}
	return rows
}

func sortRows(rows []map[string]any) {
	slices.SortFunc(rows, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}
