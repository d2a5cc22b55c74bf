package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
)

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	s := serve(t, env)
	secret := newKey(t, env)
	if !regexp.MustCompile(`^lp_live_[0-9A-Za-z]{38}$`).MatchString(secret) {
		t.Errorf("key of the form %d characters, %s…", len(secret), secret[:min(8, len(secret))])
	}
	wantStatus(t, http.StatusOK, s.url+"/v1/status", secret)
	got := run(t, env, "", "keys", "revoke", "1").want(t, exit.OK)
	expect.Texts(t, got.stdout, "Key 1 is revoked.")
	wantStatus(t, http.StatusUnauthorized, s.url+"/v1/status", secret, "revoked")
	run(t, env, "", "keys", "revoke", "1").want(t, exit.OK)
	run(t, env, "", "keys", "revoke", "2").want(t, exit.Failure, "there is no key with the ID 2")
}

func TestCreatePrintsKey(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	got := run(t, env, "", "keys", "create", "--name", "Kasse 1", "--permissions", "read,write_bookings", "--kind", "test", "--expires", "90d").want(t, exit.OK)
	expect.Texts(t, got.stdout, "lp_test_", "shown only once", "ID 1, name Kasse 1, kind test, permissions read,write_bookings, networks any, expires 2027-02-19 09:30:00 UTC, requests per minute default, per hour default\n")
	expect.NoTexts(t, got.stderr, "lp_test_")
}

func TestListKeys(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := append(settingsFor(db), "SUDO_USER=ada")
	expect.Texts(t, run(t, env, "", "keys", "list").want(t, exit.OK).stdout, "There are no keys")
	expect.Equal(t, "[]\n", run(t, env, "", "keys", "list", "--json").want(t, exit.OK).stdout, "keys list --json")
	run(t, env, "", "keys", "revoke", "1").want(t, exit.Failure, "there is no key with the ID 1")

	first := newKey(t, env, "--per-minute", "5", "--per-hour", "6")
	second := newKey(t, env, "--kind", "test", "--expires", "2026-12-31", "--name", "second")
	run(t, env, "", "keys", "revoke", "1").want(t, exit.OK)
	third := newKey(t, env)
	db.Execute(t, "UPDATE "+db.Prefix+"bookside_api_keys SET expires_at = '2026-11-21 09:30:00' WHERE id = 3")

	table := run(t, env, "", "keys", "list").want(t, exit.OK).stdout
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != 4 {
		t.Fatalf("table:\n%s", table)
	}
	expect.Texts(t, lines[1], "revoked", "lp_live_…"+first[len(first)-4:], "never")
	expect.Texts(t, lines[2], "active", "second", "test", "2027-01-01 00:00:00")
	expect.Texts(t, lines[3], "expired")

	list := run(t, env, "", "keys", "list", "--json").want(t, exit.OK).stdout
	for _, secret := range []string{first, second, third} {
		if strings.Contains(table+list, secret) || strings.Contains(table+list, secret[10:30]) {
			t.Error("a key is shown")
		}
	}
	var got []keyRecord
	expect.NoError(t, json.Unmarshal([]byte(list), &got))
	perMinute, perHour := int64(5), int64(6)
	newYear := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	want := []keyRecord{
		{ID: 1, Name: "test", Kind: "live", Start: "lp_live_", LastFour: first[len(first)-4:], Status: "revoked", Permissions: []string{"read"}, Networks: []string{}, CreatedAt: &now, PerMinute: &perMinute, PerHour: &perHour},
		{ID: 2, Name: "second", Kind: "test", Start: "lp_test_", LastFour: second[len(second)-4:], Status: "active", Permissions: []string{"read"}, Networks: []string{}, CreatedAt: &now, ExpiresAt: &newYear},
		{ID: 3, Name: "test", Kind: "live", Start: "lp_live_", LastFour: third[len(third)-4:], Status: "expired", Permissions: []string{"read"}, Networks: []string{}, CreatedAt: &now, ExpiresAt: &now},
	}
	for i := range want {
		want[i].Agents, want[i].Services, want[i].Locations = []int64{}, []int64{}, []int64{}
		want[i].CreatedBy = "ada, command line"
	}
	expect.Equal(t, want, got)
}

// TestRollKey: a new key has the attributes of the old one and its webhooks, and the old one ends when it
// was told to, but no later than it would have anyway.
func TestRollKey(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := append(settingsFor(db), "SUDO_USER=ada")
	attributes := []string{"--permissions", "read,write_webhooks", "--agents", "3", "--mask-personal", "--networks", "192.0.2.0/24", "--per-hour", "7"}
	old := newKey(t, env, attributes...)
	newKey(t, env, "--expires", "2026-11-22")
	db.Execute(t, `INSERT INTO `+db.Prefix+`bookside_webhooks (name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at)
		SELECT 'x', 'https://example.com', '*', '', '', '', 0, 0, id, 'x', 'enabled', 0, NOW() FROM `+db.Prefix+`bookside_api_keys WHERE id < 3 ORDER BY id`)
	hold := func(key int) {
		db.Execute(t, fmt.Sprintf(`INSERT INTO %sbookside_holds (key_id, agent_id, service_id, location_id, start_date, start_time, end_date, end_time, duration, buffer_before, buffer_after,
			total_attendees, created_at, expires_at) VALUES (%d, 1, 1, 1, '2026-11-30', 600, '2026-11-30', 660, 60, 0, 0, 1, '2026-11-21 09:30:00', '2026-11-21 10:00:00')`, db.Prefix, key))
	}
	hold(1)

	for text, message := range map[string]string{"soon": "write hours or days such as 12h or 7d", "366d": "365 days at most", "7": "write hours", "-1h": "write hours"} {
		run(t, env, "", "keys", "roll", "1", "--overlap", text).want(t, exit.Usage, "--overlap: ", message)
	}
	run(t, env, "", "keys", "roll", "9").want(t, exit.Failure, "there is no valid key with the ID 9")
	output := run(t, env, "", "keys", "roll", "1", "--overlap", "7d").want(t, exit.OK).stdout
	expect.Texts(t, output, "lp_live_", "The old key, 1, expires 2026-11-28 09:30:00 UTC.", "ID 3, name test, kind live, permissions read,write_webhooks, networks 192.0.2.0/24, expires never", "agents 3")
	expect.NoTexts(t, output, old)
	expect.Equal(t, 47, len(run(t, env, "", "keys", "roll", "2", "--overlap", "30d", "--quiet").want(t, exit.OK).stdout), "bytes")
	hold(3)
	run(t, env, "", "keys", "roll", "3", "--overlap", "0").want(t, exit.OK)
	run(t, env, "", "keys", "roll", "3").want(t, exit.Failure, "there is no valid key with the ID 3")

	var got []keyRecord
	expect.NoError(t, json.Unmarshal([]byte(run(t, env, "", "keys", "list", "--json").want(t, exit.OK).stdout), &got))
	statuses := ""
	for i := range got {
		statuses += got[i].Status + " "
		got[i].ID, got[i].Start, got[i].LastFour, got[i].Status = 0, "", "", ""
	}
	day, week := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), now.AddDate(0, 0, 7)
	ends := []*time.Time{&week, &day, &now, &day, nil}
	if len(got) != len(ends) || statuses != "active active expired active active " {
		t.Fatalf("%s%+v", statuses, got)
	}
	for i := range got {
		expect.Equal(t, ends[i], got[i].ExpiresAt, "end of key ", i+1)
		got[i].ExpiresAt = nil
	}
	for _, i := range []int{2, 4} {
		if diff := cmp.Diff(got[0], got[i]); diff != "" || got[i].CreatedBy != "ada, command line" {
			t.Errorf("attributes of key %d: %s", i+1, diff)
		}
	}
	var owners string
	if err := db.SQL.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(key_id ORDER BY id) FROM "+db.Prefix+"bookside_webhooks").Scan(&owners); err != nil || owners != "5,4" {
		t.Errorf("webhooks of %s, %v", owners, err)
	}
	// Clients of a key that stays valid still book with their holds.
	if err := db.SQL.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(key_id ORDER BY id) FROM "+db.Prefix+"bookside_holds").Scan(&owners); err != nil || owners != "1,5" {
		t.Errorf("holds of %s, %v", owners, err)
	}
	db.Execute(t, "ALTER TABLE "+db.Prefix+"bookside_webhooks DROP COLUMN key_id")
	failed := run(t, env, "", "keys", "roll", "1")
	if failed.code == exit.OK || failed.stdout != "" {
		t.Errorf("of a change that was rolled back: %s", failed.stdout)
	}
}

// TestKeysForOnePerson: a key is limited by flags, whose errors are reported, and unlimited again.
func TestKeysForOnePerson(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	says := func(texts string, args ...string) {
		t.Helper()
		expect.Texts(t, run(t, env, "", append([]string{"keys"}, args...)...).want(t, exit.OK).stdout, texts)
	}
	says(", agents 1,2, personal data masked\n", "create", "--name", "ada", "--permissions", "read", "--agents", "2, 1", "--mask-personal")
	for _, wrong := range []string{"", "0", "1,", "-1"} {
		run(t, env, "", "keys", "restrict", "1", "--locations", wrong).want(t, exit.Usage, "--locations: write ids such as 3,4, or any")
	}
	run(t, env, "", "keys", "restrict", "1", "--locations", "x", "--agents", "1,999").want(t, exit.Failure,
		"--agents: there is no agent with the ID 999; write ids or names of these: 1 Miriam ", "2 Jörg Thiessen", `; --locations: there is no location "x"; write`)
	run(t, env, "", "keys", "create", "--name", "x", "--permissions", "read", "--services", "999").want(t, exit.Failure, "--services: there is no service with the ID 999; write ids or names of these: 1 ")
	run(t, env, strings.Repeat("aB3dE6gH9j", 4), "keys", "import", "--name", "x", "--permissions", "read", "--agents", "nobody").want(t, exit.Failure, `--agents: there is no agent "nobody"`)
	says(", agents 2,3, personal data masked\n", "restrict", "1", "--agents", "3,jörg thiessen")
	expect.Texts(t, run(t, env, "", "keys", "list").want(t, exit.OK).stdout, "  agents 2 Jörg Thiessen, 3 ", "; personal data masked  ")
	says(", agents 1,2, personal data masked\n", "restrict", "1", "--agents", "1,2")
	says(", agents 1,2, locations 1\n", "restrict", "1", "--locations", "1", "--mask-personal=false")
	says("per hour default\n", "restrict", "1", "--agents", "any", "--locations", "any")
}

func TestImportKey(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	s := serve(t, env)
	secret := "lp_" + strings.Repeat("aB3dE6gH9j", 4)
	args := []string{"keys", "import", "--name", "old", "--permissions", "read"}
	got := run(t, env, secret+"\n", args...).want(t, exit.OK)
	expect.NoTexts(t, got.stdout+got.stderr, secret)
	wantStatus(t, http.StatusOK, s.url+"/v1/status", secret)
	got = run(t, env, secret, args...).want(t, exit.Failure, "it is stored already")
	expect.NoTexts(t, got.stderr, secret)
	expect.Texts(t, run(t, env, "lp_test_"+strings.Repeat("aB3dE6gH9j", 4), args...).want(t, exit.OK).stdout, "kind test")
	expect.Texts(t, run(t, env, "lp_test_"+strings.Repeat("bB3dE6gH9j", 4), append(args, "--kind", "live")...).want(t, exit.OK).stdout, "kind live")
	expect.Texts(t, run(t, env, "", "keys", "list").want(t, exit.OK).stdout, "  live  ", "  test  ")
	run(t, env, "two words of a sentence", args...).want(t, exit.Failure, "spaces")
	run(t, env, " \n", args...).want(t, exit.Usage, "the standard input is empty")
	run(t, env, "", append(args, secret)...).want(t, exit.Usage, "keys import: it takes flags only, got 1")
}

// TestWeakKeys: a key that can be guessed is imported only with --weak, nothing of it is shown, and check warns of it.
func TestWeakKeys(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	const weak, strong = "passwordpassword", "abdcfehgjilknmpo"
	args := []string{"keys", "import", "--name", "till", "--permissions", "read"}
	rejected := run(t, env, weak, args...).want(t, exit.Failure, "because it repeats a text of fewer than 16 characters;", "keys create", "--weak")
	imported := run(t, env, weak, append(args, "--weak")...).want(t, exit.OK)
	expect.Texts(t, imported.stdout, "can be guessed")
	expect.NoTexts(t, rejected.stderr+imported.stdout, weak)
	run(t, env, strong, args...).want(t, exit.OK)
	expect.Texts(t, run(t, env, "", "keys", "list").want(t, exit.OK).stdout, "  …  ", "  abd…po  ")
	const warning = "minor too short or too simple, so that they can be guessed: 1 (till). Give their clients new ones from keys create, and revoke them."
	expect.Equal(t, warning, checkJSON(t, env, exit.OK).line(monitor.KeysWeak))
	run(t, env, "", "keys", "revoke", "1").want(t, exit.OK)
	expect.Equal(t, "", checkJSON(t, env, exit.OK).line(monitor.KeysWeak), "check warns")
	run(t, env, "bench-key-0123456789", args...).want(t, exit.Failure, "because it has fewer than 16 characters if a row such as 12345 counts as one")
	run(t, env, strings.Repeat("x", 256), args...).want(t, exit.Failure, "longer than 255 characters")
}

func TestKeyFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no name", []string{"--permissions", "read"}, "--name: write 1 to 190 characters"},
		{"long name", []string{"--name", strings.Repeat("ä", 191), "--permissions", "read"}, "--name: "},
		{"name with a line break", []string{"--name", "a\nb", "--permissions", "read"}, "--name: "},
		{"no permissions", []string{"--name", "a"}, "--permissions: write a list such as read"},
		{"unknown permission", []string{"--name", "a", "--permissions", "read,reed"}, `--permissions: permission "reed"`},
		{"unknown kind", []string{"--name", "a", "--permissions", "read", "--kind", "dead"}, "--kind: write live or test"},
		{"bad days", []string{"--name", "a", "--permissions", "read", "--expires", "0d"}, "--expires: write a number of days from 1 to 36500"},
		{"too many days", []string{"--name", "a", "--permissions", "read", "--expires", "99999999999999999999d"}, "--expires: write a number of days"},
		{"bad date", []string{"--name", "a", "--permissions", "read", "--expires", "2027-02-30"}, "--expires: write days such as 90d, or a date"},
		{"past date", []string{"--name", "a", "--permissions", "read", "--expires", "2026-11-20"}, "--expires: this day is in the past"},
		{"far date", []string{"--name", "a", "--permissions", "read", "--expires", "9999-12-31"}, "--expires: write a day within 36500 days"},
		{"no network", []string{"--name", "a", "--permissions", "read", "--networks", "192.0.2.0/24,example.com"}, `--networks: "example.com" is not a network`},
		{"bad limit", []string{"--name", "a", "--permissions", "read", "--per-minute", "-1"}, "--per-minute: write a number from 1"},
		{"no requests per minute", []string{"--name", "a", "--permissions", "read", "--per-minute", "0"}, "--per-minute: write a number from 1"},
		{"bad hourly limit", []string{"--name", "a", "--permissions", "read", "--per-hour", "x"}, "--per-hour: write a number from 1"},
		{"huge hourly limit", []string{"--name", "a", "--permissions", "read", "--per-hour", "1000000001"}, "--per-hour: write a number from 1"},
	}
	for _, test := range tests {
		for _, command := range []string{"create", "import"} {
			t.Run(test.name+", "+command, func(t *testing.T) {
				t.Parallel()
				got := run(t, nil, "lp_0123456789abcdef", append([]string{"keys", command}, test.args...)...)
				got.want(t, exit.Usage, "keys "+command+": "+test.want, "see bookside help keys "+command)
			})
		}
	}
}

// TestRestrictKey: a change takes effect at once on a running server, and changes only
// what the flags name.
func TestRestrictKey(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	run(t, env, "", "keys", "restrict", "1", "--name", "x").want(t, exit.Failure, "there is no key with the ID 1")
	s := serve(t, env)
	secret := newKey(t, env, "--networks", "127.0.0.0/8, 2001:db8::7", "--expires", "90d")
	run(t, env, "", "keys", "restrict", "2", "--name", "x").want(t, exit.Failure, "there is no key with the ID 2")
	for _, step := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{"--name", "till"}, "name till, kind live, permissions read, networks 127.0.0.0/8,2001:db8::7, expires 2027-02-19 09:30:00 UTC, requests per minute default, per hour default\n", 200},
		{[]string{"--networks", "192.0.2.0/24"}, "networks 192.0.2.0/24, expires 2027", 401},
		{[]string{"--networks", "any", "--per-hour", "700"}, "networks any, expires 2027-02-19 09:30:00 UTC, requests per minute default, per hour 700\n", 200},
		{[]string{"--expires", "never", "--per-hour", "default", "--per-minute", "7"}, "expires never, requests per minute 7, per hour default\n", 200},
		{[]string{"--permissions", "read_services"}, "name till, kind live, permissions read_services, networks any, expires never, requests per minute 7, per hour default\n", 200},
	} {
		got := run(t, env, "", append([]string{"keys", "restrict", "1"}, step.args...)...).want(t, exit.OK)
		expect.Texts(t, got.stdout, "Changed.\nID 1, ", step.want)
		wantStatus(t, step.status, s.url+"/v1/status", secret, step.args)
	}
	wantStatus(t, http.StatusForbidden, s.url+"/v1/bookings", secret, "a permission that was taken away")
	run(t, env, "", "keys", "revoke", "1").want(t, exit.OK)
	run(t, env, "", "keys", "restrict", "1", "--name", "gone").want(t, exit.OK)
	expect.Texts(t, run(t, env, "", "keys", "list").want(t, exit.OK).stdout, "gone", "revoked")
}

// TestKeysRequireSite: without a site, no key is created.
func TestKeysRequireSite(t *testing.T) {
	t.Parallel()
	db := fixtures.Shared(t, fixtures.Small(now))
	for _, args := range [][]string{{"list"}, {"revoke", "1"}, {"create", "--name", "a", "--permissions", "read"}} {
		run(t, adminSettings(db), "", append(append([]string{"keys"}, args...), "--prefix", "abc_")...).
			want(t, exit.NoTables, "no LatePoint tables with the prefix abc_; the database has these prefixes: wp_;")
	}
}

// TestCommandsNameWhatTheyLack: a command that the database user may not run says what to grant, and runs
// after that.
func TestCommandsNameWhatTheyLack(t *testing.T) {
	t.Parallel()
	db := small(t)
	newKey(t, settingsFor(db))
	env := account(t, db, grantsExcept(t, db, db.Prefix+"bookside_api_keys")...)
	message := run(t, env, "", "keys", "list").want(t, exit.Refused, "lacks SELECT on the table "+db.Prefix+"bookside_api_keys; run as an administrator").stderr
	grant := regexp.MustCompile(`(?m)^  (GRANT SELECT ON .*);$`).FindStringSubmatch(message)
	if grant == nil {
		t.Fatalf("no statement in %q", message)
	}
	db.Execute(t, grant[1])
	run(t, env, "", "keys", "list").want(t, exit.OK, "")
}
