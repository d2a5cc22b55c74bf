package slots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// eventsOfDays is the add-ons' condition as they ask the database for each day, and the time of the day
// that is then blocked. %[1]s and %[2]s are the tables, %[3]s extends the condition for monthly days, and
// %[4]s is whether events of several days are split.
const eventsOfDays = `
WITH RECURSIVE days AS (SELECT CAST('2026-01-01' AS date) AS day UNION ALL SELECT day + INTERVAL 1 DAY FROM days WHERE day < '2028-03-10'),
named AS (SELECT day, ELT(WEEKDAY(day) + 1, 'mo', 'tu', 'we', 'th', 'fr', 'sa', 'su') AS name FROM days)
SELECT d.day, e.agent_id,
	CASE WHEN %[4]s AND e.end_date > e.start_date AND e.start_date <> d.day THEN 0 ELSE e.start_time END,
	CASE WHEN %[4]s AND e.end_date > e.start_date AND e.end_date <> d.day THEN 1439 ELSE e.end_time END
FROM named d JOIN %[1]s e LEFT JOIN %[2]s r ON r.lp_event_id = e.id
WHERE e.start_date <= d.day AND (r.until IS NULL OR r.until > d.day) AND e.agent_id IN (1, 2, 3) AND (
	e.start_date = d.day
	OR (e.start_date <= d.day AND e.end_date >= d.day)
	OR (r.frequency = 'daily' AND DATEDIFF(d.day, e.start_date) %% r.interval = 0
		AND (r.count IS NULL OR FLOOR(DATEDIFF(d.day, e.start_date) / r.interval) < r.count))
	OR (r.frequency = 'weekly' AND r.weekday = d.name AND FLOOR(DATEDIFF(d.day, e.start_date) / 7) %% r.interval = 0
		AND (r.count IS NULL OR FLOOR(FLOOR(DATEDIFF(d.day, e.start_date) / 7) / r.interval) < r.count))
	OR (r.frequency = 'monthly'
		AND ((DAY(e.start_date) = DAY(d.day) AND (%[3]s OR r.weekday = CONCAT(CEIL(DAY(d.day) / 7), d.name) OR r.weekday IS NULL OR r.weekday = ''))
			OR r.weekday = CONCAT(CEIL(DAY(d.day) / 7), d.name)
			OR (DAY(LAST_DAY(d.day)) - DAY(d.day) < 7 AND r.weekday = CONCAT('-1', d.name)))
		AND PERIOD_DIFF(EXTRACT(YEAR_MONTH FROM d.day), EXTRACT(YEAR_MONTH FROM e.start_date)) %% r.interval = 0
		AND (r.count IS NULL OR FLOOR(PERIOD_DIFF(EXTRACT(YEAR_MONTH FROM d.day), EXTRACT(YEAR_MONTH FROM e.start_date)) / r.interval) < r.count))
	OR (r.frequency = 'yearly' AND DATE_FORMAT(d.day, '%%m%%d') = DATE_FORMAT(e.start_date, '%%m%%d')
		AND (YEAR(d.day) - YEAR(e.start_date)) %% r.interval = 0
		AND (r.count IS NULL OR FLOOR(YEAR(d.day) - YEAR(e.start_date) / r.interval) < r.count)))`

// TestEventsAsTheAddOnsAsk: for generated events, any part of the calendar blocks what the add-ons' own
// condition finds on each day.
func TestEventsAsTheAddOnsAsk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		calendar          string
		of                eventCalendar
		anyDay, splits    bool
		collation         string
		fewest, recurring int // how many periods the case needs to prove anything
	}{
		"Google":                {fixtures.GoogleCalendar, eventCalendar{session.CalendarTables[extensions.GoogleCalendar], availability.Google}, false, true, "", 2_000, 1_500},
		"Google 1.4":            {fixtures.GoogleCalendar, eventCalendar{session.CalendarTables[extensions.GoogleCalendar], availability.EarlyGoogle}, true, false, "", 2_000, 1_500},
		"Outlook":               {fixtures.OutlookCalendar, eventCalendar{session.CalendarTables[extensions.OutlookCalendar], availability.Outlook}, false, true, "", 2_000, 1_500},
		"Apple":                 {fixtures.AppleCalendar, eventCalendar{session.CalendarTables[extensions.AppleCalendar], availability.Apple}, false, false, "", 2_000, 1_500},
		"tables that heed case": {fixtures.GoogleCalendar, eventCalendar{session.CalendarTables[extensions.GoogleCalendar], availability.Google}, false, true, "utf8mb4_bin", 1_000, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.Small(fixtures.RecordedNow()))
			database.AddCalendars(t)
			random := rand.New(rand.NewPCG(1, 2))
			table := "wp_latepoint_" + c.calendar
			database.InsertAnyEvents(t, c.calendar, random, time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC), "1", "2", "3", "4")
			if c.collation != "" {
				database.Execute(t, "ALTER TABLE "+table+"_recurrences CONVERT TO CHARACTER SET utf8mb4 COLLATE "+c.collation)
			}
			db := wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix})
			site, err := session.NewPlatform(db, fixtures.RecordedNow).Session(t.Context())
			expect.NoError(t, err)
			asked := sq.Expr(fmt.Sprintf(eventsOfDays, table+"_events", table+"_recurrences", fmt.Sprint(c.anyDay), fmt.Sprint(c.splits)))
			all, err := wpdb.All(t.Context(), db, "ask as the add-on does", asked, scanBlocked)
			expect.NoError(t, err)
			if len(all) < c.fewest {
				t.Fatalf("%d periods are blocked: the case proves little", len(all))
			}
			first, _ := availability.ParseDay("2026-01-01")
			for n := range 25 {
				part := calendarPart{scope: resourceScope{agents: []int64{1, 2, 3}}, from: first, to: first + 799}
				if n > 0 {
					part.scope.agents = part.scope.agents[random.IntN(3):]
					part.from += availability.Day(random.IntN(760))
					part.to = part.from + availability.Day(random.IntN(40))
				}
				read, err := calendarEvents(t.Context(), site, []eventCalendar{c.of}, part)
				expect.NoError(t, err)
				want := slices.DeleteFunc(slices.Clone(all), func(p availability.OffPeriod) bool {
					return p.Day < part.from || p.Day > part.to || !slices.Contains(part.scope.agents, p.Agent)
				})
				if diff := cmp.Diff(texts(want), texts(availability.BlockedByEvents(read, part.from, part.to))); diff != "" {
					t.Fatalf("%s to %s (-asked +read):\n%.3000s", part.from, part.to, diff)
				}
				if once := slices.DeleteFunc(read, func(e availability.CalendarEvent) bool { return e.Frequency != "" }); n == 0 && len(all)-len(availability.BlockedByEvents(once, part.from, part.to)) < c.recurring {
					t.Error("few periods are recurrences: the case proves little")
				}
			}
		})
	}
}

func scanBlocked(row wpdb.Scanner) (p availability.OffPeriod, err error) {
	var date string
	var end *availability.Minutes
	err = row.Scan(&date, &p.Agent, (*int)(&p.Start), &end)
	p.Day, _ = availability.ParseDay(date)
	if end != nil {
		p.End = *end
	} else { // an event that would break the plugin's calendar blocks the day
		p.Start, p.End = 0, 1440
	}
	return p, err
}

func texts(periods []availability.OffPeriod) []string {
	texts := make([]string, len(periods))
	for i, p := range periods {
		texts[i] = fmt.Sprintf("%s agent %d %4d-%d", p.Day, p.Agent, p.Start, p.End)
	}
	slices.Sort(texts)
	return texts
}
