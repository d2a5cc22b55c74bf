package times_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// weeklyRows returns the rows of a scope (agent, service, location) without a date.
func weeklyRows(t testing.TB, database *fixtures.Database, scope string) []string {
	t.Helper()
	return apitest.RowsOf(t, database, "SELECT week_day, start_time, end_time FROM wp_latepoint_work_periods WHERE custom_date IS NULL AND CONCAT_WS(',', agent_id, service_id, location_id) = '"+
		scope+"' ORDER BY week_day, start_time")
}

// TestWeeklyHours: a change writes the rows that LatePoint's form saves, for the named days only, and decides which times are free.
func TestWeeklyHours(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	database := s.Database
	for name, c := range map[string]struct{ ids, scope string }{"agent": {`"agent_id":5,`, "5,0,0"}, "all three": {`"agent_id":5,"service_id":4,"location_id":"1",`, "5,4,1"}} {
		query := "?agent_id=5"
		if name == "all three" {
			query += "&service_id=4&location_id=1"
		}
		database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE agent_id + service_id + location_id > 0 AND custom_date IS NULL")
		free := starts(s, "2027-02-05")
		none := s.Get("/business-hours" + query).Want(http.StatusOK)
		expect.Equal(t, nil, none.At("data", "hours"), fmt.Sprintf("%s: own hours at first: %s", name, none.Body))
		const hours = `"hours":{"friday":[{"start_time":"09:00","end_time":"10:00"},{"start_time":"22:00","end_time":"24:00"}],"monday":[]}`
		before := database.Snapshot(t)
		tried := s.Write(http.MethodPut, "/business-hours", `{`+c.ids+hours+`,"dry_run":true}`).Want(http.StatusOK)
		apitest.WantNoWrites(t, "a dry run", before)
		expect.Equal(t, "Business hours can be updated; nothing was written", tried.At("message"), fmt.Sprintf("%s: the dry run says", name))
		made := s.Write(http.MethodPut, "/business-hours", `{`+c.ids+hours+`}`, "If-Match", none.Header.Get("ETag")).Want(http.StatusOK)
		expect.Equal(t, tried.At("data"), made.At("data"), fmt.Sprintf("%s: the dry run differs", name))
		expect.Equal(t, []string{"1|0|0", "5|540|600", "5|1320|1440"}, weeklyRows(t, database, c.scope), fmt.Sprintf("%s rows", name))
		if now := starts(s, "2027-02-05"); fmt.Sprint(now) == fmt.Sprint(free) || now[0] != "09:00" {
			t.Errorf("%s: free %v", name, now)
		}
		if closed := starts(s, "2027-02-08"); len(closed) > 0 {
			t.Errorf("%s: free on a closed day: %v", name, closed)
		}
		apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`)), http.StatusConflict, "time_slot_unavailable")
		read := s.Get("/business-hours" + query).Want(http.StatusOK)
		expect.Equal(t, read.At("data"), made.At("data"), fmt.Sprintf("%s: read and made differ", name))
		apitest.WantCode(t, s.Write(http.MethodPut, "/business-hours", `{`+c.ids+`"hours":{"monday":null}}`, "If-Match", none.Header.Get("ETag")), http.StatusPreconditionFailed, "precondition_failed")
		before = database.Snapshot(t)
		s.Write(http.MethodPut, "/business-hours", string(read.Body[strings.Index(string(read.Body), `"data":`)+7:len(read.Body)-1])).Want(http.StatusOK)
		apitest.WantNoWrites(t, "the same hours", before)
		s.Write(http.MethodPut, "/business-hours"+query, `{"hours":{"monday":null}}`, "If-Match", read.Header.Get("ETag")).Want(http.StatusOK)
		expect.Equal(t, 2, len(weeklyRows(t, database, c.scope)), fmt.Sprintf("%s: rows without Monday", name))
		s.Write(http.MethodPut, "/business-hours", `{`+c.ids+`"hours":null}`).Want(http.StatusOK)
		if rows := weeklyRows(t, database, c.scope); len(rows) > 0 || fmt.Sprint(starts(s, "2027-02-05")) != fmt.Sprint(free) {
			t.Errorf("%s: removed: %q", name, rows)
		}
	}
}

// TestGeneralHours: the general hours are complete, as LatePoint would complete them, before a day of them changes.
func TestGeneralHours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stored, others string }{
		"no week":       {"DELETE FROM wp_latepoint_work_periods", "480|1020"},
		"a part of one": {"DELETE FROM wp_latepoint_work_periods WHERE custom_date IS NOT NULL OR agent_id + service_id + location_id > 0 OR week_day <> 1", "0|0"},
	} {
		s := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())
		s.Database.Execute(t, c.stored)
		before := s.Database.Snapshot(t)
		shown := s.Get("/business-hours").Want(http.StatusOK)
		apitest.WantNoWrites(t, name, before)
		s.Write(http.MethodPut, "/business-hours", `{"hours":{"monday":[{"start_time":"07:00","end_time":"11:00"}]}}`, "If-Match", shown.Header.Get("ETag")).Want(http.StatusOK)
		want := []string{"1|420|660"}
		for day := 2; day <= 7; day++ {
			want = append(want, fmt.Sprint(day, "|", c.others))
		}
		expect.Equal(t, want, weeklyRows(t, s.Database, "0,0,0"), name)
	}
}

// TestRefusedHours: mistakes are named, and nothing is written.
func TestRefusedHours(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	for body, c := range map[string]struct {
		status         int
		field, message string
	}{
		`{"agent_id":999,"hours":{"monday":[]}}`:      {400, "agent_id", "Agent not found"},
		`{}`:                                          {400, "hours", "Required"},
		`{"agent_id":5,"hourz":{"monday":[]}}`:        {400, "hourz", "Unknown field; did you mean hours?"},
		`{"agent_id":5,"hours":""}`:                   {400, "hours", "Must be an object"},
		`{"hours":null}`:                              {422, "hours", "The general hours cannot be removed: an empty list closes a day"},
		`{"hours":{"monday":null}}`:                   {422, "hours", "The general hours cannot be removed: an empty list closes a day"},
		`{"hours":"[ ]"}`:                             {400, "hours", "Must be an object; an empty list closes a day only as the value of that day"},
		`{"hours":{"Monday":[]}}`:                     {400, "hours.Monday", "Must be one of: monday, tuesday, wednesday, thursday, friday, saturday, sunday"},
		`{"hours":{"monday":["09:00"]}}`:              {400, "hours.monday.0", "Must be an object"},
		`{"hours":{"monday":[{"end_time":"10:00"}]}}`: {400, "hours.monday.0.start_time", "Required"},
		`{"hours":{"monday":[{"start_time":"10:00","end_time":"10:00"}]}}`:                                           {422, "hours.monday.0.end_time", "Must be after start_time"},
		`{"hours":{"monday":[{"start_time":"10:00","end_time":"12:00"},{"start_time":"11:00","end_time":"13:00"}]}}`: {422, "hours.monday.1.start_time", "Must not be before the end of the hours before it"},
		`{"hours":{"monday":[` + strings.Repeat(`{"start_time":"10:00","end_time":"12:00"},`, 24) + `{}]}}`:          {422, "hours.monday", "At most 24 are allowed"},
	} {
		a := s.Write(http.MethodPut, "/business-hours", body)
		if got := a.At("error", "details", c.field); a.Status != c.status || got != c.message {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	for target, form := range map[string]string{"": `agentid=5&hours={"monday":[]}`, "?agentid=5": `hours={"monday":[]}`, "?_locale=user": `agentid=5&hours[monday][0][start_time]=09:00`} {
		if a := s.WriteAs(http.MethodPut, "/business-hours"+target, apitest.FormType, form).Want(http.StatusBadRequest); a.At("error", "details", "agentid") == nil {
			t.Errorf("%s: %s", form, a.Body)
		}
	}
	s.Write(http.MethodPut, "/business-hours?_locale=user&_=1", `{"agent_id":5,"hours":{},"dry_run":true}`).Want(http.StatusOK) // what any request may have
	apitest.WantNoWrites(t, "refused", before)
}

// TestLimitedHours: a limited key sees the general hours and those of what it is limited to, and changes only the latter.
func TestLimitedHours(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Key = s.LimitedKey(domain.Scope{Agents: []int64{5}})
	s.Get("/business-hours").Want(http.StatusOK)
	apitest.WantCode(t, s.Get("/business-hours?agent_id=1"), http.StatusForbidden, "outside_key_limits")
	before := s.Database.Snapshot(t)
	for _, ids := range []string{"", `"agent_id":1,`, `"location_id":1,`, `"agent_id":1,"dry_run":true,`} {
		apitest.WantCode(t, s.Write(http.MethodPut, "/business-hours", `{`+ids+`"hours":{"monday":[]}}`), http.StatusForbidden, "outside_key_limits")
	}
	apitest.WantNoWrites(t, "outside of the limits", before)
	s.Write(http.MethodPut, "/business-hours", `{"agent_id":5,"hours":{"monday":[]}}`).Want(http.StatusOK)
	expect.Equal(t, "[]", fmt.Sprint(s.Get("/business-hours?agent_id=5").Want(http.StatusOK).At("data", "hours", "monday")), "own hours")
}

// TestHoursAndBookingsAtOnce: on two servers, no booking is made in hours after they were closed.
func TestHoursAndBookingsAtOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	servers := []*apitest.Server{apitest.NewServerOver(t, database, 10, time.Minute), apitest.NewServerOver(t, database, 10, time.Minute)}
	for i := range 8 {
		for _, s := range servers[:1] {
			s.Write(http.MethodPut, "/business-hours", `{"agent_id":5,"hours":null}`).Want(http.StatusOK)
		}
		day := time.Date(2027, 2, 5+7*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		book := func() apitest.Answer {
			return servers[1].Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"`+day+`"`, "start_time", `"13:00"`))
		}
		var both sync.WaitGroup
		both.Go(func() {
			servers[0].Write(http.MethodPut, "/business-hours", `{"agent_id":5,"hours":{"friday":[]}}`).Want(http.StatusOK)
		})
		both.Go(func() {
			if a := book(); a.Status != http.StatusCreated && a.Status != http.StatusConflict {
				t.Errorf("%s: %d %s", day, a.Status, a.Body)
			}
		})
		both.Wait()
		apitest.WantCode(t, servers[1].Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"`+day+`"`, "start_time", `"15:00"`)), http.StatusConflict, "time_slot_unavailable")
	}
}

// starts returns the free starts of service 4 with agent 5 at location 1 on a day.
func starts(s *apitest.Server, day string) []any {
	s.T.Helper()
	return s.Get("/availability?service_id=4&agent_id=5&location_id=1&date="+day).Want(http.StatusOK).At("data", "available_slots").([]any)
}

// customDays returns the custom days of the site with an id above that of the recorded ones.
func customDays(t testing.TB, database *fixtures.Database) []string {
	t.Helper()
	return apitest.RowsOf(t, database, "SELECT agent_id, service_id, location_id, start_time, end_time, week_day, custom_date, chain_id, created_at, updated_at FROM wp_latepoint_work_periods WHERE id > 85 ORDER BY id")
}

// TestDaysOff: whole days are the rows that LatePoint's form writes, close what they name, are listed as one, and end as one.
func TestDaysOff(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	if len(starts(s, "2027-02-05")) == 0 || len(starts(s, "2027-02-08")) == 0 {
		t.Fatal("the days have no free starts")
	}
	before := s.Database.Snapshot(t)
	tried := s.Write(http.MethodPost, "/time-off", `{"agent_id":5,"date":"2027-02-04","date_to":"2027-02-05","dry_run":true}`).Want(http.StatusOK)
	expect.Equal(t, "0", fmt.Sprint(tried.At("data", "id")), fmt.Sprintf("dry run: %s", tried.Body))
	apitest.WantNoWrites(t, "a dry run", before)

	booked := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	for _, c := range []struct{ named, rows string }{
		{`"agent_id":5,`, "5|0|0"}, {`"service_id":4,`, "0|4|0"}, {`"location_id":1,`, "0|0|1"}, {``, "0|0|0"}, {`"agent_id":5,"service_id":"4","location_id":1,`, "5|4|1"},
	} {
		made := s.Write(http.MethodPost, "/time-off", `{`+c.named+`"date":"2027-02-04","date_to":"2027-02-05"}`).Want(http.StatusCreated)
		rows := customDays(t, s.Database)
		chain := strings.Split(rows[0], "|")[7]
		expect.Equal(t, 13, len(chain), fmt.Sprintf("chain %q", chain))
		at := apitest.Now.UTC().Format("2006-01-02 15:04:05")
		want := []string{c.rows + "|0|0|4|2027-02-04|" + chain + "|" + at + "|" + at, c.rows + "|0|0|5|2027-02-05|" + chain + "|" + at + "|" + at}
		expect.Equal(t, want, rows, fmt.Sprintf("%s rows", c.named))
		expect.Equal(t, "["+booked+"]", fmt.Sprint(made.At("booking_ids")), fmt.Sprintf("%s: bookings, of %s", c.named, booked))
		wantExisting(s, `{`+c.named+`"date":"2027-02-04","date_to":"2027-02-05"}`, made)
		wantExisting(s, `{`+c.named+`"date":"2027-02-04","date_to":"2027-02-05","dry_run":true}`, made)
		expect.Equal(t, want, customDays(t, s.Database), fmt.Sprintf("%s rows after the same again", c.named))
		if free := starts(s, "2027-02-05"); len(free) > 0 {
			t.Errorf("%s: free %v", c.named, free)
		}
		explained := s.Get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05&explain=1").Want(http.StatusOK)
		expect.Equal(t, "day_off", explained.At("data", "explain", "missing"), fmt.Sprintf("%s: the reason", c.named))
		if len(starts(s, "2027-02-08")) == 0 {
			t.Errorf("%s closes other days", c.named)
		}
		apitest.WantCode(t, s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`)), http.StatusConflict, "time_slot_unavailable")
		path := fmt.Sprint("/time-off/", made.At("data", "id"))
		read := s.Get(path).Want(http.StatusOK)
		expect.Equal(t, read.At("data"), made.At("data"), fmt.Sprintf("%s: read and made differ", c.named))
		listed := s.Get("/time-off?date_from=2027-02-05&date_to=2027-02-05").Want(http.StatusOK)
		expect.Equal[any](t, []any{read.At("data")}, listed.At("data"), fmt.Sprintf("%s: listed and read differ", c.named))
		apitest.WantCode(t, s.Write(http.MethodDelete, path, "", "If-Match", `"other"`), http.StatusPreconditionFailed, "precondition_failed")
		s.Write(http.MethodDelete, path, "", "If-Match", read.Header.Get("ETag")).Want(http.StatusOK)
		if rows := customDays(t, s.Database); len(rows) > 0 || len(starts(s, "2027-02-05")) == 0 {
			t.Errorf("%s: still closed: %q", c.named, rows)
		}
		apitest.WantCode(t, s.Write(http.MethodDelete, path, ""), http.StatusNotFound, "time_off_not_found")
	}
	one := s.Write(http.MethodPost, "/time-off", `{"agent_id":5,"date":"2027-02-05"}`).Want(http.StatusCreated)
	if rows := customDays(t, s.Database); len(rows) != 1 || !strings.HasPrefix(rows[0], "5|0|0|0|0|5|2027-02-05|NULL|") {
		t.Errorf("one day: %q", rows)
	}
	wantExisting(s, `{"agent_id":"5","date":"2027-02-05","date_to":"2027-02-05"}`, one)
	for _, other := range []string{`{"agent_id":5,"location_id":1,"date":"2027-02-05"}`, `{"agent_id":5,"date":"2027-02-05","date_to":"2027-02-06"}`} {
		s.Write(http.MethodDelete, fmt.Sprint("/time-off/", s.Write(http.MethodPost, "/time-off", other).Want(http.StatusCreated).At("data", "id")), "").Want(http.StatusOK)
	}
	s.Write(http.MethodDelete, fmt.Sprint("/time-off/", one.At("data", "id")), "").Want(http.StatusOK)
	if rows := customDays(t, s.Database); len(rows) > 0 {
		t.Errorf("after all ended: %q", rows)
	}
}

// wantExisting sends time off that was entered already as what made says.
func wantExisting(s *apitest.Server, body string, made apitest.Answer) {
	s.T.Helper()
	again := s.Write(http.MethodPost, "/time-off", body)
	apitest.WantCode(s.T, again, http.StatusConflict, "time_off_exists")
	expect.Equal(s.T, made.At("data", "id"), again.At("error", "details", "time_off_id"), fmt.Sprintf("%s: the one that exists", body))
}

// TestDaysClosedInLatePoint: a day that was closed twice in LatePoint's calendar is one time off, as LatePoint shows it, and
// ends as one. A range of which LatePoint has opened a day can be closed again.
func TestDaysClosedInLatePoint(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	const closed = "INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (5, 0, 0, 0, 0, 5, '2027-02-05')"
	s.Database.Execute(t, closed, closed)
	listed := s.Get("/time-off?agent_id=5&date_from=2027-02-05&date_to=2027-02-05").Want(http.StatusOK).Records()
	if len(listed) != 1 {
		t.Fatalf("listed %v", listed)
	}
	s.Write(http.MethodDelete, fmt.Sprint("/time-off/", listed[0]["id"]), "").Want(http.StatusOK)
	if rows := customDays(t, s.Database); len(rows) > 0 || len(starts(s, "2027-02-05")) == 0 {
		t.Errorf("still closed: %q", rows)
	}
	const days = `{"agent_id":5,"date":"2027-02-04","date_to":"2027-02-08"}`
	s.Write(http.MethodPost, "/time-off", days).Want(http.StatusCreated)
	s.Database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE custom_date = '2027-02-05'")
	wantExisting(s, days, s.Write(http.MethodPost, "/time-off", days).Want(http.StatusCreated))
	if free := starts(s, "2027-02-05"); len(free) > 0 {
		t.Errorf("free %v", free)
	}
}

// TestHoursOff: hours are an off period on a site with Pro Features, close what they name, and are explained.
func TestHoursOff(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	before := starts(s, "2027-02-05")
	made := s.Write(http.MethodPost, "/time-off", `{"agent_id":5,"date":"2027-02-05","start_time":"10:00","end_time":"11:30","note":" Training <b>x</b>"}`).Want(http.StatusCreated)
	row := apitest.RowOf(t, s.Database, `SELECT summary, start_date, end_date, start_time, end_time, start_datetime_utc, end_datetime_utc, service_id, agent_id, location_id, server_timezone, created_at
		FROM wp_latepoint_blocked_periods WHERE id > 5`)
	want := "Training x|2027-02-05|2027-02-05|600|690|2027-02-05 09:00:00|2027-02-05 10:30:00|0|5|0||" + apitest.Now.UTC().Format("2006-01-02 15:04:05")
	expect.Equal(t, want, row, "stored")
	wantExisting(s, `{"agent_id":5,"date":"2027-02-05","start_time":"10:00","end_time":"11:30"}`, made)
	expect.Equal(t, "off_period", s.Explained(t), "reason")
	path := fmt.Sprint("/time-off/", made.At("data", "id"))
	read := s.Get(path).Want(http.StatusOK)
	expect.Equal(t, "10:00-11:30 Training x", fmt.Sprintf("%v-%v %v", read.At("data", "start_time"), read.At("data", "end_time"), read.At("data", "note")), fmt.Sprintf("read: %s", read.Body))
	expect.Equal[any](t, []any{read.At("data")}, s.Get("/time-off?agent_id=5&date_from=2027-02-05&date_to=2027-02-05").Want(http.StatusOK).At("data"), "listed")
	s.Write(http.MethodDelete, path, "").Want(http.StatusOK)
	expect.Equal(t, before, starts(s, "2027-02-05"), "afterwards")
	midnight := s.Write(http.MethodPost, "/time-off", `{"date":"2027-02-05","start_time":"00:00","end_time":"24:00"}`).Want(http.StatusCreated)
	if midnight.At("data", "end_time") != "24:00" || len(starts(s, "2027-02-05")) > 0 {
		t.Errorf("%s", midnight.Body)
	}
	expect.Equal(t, "0|1440|NULL", apitest.RowOf(t, s.Database, "SELECT start_time, end_time, start_datetime_utc FROM wp_latepoint_blocked_periods WHERE id > 5"), "stored")
	all := s.Get("/time-off?per_page=100").Want(http.StatusOK).Records()
	if len(all) < 6 {
		t.Errorf("only %d are listed", len(all))
	}
}

// TestBookingsInTimeOff: time off names the bookings in it, one that lasts over midnight in those of both days.
func TestBookingsInTimeOff(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	booked := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	for _, c := range []struct {
		end  string // of the booking, which starts on 5 February at 23:00
		off  string
		want string
	}{
		{"end_date = '2027-02-06', end_time = 60", `"date":"2027-02-05"`, booked},
		{"end_date = '2027-02-06', end_time = 60", `"date":"2027-02-06"`, booked},
		{"end_date = '2027-02-06', end_time = 60", `"date":"2027-02-06","start_time":"00:30","end_time":"02:00"`, booked},
		{"end_date = '2027-02-06', end_time = 60", `"date":"2027-02-06","start_time":"01:00","end_time":"02:00"`, ""},
		{"end_date = '2027-02-06', end_time = 60", `"date":"2027-02-05","start_time":"22:00","end_time":"23:00"`, ""},
		{"end_date = '2027-02-06', end_time = 1440", `"date":"2027-02-06"`, ""},
		{"end_date = '2027-02-05', end_time = 1440", `"date":"2027-02-05","start_time":"23:30","end_time":"24:00"`, booked},
	} {
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = '2027-02-05', start_time = 1380, "+c.end+" WHERE id = "+booked)
		tried := s.Write(http.MethodPost, "/time-off", `{"agent_id":5,`+c.off+`,"dry_run":true}`).Want(http.StatusOK)
		expect.Equal(t, "["+c.want+"]", fmt.Sprint(tried.At("booking_ids")), fmt.Sprintf("%s, %s: bookings, of %s", c.end, c.off, c.want))
	}
}

// TestHoursOffByTheClock: on a day that changes the clock, the instants of hours off are those that PHP stores.
func TestHoursOffByTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, day, start, end, want string }{
		{"Europe/Berlin", "2027-03-28", "01:30", "10:00", "2027-03-28 00:30:00|2027-03-28 08:00:00"},
		{"Africa/Cairo", "2027-04-30", "00:15", "24:00", "2027-04-29 22:15:00|2027-04-30 22:00:00"},
	} {
		s := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
		s.Database.Execute(t, "UPDATE wp_options SET option_value = '"+c.zone+"' WHERE option_name = 'timezone_string'")
		s.Write(http.MethodPost, "/time-off", fmt.Sprintf(`{"agent_id":5,"date":%q,"start_time":%q,"end_time":%q}`, c.day, c.start, c.end)).Want(http.StatusCreated)
		expect.Equal(t, c.want, apitest.RowOf(t, s.Database, "SELECT start_datetime_utc, end_datetime_utc FROM wp_latepoint_blocked_periods WHERE id > 5"), fmt.Sprintf("%s %s %s-%s", c.zone, c.day, c.start, c.end))
	}
}

// TestRefusedTimeOff: what LatePoint's tables cannot say is refused with a sentence, and nothing is written.
func TestRefusedTimeOff(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (5, 4, 0, 600, 720, 5, '2027-02-05')")
	before := s.Database.Snapshot(t)
	for body, c := range map[string]struct {
		status         int
		field, message string
	}{
		`{}`:                                   {400, "date", "Required"},
		`{"date":"soon"}`:                      {400, "date", ""},
		`{"date":"2027-02-05","agent_id":999}`: {400, "agent_id", "Agent not found"},
		`{"date":"2027-03-05","agentid":5}`:    {400, "agentid", "Unknown field; did you mean agent_id?"},
		`{"date":"2026-01-05","date_to":"2026-01-06"}`:                                         {422, "date_to", "Must not be in the past"},
		`{"date":"2027-02-05","date_to":"2028-02-06"}`:                                         {422, "date_to", "Must be a date from date on, at most 366 days in all"},
		`{"date":"2027-02-05","start_time":"10:00"}`:                                           {400, "end_time", "Required together with start_time"},
		`{"date":"2027-02-05","start_time":"10:00","end_time":"10:00"}`:                        {422, "end_time", "Must be after start_time"},
		`{"date":"2027-02-05","start_time":"10:00","end_time":"25:00"}`:                        {400, "end_time", ""},
		`{"date":"2027-02-05","start_time":"10:00","end_time":"11:00"}`:                        {422, "start_time", "LatePoint keeps hours off only with its add-on Pro Features, which is not active here: leave out start_time and end_time for whole days"},
		`{"date":"2027-02-05","date_to":"2027-02-06","start_time":"10:00","end_time":"11:00"}`: {422, "date_to", "LatePoint keeps hours day by day: send one request for each day, or leave out start_time and end_time for whole days"},
		`{"date":"2027-02-01","date_to":"2027-02-06","agent_id":5}`:                            {422, "date", "LatePoint prefers the hours of 2027-02-05 for agent_id 5, service_id 4 to this: remove them in wp-admin, or name exactly that"},
	} {
		a := s.Write(http.MethodPost, "/time-off", body)
		got, _ := a.At("error", "details", c.field).(string)
		if a.Status != c.status || got == "" || c.message != "" && got != c.message {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	apitest.WantNoWrites(t, "refused", before)
	s.Write(http.MethodPost, "/time-off", `{"date":"2027-02-05","agent_id":5,"service_id":4,"location_id":1}`).Want(http.StatusCreated)
	if free := starts(s, "2027-02-05"); len(free) > 0 {
		t.Errorf("free %v", free)
	}
	const lost = `199 bookside "LatePoint keeps no note with whole days: it is not stored"`
	if a := s.Write(http.MethodPost, "/time-off", `{"date":"2027-03-05","agent_id":5,"note":"Holiday"}`).Want(http.StatusCreated); a.Header.Get("Warning") != lost || a.At("data", "note") != "" {
		t.Errorf("%q %s", a.Header.Get("Warning"), a.Body)
	}
}

// TestLimitedTimeOff: a limited key sees, enters and ends only time off that names what it is limited to.
func TestLimitedTimeOff(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	path := func(body string) string {
		return fmt.Sprint("/time-off/", s.Write(http.MethodPost, "/time-off", body).Want(http.StatusCreated).At("data", "id"))
	}
	theirs := []string{path(`{"date":"2027-02-05"}`), path(`{"date":"2027-02-05","agent_id":1}`), path(`{"date":"2027-02-05","location_id":1,"start_time":"10:00","end_time":"11:00"}`)}
	s.Key = s.LimitedKey(domain.Scope{Agents: []int64{5}})
	s.Get("/status").Want(http.StatusOK)
	before := s.Database.Snapshot(t)
	for _, hidden := range theirs {
		s.Get(hidden).Want(http.StatusNotFound)
		apitest.WantCode(t, s.Write(http.MethodDelete, hidden, ""), http.StatusNotFound, "time_off_not_found")
	}
	for _, body := range []string{`{"date":"2027-02-05"}`, `{"date":"2027-02-05","agent_id":1}`, `{"date":"2027-02-05","location_id":1}`, `{"date":"2027-02-05","agent_id":1,"dry_run":true}`} {
		apitest.WantCode(t, s.Write(http.MethodPost, "/time-off", body), http.StatusForbidden, "outside_key_limits")
	}
	apitest.WantNoWrites(t, "outside of the limits", before)
	expect.Equal(t, 0, len(s.Get("/time-off?date_from=2027-02-05").Want(http.StatusOK).Records()), "listed of others")
	mine := path(`{"date":"2027-02-08","agent_id":5}`)
	expect.Equal(t, 1, len(s.Get("/time-off?date_from=2027-02-05").Want(http.StatusOK).Records()), "listed")
	s.Write(http.MethodDelete, mine, "").Want(http.StatusOK)
}

// TestMaskedTimeOff: a key that sees personal data masked neither sees nor writes what time off is for.
func TestMaskedTimeOff(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	const hours = `{"agent_id":5,"date":"2027-02-05","start_time":"10:00","end_time":"11:30"`
	path := fmt.Sprint("/time-off/", s.Write(http.MethodPost, "/time-off", hours+`,"note":"Hospital"}`).Want(http.StatusCreated).At("data", "id"))
	s.Key = s.MaskedKey()
	expect.Equal(t, "***", s.Get(path).Want(http.StatusOK).At("data", "note"), "note")
	if a := s.Get("/time-off?agent_id=5").Want(http.StatusOK); strings.Contains(string(a.Body), "Hospital") {
		t.Errorf("listed: %s", a.Body)
	}
	apitest.WantCode(t, s.Write(http.MethodPost, "/time-off", hours+`,"note":"Mine"}`), http.StatusForbidden, "personal_data_masked")
	s.Write(http.MethodPost, "/time-off", strings.Replace(hours, "11:30", "11:45", 1)+`}`).Want(http.StatusCreated)
}

// TestTimeOffAndBookingsAtOnce: of a booking and time off on two servers, either the booking is refused, or the time off names
// it. Of the same time off twice, one is refused.
func TestTimeOffAndBookingsAtOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	servers := []*apitest.Server{apitest.NewServerOver(t, database, 10, time.Minute), apitest.NewServerOver(t, database, 10, time.Minute)}
	refused, named := 0, 0
	for i := range 16 {
		day := fmt.Sprintf("2027-02-%02d", 1+i)
		var off, same, booked apitest.Answer
		var both sync.WaitGroup
		body := `{` + []string{`"agent_id":5`, `"location_id":1`, `"service_id":4`, `"agent_id":5,"service_id":4`}[i%4] + `,"date":"` + day + `"}`
		both.Go(func() { off = servers[0].Write(http.MethodPost, "/time-off", body) })
		both.Go(func() { same = servers[1].Write(http.MethodPost, "/time-off", body) })
		both.Go(func() {
			booked = servers[1].Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"`+day+`"`, "start_time", `"13:00"`))
		})
		both.Wait()
		if off.Status == http.StatusConflict {
			off, same = same, off
		}
		apitest.WantCode(t, same, http.StatusConflict, "time_off_exists")
		switch ids := fmt.Sprint(off.Want(http.StatusCreated).At("booking_ids")); {
		case booked.Status == http.StatusConflict:
			refused++
		case booked.Status == http.StatusCreated && ids == fmt.Sprintf("[%v]", booked.At("data", "id")):
			named++
		default:
			t.Errorf("%s: time off with %s, booking %d %s", day, ids, booked.Status, booked.Body)
		}
	}
	if refused == 0 && named == 0 {
		t.Error("nothing happened")
	}
}
