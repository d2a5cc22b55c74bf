package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestAnswersWithExtensions asks LatePoint and the API about random bookings, with different extensions: both name
// the same starts and seats, and the same prices. BOOKSIDE_TEST_SEEDS is how many bookings are asked about with each
// set of extensions, and BOOKSIDE_TEST_SEED, which is printed, repeats a run.
func TestAnswersWithExtensions(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	b := newBookingSite(t, fixtures.NewWordPressWithPlatform(t, db), db)
	expect.NoError(t, b.s.stop())
	number, err := strconv.Atoi(os.Getenv("BOOKSIDE_TEST_SEEDS"))
	if err != nil {
		number = 40
	}
	seed, err := strconv.ParseUint(os.Getenv("BOOKSIDE_TEST_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("BOOKSIDE_TEST_SEED=%d", seed)
	year := newAnyYear(t, db, rand.New(rand.NewPCG(seed, 1)))
	plugins := map[string]string{"decides/decides.php": "decides", "meeting/meeting.php": "meeting", proFeatures: "pro-features"}
	for _, calendar := range []string{googleCalendar, outlookCalendar, appleCalendar} {
		plugins[calendar] = "calendars"
	}
	for path, name := range plugins {
		writeBelow(t, b.Content, map[string]string{"plugins/" + path: string(readFile(t, "testdata/"+name+".php"))})
	}
	s := &toldSite{bookingSite: b, wordpress: b.ServeByWorkers(t, 2)}
	b.s = serveAt(t, append(settingsFor(db, "BOOKSIDE_WORDPRESS__LOOPBACK="+s.wordpress.URL), unlimited...), time.Now)
	for _, c := range []struct {
		name  string
		asked bool
		with  []string
	}{
		{"none", false, nil},
		{"calendars", false, []string{googleCalendar, outlookCalendar, appleCalendar}},
		{"Pro Features", false, []string{proFeatures}},
		{"all that is understood", false, []string{googleCalendar, outlookCalendar, appleCalendar, proFeatures}},
		{"the two that are asked", true, []string{"decides/decides.php", "meeting/meeting.php"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Run(t, "update_option('active_plugins', ['latepoint/latepoint.php', '"+pluginMain+"']);")
			b.Activate(t, c.with...)
			s.visit()
			year.compare(t, s, number, slices.Contains(c.with, proFeatures), c.asked)
		})
	}
}

const (
	googleCalendar  = "latepoint-google-calendar/latepoint-google-calendar.php"
	outlookCalendar = "latepoint-outlook-calendar/latepoint-outlook-calendar.php"
	appleCalendar   = "latepoint-apple-calendar/latepoint-apple-calendar.php"
	proFeatures     = "latepoint-pro-features/latepoint-pro-features.php"
)

// anyYear is a site with random rows in 2031, in all tables that LatePoint and its add-ons read to answer.
type anyYear struct {
	random      *rand.Rand
	anyLocation bool     // an agent is at one location at a time, as the API takes it for granted where any location will do
	places      [][5]int // a service, its duration and seats, an agent and a location
	most        [9]int   // how many of an extra a booking may have; those with odd ids belong to services with odd ids
}

// earliestStart is the earliest start of a booking, in minutes: the plugin decides adds starts before it, which the
// API would not offer where a booking takes the time.
const earliestStart = 600

var anyYearBegins = time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)

func (y *anyYear) oneOf(words ...string) string { return words[y.random.IntN(len(words))] }

// day returns a day of the year, in quotes.
func (y *anyYear) day() string {
	return "'" + anyYearBegins.AddDate(0, 0, y.random.IntN(365)).Format(time.DateOnly) + "'"
}

// amount returns an amount with up to four decimals.
func (y *anyYear) amount() string {
	return fmt.Sprintf("%d.%s", 1+y.random.IntN(90), y.oneOf("0000", "0000", "5000", "9900", "3333", "0050", "1234"))
}

func newAnyYear(t *testing.T, db *fixtures.Database, random *rand.Rand) *anyYear {
	t.Helper()
	y := &anyYear{random: random}
	insert := func(table, columns string, number int, row func(i int) string) {
		rows := make([]string, number)
		for i := range rows {
			rows[i] = "(" + row(i+1) + ")"
		}
		db.Execute(t, "INSERT INTO wp_latepoint_"+table+" ("+columns+") VALUES "+strings.Join(rows, ", "))
	}
	db.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name IN ('earliest_possible_booking', 'latest_possible_booking')")
	db.Execute(t, "UPDATE wp_latepoint_services SET earliest_possible_booking = NULL, latest_possible_booking = NULL")
	db.Execute(t, "DELETE FROM wp_latepoint_service_extras")
	db.Execute(t, "DELETE FROM wp_latepoint_services_service_extras")

	db.AddCalendars(t)
	for _, calendar := range []string{fixtures.GoogleCalendar, fixtures.OutlookCalendar, fixtures.AppleCalendar} {
		db.InsertAnyEvents(t, calendar, random, anyYearBegins.AddDate(0, 0, -200), "1", "2", "3", "4", "5", "6", "7")
		db.Execute(t, "UPDATE wp_latepoint_"+calendar+"_events SET end_time = LEAST(start_time + 30, 1439) WHERE end_time IS NULL") // LatePoint would fail
	}
	settings := map[string]string{"enable_apple_calendar": "on", "enable_assets_functionality": "on"}
	for _, rule := range []string{"one_location_at_time", "multiple_services_at_time", "one_agent_at_location"} {
		settings[rule] = y.oneOf("on", "off")
	}
	y.anyLocation = settings["one_location_at_time"] == "on"
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		db.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('"+name+"', '"+settings[name]+"')")
	}
	taxes := make([]string, random.IntN(3))
	for i := range taxes {
		taxes[i] = fmt.Sprintf(`"%d":{"id":"%[1]d","name":"Tax %[1]d","type":"%s","value":"%s"}`, i, y.oneOf("percentage", "percentage", "fixed"), y.oneOf("19.0000", "7.7000", "9.9750", "2.5000"))
	}
	insert("settings", "name, value", 1, func(int) string { return "'taxes', '{" + strings.Join(taxes, ",") + "}'" })

	insert("service_extras", "id, name, charge_amount, duration, maximum_quantity, multiplied_by_attendees, status", 8, func(i int) string {
		y.most[i] = 1 + random.IntN(3)
		return fmt.Sprintf("%d, 'Extra %[1]d', %s, %s, %d, '%s', 'active'", i, y.amount(), y.oneOf("0", "0", "5", "15", "30"), y.most[i], y.oneOf("on", "off"))
	})
	insert("services_service_extras", "service_id, service_extra_id", 40, func(i int) string { return fmt.Sprintf("%d, %d", 1+i%10, 1+i%8) })
	db.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 3 WHERE id IN (1, 4, 5)")
	insert("service_meta", "object_id, meta_key, meta_value", 30, func(i int) string {
		value := []string{y.amount(), y.oneOf("on", "off"), y.oneOf("3", "6", "0")}[i%3]
		return fmt.Sprintf("%d, '%s', '%s'", 1+i/3, []string{"base_fee", "dont_multiply_charge_amount_by_attendees", "max_bookings_per_day"}[i%3], value)
	})
	insert("agent_meta", "object_id, meta_key, meta_value", 2, func(i int) string { return fmt.Sprintf("%d, 'max_bookings_per_day', '2'", 2*i) })
	insert("service_meta", "object_id, meta_key, meta_value", 1, func(int) string {
		return fmt.Sprintf(`4, 'durations', '{"d":{"name":"Long","duration":95,"charge_amount":"%s","deposit_amount":"0.0000"}}'`, y.amount())
	})
	insert("coupons", "code, discount_type, discount_value, status, rules, active_from, active_to", 8, func(i int) string {
		rules := y.oneOf(`{}`, `{"service_ids":"1,4,7"}`, `{"agent_ids":"1,2,3,5"}`, `{"minimum_order_subtotal":"60"}`, `{"limit_per_order":"1"}`)
		return fmt.Sprintf("'ANY%d', '%s', %s, '%s', '%s', %s, %s", i, y.oneOf("percent", "fixed"), y.amount(), y.oneOf("active", "active", "active", "disabled"), rules,
			y.oneOf("NULL", "NULL", "'2026-01-01'", "'2040-01-01'"), y.oneOf("NULL", "NULL", "'2040-01-01'", "'2026-01-01'"))
	})

	insert("work_periods", "agent_id, service_id, location_id, week_day, start_time, end_time, custom_date", 120, func(int) string {
		day := y.day()
		start := 360 + 30*random.IntN(16)
		return fmt.Sprintf("%s, %s, %s, WEEKDAY(%s) + 1, %d, %d, %[4]s", y.oneOf("0", "1", "2", "5"), y.oneOf("0", "0", "4"), y.oneOf("0", "0", "1", "2"), day, start, start+60*(2+random.IntN(6)))
	})
	insert("blocked_periods", "start_date, end_date, start_time, end_time, agent_id, service_id, location_id", 200, func(int) string {
		start := 15 * random.IntN(80)
		return fmt.Sprintf("%s, start_date, %d, %d, %s, %s, %s", y.day(), start, start+15*random.IntN(16), y.oneOf("0", "1", "2", "3"), y.oneOf("0", "0", "1", "4"), y.oneOf("0", "0", "1"))
	})
	insert("assets", "id, name, quantity, status", 4, func(i int) string {
		return fmt.Sprintf("%d, 'Room', %s, '%s'", i, y.oneOf("1", "1", "2", "0"), y.oneOf("active", "active", "disabled"))
	})
	insert("services_assets", "service_id, asset_id", 6, func(i int) string { return fmt.Sprintf("%d, %d", 1+random.IntN(9), 1+i%4) })
	insert("agents_assets", "agent_id, asset_id", 4, func(int) string { return fmt.Sprintf("%d, %s", 1+random.IntN(7), y.oneOf("3", "4")) })
	const firstBooking = 900_000
	insert("bookings", "id, booking_code, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id, total_attendees, order_item_id", 3000, func(i int) string {
		// None begins before the early start of the extension that is asked is over: what is known to occupy an agent still does so in the API.
		start, duration := earliestStart+15*random.IntN(40), 15*(1+random.IntN(7))
		return fmt.Sprintf("%d, 'ANY%d', %s, start_date, %d, %d, %d, %s, %s, '%s', 1, %d, %d, %s, %s, 1", firstBooking+i, i, y.day(), start, start+duration, duration, y.oneOf("0", "0", "10"), y.oneOf("0", "5", "15"),
			y.oneOf("approved", "approved", "approved", "pending", "cancelled", "completed"), 1+random.IntN(10), 1+random.IntN(7), y.oneOf("1", "1", "2"), y.oneOf("1", "1", "2"))
	})
	insert("bookings_assets", "booking_id, asset_id", 1500, func(i int) string { return fmt.Sprintf("%d, %d", firstBooking+2*i, 1+random.IntN(4)) })
	places := queryText(t, db, "SELECT JSON_ARRAYAGG(JSON_ARRAY(s.id, s.duration, s.capacity_max, a.agent_id, a.location_id)) FROM wp_latepoint_agents_services a "+
		"JOIN wp_latepoint_services s ON s.id = a.service_id AND s.status = 'active' AND s.visibility = 'visible' JOIN wp_latepoint_agents g ON g.id = a.agent_id AND g.status = 'active' "+
		"JOIN wp_latepoint_locations l ON l.id = a.location_id AND l.status = 'active'")
	expect.NoError(t, json.Unmarshal([]byte(places), &y.places))
	slices.SortFunc(y.places, func(a, b [5]int) int { return slices.Compare(a[:], b[:]) })
	return y
}

// question is a random booking, as testdata/answers.php reads it.
type question struct {
	Service   int    `json:"service"`
	Duration  int    `json:"duration"`
	Attendees int    `json:"attendees"`
	Agent     int    `json:"agent"` // 0 for any
	Location  int    `json:"location"`
	Date      string `json:"date"`
	Extras    string `json:"extras"` // such as 4:2,7:1
	Coupon    string `json:"coupon"`
	Pick      int    `json:"pick"` // which of the starts
	Asked     bool   `json:"asked"`
}

// question makes a question about a booking that the site's form could ask for.
func (y *anyYear) question(asked bool) question {
	place := y.places[y.random.IntN(len(y.places))]
	q := question{Service: place[0], Duration: place[1], Attendees: 1 + y.random.IntN(place[2]), Agent: place[3], Location: place[4], Date: strings.Trim(y.day(), "'"), Pick: y.random.IntN(100), Asked: asked}
	if y.random.IntN(3) == 0 {
		q.Agent = 0
	}
	if y.anyLocation && y.random.IntN(2) == 0 {
		q.Location = 0
	}
	if y.random.IntN(2) == 0 {
		q.Duration = []int{30, 90, 95, 120, 5 * (1 + y.random.IntN(36))}[y.random.IntN(5)]
	}
	var extras []string
	for extra, most := range y.most {
		if extra > 0 && extra%2 == q.Service%2 && y.random.IntN(3) == 0 {
			extras = append(extras, fmt.Sprintf("%d:%d", extra, 1+y.random.IntN(most)))
		}
	}
	q.Extras = strings.Join(extras, ",")
	if y.random.IntN(3) > 0 {
		q.Coupon = fmt.Sprintf("ANY%d", 1+y.random.IntN(8))
	}
	return q
}

// extrasJSON returns the extras as the API reads them.
func (q question) extrasJSON() string {
	chosen := []map[string]string{}
	for extra := range strings.SplitSeq(q.Extras, ",") {
		if id, quantity, ok := strings.Cut(extra, ":"); ok {
			chosen = append(chosen, map[string]string{"id": id, "quantity": quantity})
		}
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// answered is an answer to a question.
type answered struct {
	Duration   int
	Starts     map[int]int // seats by minute
	Start      int         // the one that is priced
	Refused    bool        // by an extension
	Taken      bool        // there is no agent for it, although some are free: LatePoint chooses among others
	Discounted bool        // by the coupon
	Price      string      // the item's total; the order's subtotal, discount, tax and total
	Parts      []string    // of the price: label, amount, note and badge
}

// compare asks both a number of questions; discounts says whether a coupon has to be valid.
func (y *anyYear) compare(t *testing.T, s *toldSite, number int, discounts, asked bool) {
	t.Helper()
	questions := make([]question, number)
	for i := range questions {
		questions[i] = y.question(asked)
	}
	text, err := json.Marshal(questions)
	expect.NoError(t, err)
	functions, err := filepath.Abs("testdata/answers.php")
	expect.NoError(t, err)
	writeBelow(t, s.Content, map[string]string{"questions.json": string(text)})
	starts, prices, discounted, stored, different := 0, 0, 0, 0, 0
	var priced []int
	differ := func(q question, what, diff string) {
		if diff == "" {
			return
		}
		if different++; different < 10 {
			t.Errorf("%+v: %s (-LatePoint +API):\n%s", q, what, diff)
		}
	}
	wants := fromPHP[[]answered](t, s.WordPress, "require '"+functions+"'; return test_answers(json_decode(file_get_contents(WP_CONTENT_DIR . '/questions.json'), true));")
	for i, want := range wants {
		q := questions[i]
		starts += len(want.Starts)
		differ(q, "starts", cmp.Diff(answered{Duration: want.Duration, Starts: want.Starts}, s.offered(t, q)))
		if len(want.Starts) == 0 {
			continue
		}
		status, price := s.priced(t, q, want.Start, true)
		switch {
		case want.Taken:
			if status != http.StatusConflict {
				differ(q, "conflict", fmt.Sprint(want, " ", status, " ", price))
			}
		case want.Refused, discounts && q.Coupon != "" && !want.Discounted:
			if status != http.StatusUnprocessableEntity {
				differ(q, "refusal", fmt.Sprint(want, " ", status, " ", price))
			}
		default:
			prices++
			if want.Start >= earliestStart {
				priced = append(priced, i)
			}
			differ(q, fmt.Sprint("price at ", want.Start), cmp.Diff(want.Price, price))
		}
		if want.Discounted {
			discounted++
		}
	}
	for _, i := range priced[max(0, len(priced)-5):] { // stored, after all times were compared
		if status, text := s.priced(t, questions[i], wants[i].Start, false); status == http.StatusCreated {
			stored++
			differ(questions[i], "parts of the price", cmp.Diff(wants[i].Parts, s.storedParts(t)))
		} else if status != http.StatusConflict && status != http.StatusUnprocessableEntity {
			differ(questions[i], "booking", text)
		}
	}
	t.Logf("%d questions: %d starts, %d prices, %d of them with a discount; %d stored, %d differ", number, starts, prices, discounted, stored, different)
	if starts < number || prices == 0 || number >= 500 && (prices < number/10 || discounts && discounted < number/40) {
		t.Error("the case proves little")
	}
}

// offered returns the starts that the API offers.
func (s *toldSite) offered(t *testing.T, q question) answered {
	t.Helper()
	orAny := func(id int) string {
		if id == 0 {
			return "any"
		}
		return strconv.Itoa(id)
	}
	query := url.Values{
		"service_id": {strconv.Itoa(q.Service)}, "agent_id": {orAny(q.Agent)}, "location_id": {orAny(q.Location)}, "date": {q.Date}, "duration": {strconv.Itoa(q.Duration)}, "any_duration": {"1"},
		"total_attendees": {strconv.Itoa(q.Attendees)}, "extras": {q.extrasJSON()},
	}
	status, body := get(t, s.s.url+"/v1/availability?"+query.Encode(), s.key)
	var answer struct {
		Data struct {
			Duration int
			Slots    []struct {
				Start string `json:"start_time"`
				Seats int    `json:"available_capacity"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%+v: %d %s: %v", q, status, body, err)
	}
	found := answered{Duration: answer.Data.Duration, Starts: map[int]int{}}
	for _, slot := range answer.Data.Slots {
		hours, minutes, _ := strings.Cut(slot.Start, ":")
		h, wrong := strconv.Atoi(hours)
		m, err := strconv.Atoi(minutes)
		if err != nil || wrong != nil {
			t.Fatalf("%+v: %s", q, body)
		}
		found.Starts[60*h+m] = slot.Seats
	}
	return found
}

// storedParts returns the parts of the price of the last order.
func (s *toldSite) storedParts(t *testing.T) (parts []string) {
	t.Helper()
	type row struct {
		Label, Note, Badge string
		Value              any `json:"raw_value"`
	}
	type part struct {
		Items []row
		More  []row `json:"sub_items"`
	}
	var stored struct {
		Before []part          `json:"before_subtotal"`
		After  json.RawMessage `json:"after_subtotal"`
	}
	expect.NoError(t, json.Unmarshal([]byte(s.text("SELECT price_breakdown FROM {p}orders ORDER BY id DESC LIMIT 1")), &stored))
	var after struct{ Discounts, Taxes part }
	if string(stored.After) != "[]" { // what PHP makes of an object without members
		expect.NoError(t, json.Unmarshal(stored.After, &after))
	}
	for _, p := range append(stored.Before, after.Discounts, after.Taxes) {
		for _, r := range slices.Concat(p.Items, p.More) {
			amount, err := strconv.ParseFloat(fmt.Sprint(r.Value), 64)
			expect.NoError(t, err)
			parts = append(parts, fmt.Sprintf("%s|%.4f|%s|%s", r.Label, amount, r.Note, r.Badge))
		}
	}
	return parts
}

// priced returns what the booking costs, of a dry run or for good.
func (s *toldSite) priced(t *testing.T, q question, start int, dry bool) (status int, price string) {
	t.Helper()
	place := func(id int) any {
		if id == 0 {
			return "any"
		}
		return id
	}
	body, err := json.Marshal(map[string]any{
		"service_id": q.Service, "agent_id": place(q.Agent), "location_id": place(q.Location), "start_date": q.Date, "start_time": fmt.Sprintf("%02d:%02d", start/60, start%60), "duration": q.Duration,
		"total_attendees": q.Attendees, "extras": json.RawMessage(q.extrasJSON()), "coupon_code": q.Coupon, "dry_run": dry,
		"customer": map[string]string{"first_name": "Ada", "last_name": "Neu", "email": "ada.neu@example.test"},
	})
	expect.NoError(t, err)
	status, text, err := sendOnce(s.request(http.MethodPost, "/bookings", string(body)))
	if err != nil || status != http.StatusOK && status != http.StatusCreated {
		return status, fmt.Sprint(status, " ", text, err)
	}
	var answer struct {
		Data struct {
			Price string
			Order struct {
				Subtotal string
				Discount string `json:"coupon_discount"`
				Tax      string `json:"tax_total"`
				Total    string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o := answer.Data.Order
	return status, strings.Join([]string{answer.Data.Price, o.Subtotal, o.Discount, o.Tax, o.Total}, " ")
}
