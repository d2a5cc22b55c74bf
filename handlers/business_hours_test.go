package handlers_test

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
)

// weeklyRows returns the rows of a scope (agent, service, location) without a date.
func weeklyRows(t testing.TB, database *fixtures.Database, scope string) []string {
	t.Helper()
	return rowsOf(t, database, "SELECT week_day, start_time, end_time FROM wp_latepoint_work_periods WHERE custom_date IS NULL AND CONCAT_WS(',', agent_id, service_id, location_id) = '"+
		scope+"' ORDER BY week_day, start_time")
}

// TestWeeklyHours: a change writes the rows that LatePoint's form saves, for the named days only, and decides which times are free.
func TestWeeklyHours(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	database := s.database
	for name, c := range map[string]struct{ ids, scope string }{"agent": {`"agent_id":5,`, "5,0,0"}, "all three": {`"agent_id":5,"service_id":4,"location_id":"1",`, "5,4,1"}} {
		query := "?agent_id=5"
		if name == "all three" {
			query += "&service_id=4&location_id=1"
		}
		database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE agent_id + service_id + location_id > 0 AND custom_date IS NULL")
		free := s.starts("2027-02-05")
		none := s.get("/business-hours" + query).want(http.StatusOK)
		expect.Equal(t, nil, none.at("data", "hours"), fmt.Sprintf("%s: own hours at first: %s", name, none.body))
		const hours = `"hours":{"friday":[{"start_time":"09:00","end_time":"10:00"},{"start_time":"22:00","end_time":"24:00"}],"monday":[]}`
		before := database.Snapshot(t)
		tried := s.write(http.MethodPut, "/business-hours", `{`+c.ids+hours+`,"dry_run":true}`).want(http.StatusOK)
		wantNoWrites(t, "a dry run", before)
		expect.Equal(t, "Business hours can be updated; nothing was written", tried.at("message"), fmt.Sprintf("%s: the dry run says", name))
		made := s.write(http.MethodPut, "/business-hours", `{`+c.ids+hours+`}`, "If-Match", none.header.Get("ETag")).want(http.StatusOK)
		expect.Equal(t, tried.at("data"), made.at("data"), fmt.Sprintf("%s: the dry run differs", name))
		expect.Equal(t, []string{"1|0|0", "5|540|600", "5|1320|1440"}, weeklyRows(t, database, c.scope), fmt.Sprintf("%s rows", name))
		if now := s.starts("2027-02-05"); fmt.Sprint(now) == fmt.Sprint(free) || now[0] != "09:00" {
			t.Errorf("%s: free %v", name, now)
		}
		if closed := s.starts("2027-02-08"); len(closed) > 0 {
			t.Errorf("%s: free on a closed day: %v", name, closed)
		}
		wantCode(t, s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`)), http.StatusConflict, "time_slot_unavailable")
		read := s.get("/business-hours" + query).want(http.StatusOK)
		expect.Equal(t, read.at("data"), made.at("data"), fmt.Sprintf("%s: read and made differ", name))
		wantCode(t, s.write(http.MethodPut, "/business-hours", `{`+c.ids+`"hours":{"monday":null}}`, "If-Match", none.header.Get("ETag")), http.StatusPreconditionFailed, "precondition_failed")
		before = database.Snapshot(t)
		s.write(http.MethodPut, "/business-hours", string(read.body[strings.Index(string(read.body), `"data":`)+7:len(read.body)-1])).want(http.StatusOK)
		wantNoWrites(t, "the same hours", before)
		s.write(http.MethodPut, "/business-hours"+query, `{"hours":{"monday":null}}`, "If-Match", read.header.Get("ETag")).want(http.StatusOK)
		expect.Equal(t, 2, len(weeklyRows(t, database, c.scope)), fmt.Sprintf("%s: rows without Monday", name))
		s.write(http.MethodPut, "/business-hours", `{`+c.ids+`"hours":null}`).want(http.StatusOK)
		if rows := weeklyRows(t, database, c.scope); len(rows) > 0 || fmt.Sprint(s.starts("2027-02-05")) != fmt.Sprint(free) {
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
		s := newWriter(t, fixtures.SiteA().WithFewBookings())
		s.database.Execute(t, c.stored)
		before := s.database.Snapshot(t)
		shown := s.get("/business-hours").want(http.StatusOK)
		wantNoWrites(t, name, before)
		s.write(http.MethodPut, "/business-hours", `{"hours":{"monday":[{"start_time":"07:00","end_time":"11:00"}]}}`, "If-Match", shown.header.Get("ETag")).want(http.StatusOK)
		want := []string{"1|420|660"}
		for day := 2; day <= 7; day++ {
			want = append(want, fmt.Sprint(day, "|", c.others))
		}
		expect.Equal(t, want, weeklyRows(t, s.database, "0,0,0"), name)
	}
}

// TestRefusedHours: mistakes are named, and nothing is written.
func TestRefusedHours(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
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
		a := s.write(http.MethodPut, "/business-hours", body)
		if got := a.at("error", "details", c.field); a.status != c.status || got != c.message {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	for target, form := range map[string]string{"": `agentid=5&hours={"monday":[]}`, "?agentid=5": `hours={"monday":[]}`, "?_locale=user": `agentid=5&hours[monday][0][start_time]=09:00`} {
		if a := s.writeAs(http.MethodPut, "/business-hours"+target, formType, form).want(http.StatusBadRequest); a.at("error", "details", "agentid") == nil {
			t.Errorf("%s: %s", form, a.body)
		}
	}
	s.write(http.MethodPut, "/business-hours?_locale=user&_=1", `{"agent_id":5,"hours":{},"dry_run":true}`).want(http.StatusOK) // what any request may have
	wantNoWrites(t, "refused", before)
}

// TestLimitedHours: a limited key sees the general hours and those of what it is limited to, and changes only the latter.
func TestLimitedHours(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}})
	s.get("/business-hours").want(http.StatusOK)
	wantCode(t, s.get("/business-hours?agent_id=1"), http.StatusForbidden, "outside_key_limits")
	before := s.database.Snapshot(t)
	for _, ids := range []string{"", `"agent_id":1,`, `"location_id":1,`, `"agent_id":1,"dry_run":true,`} {
		wantCode(t, s.write(http.MethodPut, "/business-hours", `{`+ids+`"hours":{"monday":[]}}`), http.StatusForbidden, "outside_key_limits")
	}
	wantNoWrites(t, "outside of the limits", before)
	s.write(http.MethodPut, "/business-hours", `{"agent_id":5,"hours":{"monday":[]}}`).want(http.StatusOK)
	expect.Equal(t, "[]", fmt.Sprint(s.get("/business-hours?agent_id=5").want(http.StatusOK).at("data", "hours", "monday")), "own hours")
}

// TestHoursAndBookingsAtOnce: on two servers, no booking is made in hours after they were closed.
func TestHoursAndBookingsAtOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	servers := []*server{newServerOver(t, database, 10, time.Minute), newServerOver(t, database, 10, time.Minute)}
	for i := range 8 {
		for _, s := range servers[:1] {
			s.write(http.MethodPut, "/business-hours", `{"agent_id":5,"hours":null}`).want(http.StatusOK)
		}
		day := time.Date(2027, 2, 5+7*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		book := func() answer {
			return servers[1].write(http.MethodPost, "/bookings", friday("start_date", `"`+day+`"`, "start_time", `"13:00"`))
		}
		var both sync.WaitGroup
		both.Go(func() {
			servers[0].write(http.MethodPut, "/business-hours", `{"agent_id":5,"hours":{"friday":[]}}`).want(http.StatusOK)
		})
		both.Go(func() {
			if a := book(); a.status != http.StatusCreated && a.status != http.StatusConflict {
				t.Errorf("%s: %d %s", day, a.status, a.body)
			}
		})
		both.Wait()
		wantCode(t, servers[1].write(http.MethodPost, "/bookings", friday("start_date", `"`+day+`"`, "start_time", `"15:00"`)), http.StatusConflict, "time_slot_unavailable")
	}
}

// TestChangesOfHoursAndTimeOff: whose times change is in the journal as changed, by the key that did it.
func TestChangesOfHoursAndTimeOff(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	secret, id := f.key("read", "write", "delete", "read_changes")
	const hours = `"hours":{"sunday":[{"start_time":"03:00","end_time":"04:00"}]}}`
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodPut, "/business-hours", `{"agent_id":1,` + hours, "agents 1"},
		{http.MethodPut, "/business-hours", `{"location_id":1,` + hours, "locations 1"},
		{http.MethodPut, "/business-hours", `{"service_id":2,` + hours, "services 2"},
		{http.MethodPut, "/business-hours", `{` + hours, "locations 1"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05","agent_id":1,"location_id":1}`, "agents 1"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05","location_id":1}`, "locations 1"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05","service_id":2}`, "services 2"},
		{http.MethodPost, "/time-off", `{"date":"2027-02-05"}`, "locations 1"},
	} {
		cursor := f.read("/changes", secret).Cursor
		response := f.request(t.Context(), c.method, c.path, secret, c.body)
		expect.NoError(t, response.Body.Close())
		if response.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s: %d", c.body, response.StatusCode)
		}
		change := f.wait("/changes?include=record", cursor, secret).Data[0]
		expect.Equal(t, c.want+fmt.Sprint("updated", "api", id), fmt.Sprint(change["resource"], " ", change["resource_id"], change["kind"], change["origin"], change["key_id"]), fmt.Sprintf("%s: %v", c.body, change))
	}
}

// exampleDayOff is the row of the time off whose id is the example of the document.
const exampleDayOff = "INSERT INTO wp_latepoint_work_periods (id, agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (206, 1, 0, 0, 0, 0, 2, '2027-03-02')"

// starts returns the free starts of service 4 with agent 5 at location 1 on a day.
func (s *server) starts(day string) []any {
	s.t.Helper()
	return s.get("/availability?service_id=4&agent_id=5&location_id=1&date="+day).want(http.StatusOK).at("data", "available_slots").([]any)
}

// customDays returns the custom days of the site with an id above that of the recorded ones.
func customDays(t testing.TB, database *fixtures.Database) []string {
	t.Helper()
	return rowsOf(t, database, "SELECT agent_id, service_id, location_id, start_time, end_time, week_day, custom_date, chain_id, created_at, updated_at FROM wp_latepoint_work_periods WHERE id > 85 ORDER BY id")
}

// TestDaysOff: whole days are the rows that LatePoint's form writes, close what they name, are listed as one, and end as one.
func TestDaysOff(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	if len(s.starts("2027-02-05")) == 0 || len(s.starts("2027-02-08")) == 0 {
		t.Fatal("the days have no free starts")
	}
	before := s.database.Snapshot(t)
	tried := s.write(http.MethodPost, "/time-off", `{"agent_id":5,"date":"2027-02-04","date_to":"2027-02-05","dry_run":true}`).want(http.StatusOK)
	expect.Equal(t, "0", fmt.Sprint(tried.at("data", "id")), fmt.Sprintf("dry run: %s", tried.body))
	wantNoWrites(t, "a dry run", before)

	booked := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	for _, c := range []struct{ named, rows string }{
		{`"agent_id":5,`, "5|0|0"}, {`"service_id":4,`, "0|4|0"}, {`"location_id":1,`, "0|0|1"}, {``, "0|0|0"}, {`"agent_id":5,"service_id":"4","location_id":1,`, "5|4|1"},
	} {
		made := s.write(http.MethodPost, "/time-off", `{`+c.named+`"date":"2027-02-04","date_to":"2027-02-05"}`).want(http.StatusCreated)
		rows := customDays(t, s.database)
		chain := strings.Split(rows[0], "|")[7]
		expect.Equal(t, 13, len(chain), fmt.Sprintf("chain %q", chain))
		at := now.UTC().Format("2006-01-02 15:04:05")
		want := []string{c.rows + "|0|0|4|2027-02-04|" + chain + "|" + at + "|" + at, c.rows + "|0|0|5|2027-02-05|" + chain + "|" + at + "|" + at}
		expect.Equal(t, want, rows, fmt.Sprintf("%s rows", c.named))
		expect.Equal(t, "["+booked+"]", fmt.Sprint(made.at("booking_ids")), fmt.Sprintf("%s: bookings, of %s", c.named, booked))
		s.wantExisting(`{`+c.named+`"date":"2027-02-04","date_to":"2027-02-05"}`, made)
		s.wantExisting(`{`+c.named+`"date":"2027-02-04","date_to":"2027-02-05","dry_run":true}`, made)
		expect.Equal(t, want, customDays(t, s.database), fmt.Sprintf("%s rows after the same again", c.named))
		if free := s.starts("2027-02-05"); len(free) > 0 {
			t.Errorf("%s: free %v", c.named, free)
		}
		explained := s.get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05&explain=1").want(http.StatusOK)
		expect.Equal(t, "day_off", explained.at("data", "explain", "missing"), fmt.Sprintf("%s: the reason", c.named))
		if len(s.starts("2027-02-08")) == 0 {
			t.Errorf("%s closes other days", c.named)
		}
		wantCode(t, s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`)), http.StatusConflict, "time_slot_unavailable")
		path := fmt.Sprint("/time-off/", made.at("data", "id"))
		read := s.get(path).want(http.StatusOK)
		expect.Equal(t, read.at("data"), made.at("data"), fmt.Sprintf("%s: read and made differ", c.named))
		listed := s.get("/time-off?date_from=2027-02-05&date_to=2027-02-05").want(http.StatusOK)
		expect.Equal[any](t, []any{read.at("data")}, listed.at("data"), fmt.Sprintf("%s: listed and read differ", c.named))
		wantCode(t, s.write(http.MethodDelete, path, "", "If-Match", `"other"`), http.StatusPreconditionFailed, "precondition_failed")
		s.write(http.MethodDelete, path, "", "If-Match", read.header.Get("ETag")).want(http.StatusOK)
		if rows := customDays(t, s.database); len(rows) > 0 || len(s.starts("2027-02-05")) == 0 {
			t.Errorf("%s: still closed: %q", c.named, rows)
		}
		wantCode(t, s.write(http.MethodDelete, path, ""), http.StatusNotFound, "time_off_not_found")
	}
	one := s.write(http.MethodPost, "/time-off", `{"agent_id":5,"date":"2027-02-05"}`).want(http.StatusCreated)
	if rows := customDays(t, s.database); len(rows) != 1 || !strings.HasPrefix(rows[0], "5|0|0|0|0|5|2027-02-05|NULL|") {
		t.Errorf("one day: %q", rows)
	}
	s.wantExisting(`{"agent_id":"5","date":"2027-02-05","date_to":"2027-02-05"}`, one)
	for _, other := range []string{`{"agent_id":5,"location_id":1,"date":"2027-02-05"}`, `{"agent_id":5,"date":"2027-02-05","date_to":"2027-02-06"}`} {
		s.write(http.MethodDelete, fmt.Sprint("/time-off/", s.write(http.MethodPost, "/time-off", other).want(http.StatusCreated).at("data", "id")), "").want(http.StatusOK)
	}
	s.write(http.MethodDelete, fmt.Sprint("/time-off/", one.at("data", "id")), "").want(http.StatusOK)
	if rows := customDays(t, s.database); len(rows) > 0 {
		t.Errorf("after all ended: %q", rows)
	}
}

// wantExisting sends time off that was entered already as what made says.
func (s *server) wantExisting(body string, made answer) {
	s.t.Helper()
	again := s.write(http.MethodPost, "/time-off", body)
	wantCode(s.t, again, http.StatusConflict, "time_off_exists")
	expect.Equal(s.t, made.at("data", "id"), again.at("error", "details", "time_off_id"), fmt.Sprintf("%s: the one that exists", body))
}

// TestDaysClosedInLatePoint: a day that was closed twice in LatePoint's calendar is one time off, as LatePoint shows it, and
// ends as one. A range of which LatePoint has opened a day can be closed again.
func TestDaysClosedInLatePoint(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	const closed = "INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (5, 0, 0, 0, 0, 5, '2027-02-05')"
	s.database.Execute(t, closed, closed)
	listed := s.get("/time-off?agent_id=5&date_from=2027-02-05&date_to=2027-02-05").want(http.StatusOK).records()
	if len(listed) != 1 {
		t.Fatalf("listed %v", listed)
	}
	s.write(http.MethodDelete, fmt.Sprint("/time-off/", listed[0]["id"]), "").want(http.StatusOK)
	if rows := customDays(t, s.database); len(rows) > 0 || len(s.starts("2027-02-05")) == 0 {
		t.Errorf("still closed: %q", rows)
	}
	const days = `{"agent_id":5,"date":"2027-02-04","date_to":"2027-02-08"}`
	s.write(http.MethodPost, "/time-off", days).want(http.StatusCreated)
	s.database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE custom_date = '2027-02-05'")
	s.wantExisting(days, s.write(http.MethodPost, "/time-off", days).want(http.StatusCreated))
	if free := s.starts("2027-02-05"); len(free) > 0 {
		t.Errorf("free %v", free)
	}
}

// TestHoursOff: hours are an off period on a site with Pro Features, close what they name, and are explained.
func TestHoursOff(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	before := s.starts("2027-02-05")
	made := s.write(http.MethodPost, "/time-off", `{"agent_id":5,"date":"2027-02-05","start_time":"10:00","end_time":"11:30","note":" Training <b>x</b>"}`).want(http.StatusCreated)
	row := rowOf(t, s.database, `SELECT summary, start_date, end_date, start_time, end_time, start_datetime_utc, end_datetime_utc, service_id, agent_id, location_id, server_timezone, created_at
		FROM wp_latepoint_blocked_periods WHERE id > 5`)
	want := "Training x|2027-02-05|2027-02-05|600|690|2027-02-05 09:00:00|2027-02-05 10:30:00|0|5|0||" + now.UTC().Format("2006-01-02 15:04:05")
	expect.Equal(t, want, row, "stored")
	s.wantExisting(`{"agent_id":5,"date":"2027-02-05","start_time":"10:00","end_time":"11:30"}`, made)
	expect.Equal(t, "off_period", s.explained(t), "reason")
	path := fmt.Sprint("/time-off/", made.at("data", "id"))
	read := s.get(path).want(http.StatusOK)
	expect.Equal(t, "10:00-11:30 Training x", fmt.Sprintf("%v-%v %v", read.at("data", "start_time"), read.at("data", "end_time"), read.at("data", "note")), fmt.Sprintf("read: %s", read.body))
	expect.Equal[any](t, []any{read.at("data")}, s.get("/time-off?agent_id=5&date_from=2027-02-05&date_to=2027-02-05").want(http.StatusOK).at("data"), "listed")
	s.write(http.MethodDelete, path, "").want(http.StatusOK)
	expect.Equal(t, before, s.starts("2027-02-05"), "afterwards")
	midnight := s.write(http.MethodPost, "/time-off", `{"date":"2027-02-05","start_time":"00:00","end_time":"24:00"}`).want(http.StatusCreated)
	if midnight.at("data", "end_time") != "24:00" || len(s.starts("2027-02-05")) > 0 {
		t.Errorf("%s", midnight.body)
	}
	expect.Equal(t, "0|1440|NULL", rowOf(t, s.database, "SELECT start_time, end_time, start_datetime_utc FROM wp_latepoint_blocked_periods WHERE id > 5"), "stored")
	all := s.get("/time-off?per_page=100").want(http.StatusOK).records()
	if len(all) < 6 {
		t.Errorf("only %d are listed", len(all))
	}
}

// TestBookingsInTimeOff: time off names the bookings in it, one that lasts over midnight in those of both days.
func TestBookingsInTimeOff(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	booked := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
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
		s.database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = '2027-02-05', start_time = 1380, "+c.end+" WHERE id = "+booked)
		tried := s.write(http.MethodPost, "/time-off", `{"agent_id":5,`+c.off+`,"dry_run":true}`).want(http.StatusOK)
		expect.Equal(t, "["+c.want+"]", fmt.Sprint(tried.at("booking_ids")), fmt.Sprintf("%s, %s: bookings, of %s", c.end, c.off, c.want))
	}
}

// TestHoursOffByTheClock: on a day that changes the clock, the instants of hours off are those that PHP stores.
func TestHoursOffByTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, day, start, end, want string }{
		{"Europe/Berlin", "2027-03-28", "01:30", "10:00", "2027-03-28 00:30:00|2027-03-28 08:00:00"},
		{"Africa/Cairo", "2027-04-30", "00:15", "24:00", "2027-04-29 22:15:00|2027-04-30 22:00:00"},
	} {
		s := newWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
		s.database.Execute(t, "UPDATE wp_options SET option_value = '"+c.zone+"' WHERE option_name = 'timezone_string'")
		s.write(http.MethodPost, "/time-off", fmt.Sprintf(`{"agent_id":5,"date":%q,"start_time":%q,"end_time":%q}`, c.day, c.start, c.end)).want(http.StatusCreated)
		expect.Equal(t, c.want, rowOf(t, s.database, "SELECT start_datetime_utc, end_datetime_utc FROM wp_latepoint_blocked_periods WHERE id > 5"), fmt.Sprintf("%s %s %s-%s", c.zone, c.day, c.start, c.end))
	}
}

// TestRefusedTimeOff: what LatePoint's tables cannot say is refused with a sentence, and nothing is written.
func TestRefusedTimeOff(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (5, 4, 0, 600, 720, 5, '2027-02-05')")
	before := s.database.Snapshot(t)
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
		a := s.write(http.MethodPost, "/time-off", body)
		got, _ := a.at("error", "details", c.field).(string)
		if a.status != c.status || got == "" || c.message != "" && got != c.message {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	wantNoWrites(t, "refused", before)
	s.write(http.MethodPost, "/time-off", `{"date":"2027-02-05","agent_id":5,"service_id":4,"location_id":1}`).want(http.StatusCreated)
	if free := s.starts("2027-02-05"); len(free) > 0 {
		t.Errorf("free %v", free)
	}
	const lost = `199 bookside "LatePoint keeps no note with whole days: it is not stored"`
	if a := s.write(http.MethodPost, "/time-off", `{"date":"2027-03-05","agent_id":5,"note":"Holiday"}`).want(http.StatusCreated); a.header.Get("Warning") != lost || a.at("data", "note") != "" {
		t.Errorf("%q %s", a.header.Get("Warning"), a.body)
	}
}

// TestLimitedTimeOff: a limited key sees, enters and ends only time off that names what it is limited to.
func TestLimitedTimeOff(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	path := func(body string) string {
		return fmt.Sprint("/time-off/", s.write(http.MethodPost, "/time-off", body).want(http.StatusCreated).at("data", "id"))
	}
	theirs := []string{path(`{"date":"2027-02-05"}`), path(`{"date":"2027-02-05","agent_id":1}`), path(`{"date":"2027-02-05","location_id":1,"start_time":"10:00","end_time":"11:00"}`)}
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}})
	s.get("/status").want(http.StatusOK)
	before := s.database.Snapshot(t)
	for _, hidden := range theirs {
		s.get(hidden).want(http.StatusNotFound)
		wantCode(t, s.write(http.MethodDelete, hidden, ""), http.StatusNotFound, "time_off_not_found")
	}
	for _, body := range []string{`{"date":"2027-02-05"}`, `{"date":"2027-02-05","agent_id":1}`, `{"date":"2027-02-05","location_id":1}`, `{"date":"2027-02-05","agent_id":1,"dry_run":true}`} {
		wantCode(t, s.write(http.MethodPost, "/time-off", body), http.StatusForbidden, "outside_key_limits")
	}
	wantNoWrites(t, "outside of the limits", before)
	expect.Equal(t, 0, len(s.get("/time-off?date_from=2027-02-05").want(http.StatusOK).records()), "listed of others")
	mine := path(`{"date":"2027-02-08","agent_id":5}`)
	expect.Equal(t, 1, len(s.get("/time-off?date_from=2027-02-05").want(http.StatusOK).records()), "listed")
	s.write(http.MethodDelete, mine, "").want(http.StatusOK)
}

// TestMaskedTimeOff: a key that sees personal data masked neither sees nor writes what time off is for.
func TestMaskedTimeOff(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	const hours = `{"agent_id":5,"date":"2027-02-05","start_time":"10:00","end_time":"11:30"`
	path := fmt.Sprint("/time-off/", s.write(http.MethodPost, "/time-off", hours+`,"note":"Hospital"}`).want(http.StatusCreated).at("data", "id"))
	s.key = s.maskedKey()
	expect.Equal(t, "***", s.get(path).want(http.StatusOK).at("data", "note"), "note")
	if a := s.get("/time-off?agent_id=5").want(http.StatusOK); strings.Contains(string(a.body), "Hospital") {
		t.Errorf("listed: %s", a.body)
	}
	wantCode(t, s.write(http.MethodPost, "/time-off", hours+`,"note":"Mine"}`), http.StatusForbidden, "personal_data_masked")
	s.write(http.MethodPost, "/time-off", strings.Replace(hours, "11:30", "11:45", 1)+`}`).want(http.StatusCreated)
}

// TestTimeOffAndBookingsAtOnce: of a booking and time off on two servers, either the booking is refused, or the time off names
// it. Of the same time off twice, one is refused.
func TestTimeOffAndBookingsAtOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	servers := []*server{newServerOver(t, database, 10, time.Minute), newServerOver(t, database, 10, time.Minute)}
	refused, named := 0, 0
	for i := range 16 {
		day := fmt.Sprintf("2027-02-%02d", 1+i)
		var off, same, booked answer
		var both sync.WaitGroup
		body := `{` + []string{`"agent_id":5`, `"location_id":1`, `"service_id":4`, `"agent_id":5,"service_id":4`}[i%4] + `,"date":"` + day + `"}`
		both.Go(func() { off = servers[0].write(http.MethodPost, "/time-off", body) })
		both.Go(func() { same = servers[1].write(http.MethodPost, "/time-off", body) })
		both.Go(func() {
			booked = servers[1].write(http.MethodPost, "/bookings", friday("start_date", `"`+day+`"`, "start_time", `"13:00"`))
		})
		both.Wait()
		if off.status == http.StatusConflict {
			off, same = same, off
		}
		wantCode(t, same, http.StatusConflict, "time_off_exists")
		switch ids := fmt.Sprint(off.want(http.StatusCreated).at("booking_ids")); {
		case booked.status == http.StatusConflict:
			refused++
		case booked.status == http.StatusCreated && ids == fmt.Sprintf("[%v]", booked.at("data", "id")):
			named++
		default:
			t.Errorf("%s: time off with %s, booking %d %s", day, ids, booked.status, booked.body)
		}
	}
	if refused == 0 && named == 0 {
		t.Error("nothing happened")
	}
}
