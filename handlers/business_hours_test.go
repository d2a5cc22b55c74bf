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
)

// weeklyRows returns the rows of a scope (agent, service, location) without a date.
func weeklyRows(t testing.TB, database *fixtures.Database, scope string) []string {
	t.Helper()
	return rowsOf(t, database, "SELECT week_day, start_time, end_time FROM wp_latepoint_work_periods WHERE custom_date IS NULL AND CONCAT_WS(',', agent_id, service_id, location_id) = '"+
		scope+"' ORDER BY week_day, start_time")
}

// TestWeeklyHours: a change writes the rows that LatePoint's form saves, for the named days only, and decides which times are free.
func TestWeeklyHours(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	database := s.database
	for name, c := range map[string]struct{ ids, scope string }{"agent": {`"agent_id":5,`, "5,0,0"}, "all three": {`"agent_id":5,"service_id":4,"location_id":"1",`, "5,4,1"}} {
		query := "?agent_id=5"
		if name == "all three" {
			query += "&service_id=4&location_id=1"
		}
		database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE agent_id + service_id + location_id > 0 AND custom_date IS NULL")
		free := s.starts("2027-02-05")
		none := s.get("/business-hours" + query).want(http.StatusOK)
		wantEqual(t, nil, none.at("data", "hours"), "%s: own hours at first: %s", name, none.body)
		const hours = `"hours":{"friday":[{"start_time":"09:00","end_time":"10:00"},{"start_time":"22:00","end_time":"24:00"}],"monday":[]}`
		before := database.Snapshot(t)
		tried := s.write(http.MethodPut, "/business-hours", `{`+c.ids+hours+`,"dry_run":true}`).want(http.StatusOK)
		wantNoWrites(t, "a dry run", before)
		wantEqual(t, "Business hours can be updated; nothing was written", tried.at("message"), "%s: the dry run says", name)
		made := s.write(http.MethodPut, "/business-hours", `{`+c.ids+hours+`}`, "If-Match", none.header.Get("ETag")).want(http.StatusOK)
		wantEqual(t, tried.at("data"), made.at("data"), "%s: the dry run differs", name)
		wantEqual(t, []string{"1|0|0", "5|540|600", "5|1320|1440"}, weeklyRows(t, database, c.scope), "%s rows", name)
		if now := s.starts("2027-02-05"); fmt.Sprint(now) == fmt.Sprint(free) || now[0] != "09:00" {
			t.Errorf("%s: free %v", name, now)
		}
		if closed := s.starts("2027-02-08"); len(closed) > 0 {
			t.Errorf("%s: free on a closed day: %v", name, closed)
		}
		wantCode(t, s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`)), http.StatusConflict, "time_slot_unavailable")
		read := s.get("/business-hours" + query).want(http.StatusOK)
		wantEqual(t, read.at("data"), made.at("data"), "%s: read and made differ", name)
		wantCode(t, s.write(http.MethodPut, "/business-hours", `{`+c.ids+`"hours":{"monday":null}}`, "If-Match", none.header.Get("ETag")), http.StatusPreconditionFailed, "precondition_failed")
		before = database.Snapshot(t)
		s.write(http.MethodPut, "/business-hours", string(read.body[strings.Index(string(read.body), `"data":`)+7:len(read.body)-1])).want(http.StatusOK)
		wantNoWrites(t, "the same hours", before)
		s.write(http.MethodPut, "/business-hours"+query, `{"hours":{"monday":null}}`, "If-Match", read.header.Get("ETag")).want(http.StatusOK)
		if rows := weeklyRows(t, database, c.scope); len(rows) != 2 {
			t.Errorf("%s: without Monday %q", name, rows)
		}
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
		wantEqual(t, want, weeklyRows(t, s.database, "0,0,0"), "%s", name)
	}
}

// TestRefusedHours: mistakes are named, and nothing is written.
func TestRefusedHours(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
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
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.key = s.limitedKey(domain.Scope{Agents: []int64{5}})
	s.get("/business-hours").want(http.StatusOK)
	wantCode(t, s.get("/business-hours?agent_id=1"), http.StatusForbidden, "outside_key_limits")
	before := s.database.Snapshot(t)
	for _, ids := range []string{"", `"agent_id":1,`, `"location_id":1,`, `"agent_id":1,"dry_run":true,`} {
		wantCode(t, s.write(http.MethodPut, "/business-hours", `{`+ids+`"hours":{"monday":[]}}`), http.StatusForbidden, "outside_key_limits")
	}
	wantNoWrites(t, "outside of the limits", before)
	s.write(http.MethodPut, "/business-hours", `{"agent_id":5,"hours":{"monday":[]}}`).want(http.StatusOK)
	if got := s.get("/business-hours?agent_id=5").want(http.StatusOK).at("data", "hours", "monday"); fmt.Sprint(got) != "[]" {
		t.Errorf("own hours %v", got)
	}
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

// TestChangesOfHours: whose times change is in the journal as changed.
func TestChangesOfHours(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	secret, id := f.key("read", "write", "read_changes")
	for ids, want := range map[string]string{`"agent_id":1,`: "agents 1", `"location_id":1,`: "locations 1", `"service_id":2,`: "services 2", ``: "locations 1"} {
		cursor := f.read("/changes", secret).Cursor
		response := f.request(t.Context(), http.MethodPut, "/business-hours", secret, `{`+ids+`"hours":{"sunday":[{"start_time":"03:00","end_time":"04:00"}]}}`)
		noError(t, response.Body.Close())
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", ids, response.StatusCode)
		}
		change := f.wait("/changes?include=record", cursor, secret).Data[0]
		wantEqual(t, want+fmt.Sprint("updated", "api", id), fmt.Sprint(change["resource"], " ", change["resource_id"], change["kind"], change["origin"], change["key_id"]), "%s: %v", ids, change)
	}
}
