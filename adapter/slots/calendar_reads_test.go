package slots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestPartsOfACalendar: the rows that a part takes from a larger part are those that its own statement
// would read.
func TestPartsOfACalendar(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA())
	database.Execute(t,
		"INSERT INTO wp_latepoint_blocked_periods (agent_id, service_id, location_id, start_date, start_time, end_date, end_time) VALUES (0, 0, 0, '2027-01-12', 540, '2027-01-12', 600), (1, 0, 2, '2027-01-15', 0, '2027-01-15', 1440)",
		"INSERT INTO wp_latepoint_agent_meta (object_id, meta_key, meta_value) VALUES (1, 'max_bookings_per_day', '3'), (3, 'max_bookings_per_day', '0')",
		"INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, week_day, custom_date, start_time, end_time) VALUES (2, 0, 0, 2, '2027-01-12', 600, 720), (0, 6, 0, 5, NULL, 0, 1500), (3, 6, 2, 4, '0000-00-00', 540, 600)",
		"UPDATE wp_latepoint_bookings SET start_date = NULL WHERE id % 97 = 0")
	db := wpdbtest.OpenOwn(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix})
	for day := 11; day <= 19; day++ {
		for agent := 1; agent <= 3; agent++ {
			database.Execute(t, fmt.Sprintf("INSERT INTO wp_bookside_holds VALUES (NULL, 1, %d, 6, %d, '2027-01-%[3]d', '2027-01-%[3]d', 540, 600, 60, 0, 0, 1, '9999-12-31', '2026-01-01', '')", agent, 1+day%2, day))
		}
	}
	site, err := session.NewPlatform(db, fixtures.RecordedNow).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	some := func(ids ...int64) []int64 {
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		return ids[:1+random.IntN(len(ids))]
	}
	monday, _ := availability.ParseDay("2027-01-11")
	anyPart := func() calendarPart {
		from := monday + availability.Day(random.IntN(8))
		to := from + availability.Day(random.IntN(4))
		return calendarPart{resourceScope{some(1, 2, 3), some(6, 7), some(1, 2)}, from, to, to + availability.Day(random.IntN(2))}
	}
	texts := func(rows []calendarRow) (texts []string) {
		for _, r := range rows {
			texts = append(texts, fmt.Sprintln(r.kind, r.booking(), r.scope(), r.startDate, numberText(r.start), numberText(r.end), r.weekday, r.limit))
		}
		slices.Sort(texts)
		return texts
	}
	kinds := map[int]int{}
	for range 60 {
		rules := blockingRules{statuses: []string{"approved", "pending"}, atLocation: random.IntN(2) == 0, service: int64(6 * random.IntN(2)), limited: random.IntN(3) > 0}
		part := anyPart()
		whole := part.with(anyPart()).with(anyPart())
		all, err := calendarRows(t.Context(), site, rules, whole)
		if err != nil {
			t.Fatal(err)
		}
		want, err := calendarRows(t.Context(), site, rules, part)
		if err != nil {
			t.Fatal(err)
		}
		var got []calendarRow
		for _, r := range all {
			if part.concerns(r, rules) {
				got = append(got, r)
			} else {
				kinds[r.kind]++
			}
		}
		if !slices.Equal(texts(got), texts(want)) {
			t.Fatalf("%+v of %+v by %+v:\n%q\nwant\n%q", part, whole, rules, texts(got), texts(want))
		}
	}
	for _, kind := range []int{bookingRow, holdRow, hoursRow, timeOffRow, limitRow} {
		if kinds[kind] == 0 {
			t.Errorf("no row of kind %d was left out", kind)
		}
	}
}

// numberText formats a number that may be missing.
func numberText(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// TestNearDays: the days of a week may be read together, days a year apart may not, and a range of weeks
// only with the same weeks.
func TestNearDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		days   [4]availability.Day // from and to of two parts
		shared bool
	}{
		{[4]availability.Day{800, 800, 801, 801}, true},
		{[4]availability.Day{800, 800, 807, 807}, true},
		{[4]availability.Day{800, 800, 807, 814}, true},
		{[4]availability.Day{800, 800, 808, 808}, false},
		{[4]availability.Day{800, 800, 1165, 1165}, false},
		{[4]availability.Day{800, 861, 800, 861}, true},
		{[4]availability.Day{800, 861, 800, 860}, false},
		{[4]availability.Day{800, 861, 800, 800}, false},
		{[4]availability.Day{800, 808, 800, 800}, false},
	} {
		a, b := calendarPart{from: c.days[0], to: c.days[1]}, calendarPart{from: c.days[2], to: c.days[3]}
		if got := a.nearDays() == b.nearDays(); got != c.shared {
			t.Errorf("days %v: shared %v", c.days, got)
		}
	}
}
