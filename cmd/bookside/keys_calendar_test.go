package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestCalendarLifecycle: a calendar is created, read, counted, listed and
// revoked.
func TestCalendarLifecycle(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	expect.Texts(t, run(t, env, "", "keys", "list").want(t, exit.OK).stdout, "There are no keys")
	run(t, env, "", "keys", "revoke", "1").want(t, exit.Failure, "there is no key with the ID 1")
	s := serve(t, env)
	db.Execute(t, "UPDATE "+db.Prefix+"latepoint_agents SET first_name = 'Ada', last_name = 'Ngo' WHERE id = 1")
	path := strings.TrimSpace(run(t, env, "", "keys", "create", "--calendar", "--agent", "1", "--quiet").want(t, exit.OK).stdout)
	if !regexp.MustCompile(`^/wp-json/latepoint-api/v1/agents/1/calendar\.ics\?api_key=lp_calendar_[0-9A-Za-z]{38}$`).MatchString(path) {
		t.Errorf("the path has %d characters: %.70s…", len(path), path)
	}
	status, body := get(t, s.url+path, "")
	if status != http.StatusOK || !strings.HasPrefix(body, "BEGIN:VCALENDAR\r\n") || !strings.Contains(body, "X-WR-CALNAME:Ada Ngo\r\n") || !strings.Contains(body, "SUMMARY:Busy\r\n") {
		t.Errorf("%d: %.500s", status, body)
	}
	created := run(t, env, "", "keys", "create", "--calendar", "--location", "1", "--details", "full", "--expires", "90d", "--name", "lobby").want(t, exit.OK)
	expect.Texts(t, created.stdout, "/locations/1/calendar.ics?api_key=lp_calendar_", "shown only once", "ID 2, name lobby, location 1, details full, expires 2027-02-19 09:30:00 UTC\n")
	expect.NoTexts(t, created.stderr, "lp_calendar_")

	secret := path[strings.LastIndex(path, "=")+1:]
	table := run(t, env, "", "keys", "list").want(t, exit.OK).stdout
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != 3 {
		t.Fatalf("table:\n%s", table)
	}
	expect.Texts(t, lines[1], "Ada Ngo", "calendar", "agents 1 Ada Ngo", "busy", "…"+secret[len(secret)-4:], "active", "never")
	expect.Texts(t, lines[2], "lobby", "locations 1 ", "full", "2027-02-19 09:30:00")
	list := run(t, env, "", "keys", "list", "--json").want(t, exit.OK).stdout
	var got []keyRecord
	expect.NoError(t, json.Unmarshal([]byte(list), &got))
	if len(got) != 2 || got[0].Kind != "calendar" || got[0].Details != "busy" || got[0].Requests != 1 || got[0].LastUsedAt == nil || len(got[0].Agents) != 1 || len(got[1].Locations) != 1 {
		t.Errorf("%+v", got)
	}
	if text := table + list + s.stderr.String(); strings.Contains(text, secret) || strings.Contains(text, secret[12:40]) {
		t.Error("a secret is shown or logged")
	}

	run(t, env, "", "keys", "restrict", "1", "--permissions", "read").want(t, exit.Failure, "there is no key with the ID 1")
	expect.Texts(t, run(t, env, "", "keys", "revoke", "1").want(t, exit.OK).stdout, "Calendar 1 is revoked.")
	wantStatus(t, http.StatusUnauthorized, s.url+path, "", "revoked")
}

// TestCalendarFlags: errors in flags are reported, and nothing is created.
func TestCalendarFlags(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"nobody":              {nil, exit.Usage, "name either --agent or --location"},
		"both":                {[]string{"--agent", "1", "--location", "1"}, exit.Usage, "name either --agent or --location"},
		"several agents":      {[]string{"--agent", "1,2"}, exit.Usage, "--agent: write an id such as 3"},
		"an empty agent":      {[]string{"--agent", ""}, exit.Usage, "--agent: write an id such as 3"},
		"other details":       {[]string{"--agent", "1", "--details", "all"}, exit.Usage, "--details: write busy, names or full"},
		"an empty name":       {[]string{"--agent", "1", "--name", ""}, exit.Usage, "--name: write 1 to 190 characters"},
		"a past day":          {[]string{"--agent", "1", "--expires", "2026-01-01"}, exit.Usage, "--expires: this day is in the past"},
		"an unknown agent":    {[]string{"--agent", "999"}, exit.Failure, "there is no agent with the ID 999"},
		"an unknown location": {[]string{"--location", "999"}, exit.Failure, "there is no location with the ID 999"},
		"an unknown name":     {[]string{"--agent", "ada"}, exit.Failure, `--agent: there is no agent "ada"; write ids or names of these: 1 `},
		"a list of nobody":    {[]string{"--agent", "1, ada"}, exit.Failure, `--agent: there is no agent "ada"`},
		"names of several":    {[]string{"--agent", "1, Jörg Thiessen"}, exit.Usage, "--agent: write an id such as 3"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, env, "", append([]string{"keys", "create", "--calendar"}, c.args...)...).want(t, c.code, c.text)
		})
	}
	expect.Texts(t, run(t, env, "", "keys", "list", "--json").want(t, exit.OK).stdout, "[]")
}
