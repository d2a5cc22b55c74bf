package console_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/console"
)

// TestLifeOfAKey creates, changes and revokes a key, and checks that the API follows each time.
func TestLifeOfAKey(t *testing.T) {
	t.Parallel()
	k, database := serveSmall(t)
	v := k.login()
	v.open("/console/keys").says(http.StatusOK, "TestLifeOfAKey", "read everything, write everything, delete everything", "60 a minute", "never")
	created := v.fill("/console/keys/new", url.Values{
		"name": {"Kasse 1"}, "kind": {"test"}, "permissions": {"read_bookings", "read_services"}, "networks": {"192.0.2.0/24\r\n2001:db8::7"},
		"expires": {"2027-01-31"}, "per_hour": {"70"}, "agents": {"-", "", "3", "4"}, "locations": {"-", "1"}, "mask_personal": {"1"},
	}).says(http.StatusOK, "Kasse 1", "only time")
	secret := created.secret()
	header := http.Header{"X-Api-Key": {secret}}
	k.get("/v1/bookings", header).want(http.StatusOK)
	k.get("/v1/customers", header).want(http.StatusForbidden)
	v.open("/console/keys").says(http.StatusOK, "Kasse 1", "read bookings, read services", `<code class="network">192.0.2.0/24</code><br><code class="network">2001:<wbr>db8::<wbr>7</code>`, "100 a minute</span>", "70 an hour</span>", "only agents 3 ", "only location 1 ",
		`title="2027-02-01 00:00 UTC">2027-02-01 01:00</time>`, `title="2026-11-21 00:43 UTC">2026-11-21 01:43</time>`)

	form := v.open("/console/keys/2").says(http.StatusOK).form("/console/keys/2")
	for _, name := range []string{"csrf", "version"} {
		form.Del(name)
	}
	want := url.Values{
		"name": {"Kasse 1"}, "preset": {"custom"}, "permissions": {"read_bookings", "read_services"}, "networks": {"192.0.2.0/24\n2001:db8::7"},
		"expires": {"2027-01-31"}, "per_minute": {""}, "per_hour": {"70"}, "agents": {"-", "3", "4"}, "services": {"-", ""}, "locations": {"-", "1"}, "mask_personal": {"1"},
	}
	expect.Equal(t, want, form, "the form of the key")

	v.fill("/console/keys/2", url.Values{"name": {"Kasse 2"}, "permissions": {"read"}, "networks": {"198.51.100.0/24"}}).leadsTo("/console/keys?done=changed&id=2")
	v.open("/console/keys?done=changed&id=2").says(http.StatusOK, "Kasse 2", `role="status"`, "Key 2 was changed.")
	k.get("/v1/customers", header).want(http.StatusUnauthorized)
	v.fill("/console/keys/2", url.Values{
		"networks": {""}, "expires": {""}, "per_hour": {""}, "per_minute": {"5"}, "agents": {"-", ""}, "services": {"-", "4"}, "mask_personal": nil,
	}).leadsTo("/console/keys?done=changed&id=2")
	k.get("/v1/bookings", header).want(http.StatusOK)
	five := int64(5)
	stored, _, err := k.keys.Find(t.Context(), 2)
	stored.Start, stored.LastFour = "", ""
	key := keys.Key{
		ID: 2, Name: "Kasse 2", Kind: keys.Test, Permissions: []string{"read"}, PerMinute: &five, Scope: domain.Scope{Services: []int64{4}, Locations: []int64{1}},
		CreatedAt: domain.Timestamp(now.Format(time.DateTime)), CreatedBy: "ada, console", LastUsedAt: domain.Timestamp(now.Format(time.DateTime)),
	}
	if diff := gocmp.Diff(key, stored); err != nil || diff != "" {
		t.Error(diff, err)
	}

	v.fill("/console/keys/2", url.Values{"permissions": {"read", "write_users"}}).leadsTo("/console/keys?done=changed&id=2")
	v.open("/console/keys").says(http.StatusOK, "read everything, write users")
	if page := v.open("/console/keys/2").text; strings.Contains(page, `value="read_users"`) || strings.Contains(page, `name="permissions" value=""`) {
		t.Errorf("boxes without a permission: %s", page)
	}

	cutOff := merge(v.open("/console/keys/2").form("/console/keys/2"), url.Values{"name": {"Kasse 3"}})
	cutOff.Del("services")
	v.post("/console/keys/2", cutOff).leadsTo("/console/keys?done=changed&id=2")

	// What the key is limited to stays so while it cannot be read, or once it does not exist any more.
	database.Execute(t, "DELETE FROM wp_latepoint_services WHERE id = 4", "RENAME TABLE wp_latepoint_agents TO wp_other")
	v.fill("/console/keys/2", url.Values{"name": {"Kasse 3"}}).leadsTo("/console/keys?done=changed&id=2")
	v.open("/console/keys/2").says(http.StatusOK, "Write ids, separated by commas", `id="services" name="services" value="4"`)
	database.Execute(t, "RENAME TABLE wp_other TO wp_latepoint_agents")
	v.fill("/console/keys/2", url.Values{"name": {"Kasse 2"}}).leadsTo("/console/keys?done=changed&id=2")
	if stored, _, err := k.keys.Find(t.Context(), 2); err != nil || !slices.Equal(stored.Scope.Services, []int64{4}) || stored.Name != "Kasse 2" {
		t.Errorf("%+v, %v", stored, err)
	}

	v.open("/console/keys/2/revoke").says(http.StatusOK, "Kasse 2", "cannot be undone")
	k.get("/v1/bookings", header).want(http.StatusOK)
	v.fill("/console/keys/2/revoke", nil).leadsTo("/console/keys?done=revoked&id=2")
	v.open("/console/keys?done=revoked&id=2").says(http.StatusOK, "Key 2 was revoked.", "Revoked and expired (1)")
	k.get("/v1/customers", header).want(http.StatusUnauthorized)
	v.open("/console/keys/2").says(http.StatusConflict, "is revoked")
	v.open("/console/keys/2/revoke").says(http.StatusConflict, "is revoked")
	v.open("/console/keys/3").says(http.StatusNotFound, "no such key")
	v.open("/console/keys/x").says(http.StatusNotFound, "no such key")

	for _, line := range []string{`"msg":"console: key created","key_id":2`, `"msg":"console: key changed","key_id":2`, `"msg":"console: key revoked","key_id":2`} {
		if !strings.Contains(k.pages.String(), line) {
			t.Errorf("no %s in the log: %s", line, k.pages)
		}
	}
}

// TestInvalidFormKeepsItsInput: all errors are shown beside their fields with the
// input, and nothing is stored.
func TestInvalidFormKeepsItsInput(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	input := url.Values{
		"name": {strings.Repeat("ä", 191)}, "kind": {"dead"}, "permissions": {"read_bookings", "fly"}, "networks": {"192.0.2.0/24\nexample.com"}, "expires": {"2020-01-31"},
		"per_minute": {"0"}, "per_hour": {"many"}, "agents": {"-"}, "services": {"-", "1", "77"}, "locations": {"-", "99"},
	}
	wrong := map[string]string{
		"name": "Write 1 to 190 characters without line breaks.", "permissions": `Permission "fly": write read,`, "networks": `"example.com" is not a network;`,
		"expires": "This day is in the past.", "per_minute": "Write a number from 1 to 1000000000.", "per_hour": "Write a number from 1 to 1000000000.",
		"agents": "Tick at least one, or all.", "services": "One of these does not exist any more.", "locations": "One of these does not exist any more.",
	}
	check := func(p page, path string, want url.Values) {
		t.Helper()
		p.says(http.StatusUnprocessableEntity, "<title>Error: ", `role="alert"`, "Nothing was saved.")
		for field, text := range wrong {
			p.says(http.StatusUnprocessableEntity, `<a href="#`+field+`">`+text, `id="`+field+`-error">`+text)
			if !regexp.MustCompile(`aria-describedby="` + field + `-hint ` + field + `-error"`).Match(p.body) {
				t.Errorf("%s: the field does not name its error", field)
			}
		}
		form := p.form(path)
		for _, name := range []string{"csrf", "nonce", "version"} {
			form.Del(name)
		}
		expect.Equal(t, want, form, path, ": the input")
	}
	accepted := merge(input, url.Values{"permissions": {"read_bookings"}}) // a permission without a box
	accepted.Del("kind")
	sent := v.fill("/console/keys/new", input)
	check(sent, "/console/keys/new", accepted)
	sent.says(http.StatusUnprocessableEntity, `id="kind-error">Write live or test.`, "> 77 (deleted)<")
	german := v.ask(http.MethodPost, "/console/keys/new", http.Header{"Accept-Language": {"de"}, "Content-Type": {"application/x-www-form-urlencoded"}}, merge(v.open("/console/keys/new").form("/console/keys/new"), input))
	german.says(http.StatusUnprocessableEntity, "Schreiben Sie 1 bis 190 Zeichen", `"example.com" ist kein Netz`, "Kreuzen Sie mindestens eines an").wantGerman("errors")
	v.fill("/console/keys/new", url.Values{"preset": {"custom"}}).says(http.StatusUnprocessableEntity, `id="name-error">Write 1 to`, `id="permissions-error">Tick at least one.`)
	before, err := k.keys.List(t.Context())
	expect.NoError(t, err)
	check(v.fill("/console/keys/1", input), "/console/keys/1", accepted)
	after, err := k.keys.List(t.Context())
	if diff := gocmp.Diff(before, after); err != nil || diff != "" {
		t.Error(diff, err)
	}

	// Once corrected, the same page is accepted.
	form := merge(sent.form("/console/keys/new"), url.Values{
		"name": {"right"}, "kind": {"live"}, "permissions": {"read"}, "networks": {""}, "expires": {""}, "per_minute": {""}, "per_hour": {""},
		"agents": {"-", ""}, "services": {"-", "", "1"}, "locations": {"any"},
	})
	v.post("/console/keys/new", form).says(http.StatusOK).secret()
}

// TestUnchangedFieldsAreNotChecked: an expired key can still be renamed.
func TestUnchangedFieldsAreNotChecked(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	end, limit := now.Add(36*time.Hour), int64(3)
	_, key, err := k.keys.Create(t.Context(), keys.NewKey{Name: "a", Kind: keys.Live, Permissions: []string{"write", "read"}, ExpiresAt: &end, PerMinute: &limit})
	expect.NoError(t, err)
	k.clock = now.AddDate(0, 0, 7)
	path := fmt.Sprintf("/console/keys/%d", key.ID)
	v := k.login()
	v.open("/console/keys").says(http.StatusOK, "Revoked and expired (1)", "since")
	v.fill(path, url.Values{"name": {"b"}}).leadsTo(fmt.Sprintf("/console/keys?done=changed&id=%d", key.ID))
	want := key
	want.Name = "b"
	got, _, err := k.keys.Find(t.Context(), key.ID)
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Error(diff, err)
	}
	v.fill(path, url.Values{"expires": {"2027-01-01"}}).leadsTo(fmt.Sprintf("/console/keys?done=changed&id=%d", key.ID))
	if got, _, err := k.keys.Find(t.Context(), key.ID); err != nil || got.Status(k.clock) != keys.Active {
		t.Error(got, err)
	}
}

// TestFormsTakeEffectOnce: a form submitted twice creates one key, and a form with outdated attributes does not
// undo somebody else's change.
func TestFormsTakeEffectOnce(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	form := merge(v.open("/console/keys/new").form("/console/keys/new"), url.Values{"name": {"once"}, "permissions": {"read"}})
	v.post("/console/keys/new", form).says(http.StatusOK).secret()
	v.post("/console/keys/new", form).says(http.StatusConflict, "already submitted")
	k.clock = now.Add(30 * time.Minute)
	v.post("/console/keys/new", form).says(http.StatusConflict, "already submitted")
	if keys, err := k.keys.List(t.Context()); err != nil || len(keys) != 2 {
		t.Errorf("%d keys, %v", len(keys), err)
	}

	form = v.open("/console/keys/2").form("/console/keys/2")
	networks := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	_, _, err := k.keys.Restrict(t.Context(), 2, keys.Patch{Networks: &networks})
	expect.NoError(t, err)
	again := v.post("/console/keys/2", merge(form, url.Values{"name": {"twice"}})).says(http.StatusConflict, "Somebody else has changed this key", `value="twice"`)
	if key, _, err := k.keys.Find(t.Context(), 2); err != nil || key.Name != "once" || len(key.Networks) != 1 {
		t.Errorf("%+v, %v", key, err)
	}
	v.post("/console/keys/2", again.form("/console/keys/2")).leadsTo("/console/keys?done=changed&id=2")
}

// TestRoll: the new key has the attributes of the old one, which works until it expires. A form creates one key.
func TestRoll(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	old := v.fill("/console/keys/new", url.Values{"name": {"till"}, "permissions": {"read_bookings"}, "agents": {"1"}}).secret()
	form := v.open("/console/keys/2/roll").says(http.StatusOK, "till", "never used").form("/console/keys/2/roll")
	v.post("/console/keys/2/roll", merge(form, url.Values{"overlap": {"31d"}})).says(http.StatusUnprocessableEntity, "Choose how long")
	v.post("/console/keys/2/roll", merge(form, url.Values{"csrf": {"x"}})).says(http.StatusForbidden, "earlier login")
	secret := v.post("/console/keys/2/roll", merge(form, url.Values{"overlap": {"7d"}})).
		says(http.StatusOK, "Key 3 was created", "The old key, 2, is valid until", "2026-11-28 00:43").secret()
	v.post("/console/keys/2/roll", form).says(http.StatusConflict, "already submitted")
	v.open("/console/keys").says(http.StatusOK, "only agent 1", "until ")
	status := func(secret string, want int) {
		t.Helper()
		k.get("/v1/bookings", http.Header{"X-Api-Key": {secret}}).want(want)
	}
	status(old, http.StatusOK)
	status(secret, http.StatusOK)
	k.get("/v1/services", http.Header{"X-Api-Key": {secret}}).want(http.StatusForbidden)
	v.fill("/console/keys/3/roll", url.Values{"overlap": {"0"}}).says(http.StatusOK, "Key 4 was created")
	status(secret, http.StatusUnauthorized)
	v.fill("/console/keys/3/roll", url.Values{"overlap": {"1d"}}).says(http.StatusConflict, "has expired")
	v.open("/console/keys/9/roll").says(http.StatusNotFound, "no such key")
	k.clock = now.AddDate(0, 0, 7)
	status(old, http.StatusUnauthorized)
	if log := k.pages.String(); !strings.Contains(log, `"msg":"console: key rolled","key_id":2,"new_key_id":3`) || strings.Contains(log, secret) {
		t.Error(log)
	}
}

// TestExampleThroughTheSite: where a web server forwards to the API, a new key comes with a line for the
// site's own address, and a calendar has its whole address there, if that is known.
func TestExampleThroughTheSite(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	const local, path = "http://127.0.0.1:8080", "/wp-json/latepoint-api/v1"
	for _, test := range []struct {
		name, home string
		proxied    bool
		basePath   string
		want       string // "" for none
	}{
		{"proxied", "https://practice.example", true, path, "https://practice.example" + path},
		{"below the root", "https://practice.example/blog/", true, "/blog" + path, "https://practice.example/blog" + path},
		{"not proxied", "https://practice.example", false, path, ""},
		{"another path", "https://practice.example", true, "/v1", ""},
		{"no address", "practice", true, path, ""},
		{"a quote", "https://practice.example'$(reboot)'", true, path, ""},
	} {
		t.Run(test.name, func(t *testing.T) { // sequential, because all change the same site
			database.Execute(t, "DELETE FROM wp_options WHERE option_name = 'home'")
			_, err := database.SQL.ExecContext(t.Context(), "INSERT INTO wp_options (option_name, option_value) VALUES ('home', ?)", test.home)
			expect.NoError(t, err)
			k := serveSite(t, database, func(s *console.Site) { s.API, s.Proxied = local+test.basePath, test.proxied })
			made := k.login().fill("/console/keys/new", url.Values{"name": {"app"}}).says(http.StatusOK, "' '"+local+test.basePath+"/status'")
			docs, lines := local+test.basePath, 1
			if test.want != "" {
				docs, lines = test.want, 2
				made.says(http.StatusOK, "' '"+test.want+"/status'")
			}
			made.says(http.StatusOK, `href="`+docs+`/docs"`)
			expect.Equal(t, lines, strings.Count(made.text, "curl -H"), "lines for curl")
			calendar := k.login().fill("/console/keys/new-calendar", url.Values{"subject": {"agent 1"}}).
				says(http.StatusOK, cmp.Or(test.want, local+test.basePath)+"/agents/1/calendar.ics?api_key=lp_calendar_")
			expect.Equal(t, test.want != "", strings.Contains(calendar.text, "as a QR code"), "a QR code")
		})
	}
}

// TestLifeOfACalendar: a calendar is created, its address shown once, listed among the keys, and revoked.
func TestLifeOfACalendar(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	const path = "/console/keys/new-calendar"
	v.fill(path, url.Values{"details": {"all"}, "expires": {"2020-01-01"}, "name": {"kept"}}).
		says(http.StatusUnprocessableEntity, "Choose an agent or a location.", "Write busy, names or full.", "This day is in the past.", `value="kept"`)
	for _, none := range []string{"location 999", "agent x", "agent", "service 1", "1"} {
		v.fill(path, url.Values{"subject": {none}}).says(http.StatusUnprocessableEntity, "Choose an agent or a location.", "location 1 Practice by the Park")
	}
	form := merge(v.open(path).form(path), url.Values{"subject": {"agent 1"}, "details": {"names"}, "name": {"lobby <b>"}})
	made := v.post(path, form).says(http.StatusOK, "Calendar 2 was made", "the only time")
	address := regexp.MustCompile(`/agents/1/calendar\.ics\?api_key=lp_calendar_[0-9A-Za-z]{38}`).FindString(made.text)
	if address == "" || made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s", made.body)
	}
	v.post(path, form).says(http.StatusConflict, "already submitted")
	k.get("/v1"+address, nil).want(http.StatusOK)
	secret := address[strings.LastIndex(address, "=")+1:]
	list := v.open("/console/keys").says(http.StatusOK, "lobby <b>", "bookings of agent 1 Miriam Albers: names", "console")
	if strings.Contains(list.text, secret) || strings.Contains(string(list.body), "<b>") || strings.Contains(k.pages.String()+k.log.String(), secret) {
		t.Error("the secret is shown or logged, or a name is not escaped")
	}
	v.open("/console/keys/2").want(http.StatusNotFound) // it cannot be changed
	v.fill("/console/keys/2/revoke", nil).leadsTo("/console/keys?done=revoked&id=2")
	k.get("/v1"+address, nil).want(http.StatusUnauthorized)
	v.open("/console/keys/2/revoke").says(http.StatusNotFound, "no such key")
}
