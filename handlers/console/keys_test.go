package console_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/console"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// consoleServer is the console on an admin address, with the API of the same site.
type consoleServer struct {
	*api
	tokens *keys.AdminTokens
	admin  *httptest.Server
	pages  *fixtures.Buffer // log of the console
}

// serve serves the console for a database, also under the given host names.
func serve(t testing.TB, database *fixtures.Database, hosts ...string) *consoleServer {
	t.Helper()
	return serveSite(t, database, func(*console.Site) {}, hosts...)
}

// serveSite serves the console for a changed site.
func serveSite(t testing.TB, database *fixtures.Database, change func(*console.Site), hosts ...string) *consoleServer {
	t.Helper()
	k := &consoleServer{api: newAPI(t, database), pages: &fixtures.Buffer{}}
	clock := func() time.Time { return k.clock }
	k.tokens = keys.NewAdminTokens(openDatabase(t, database), clock, rand.Reader)
	log := slog.New(slog.NewJSONHandler(k.pages, nil))
	examined := openDatabase(t, database)
	page := console.New(clock, log, german())
	site := console.Site{
		Platform: session.NewPlatform(openDatabase(t, database), clock), Keys: k.keys, Tokens: k.tokens,
		Figures: k.figures, Requests: k.kept, API: "http://127.0.0.1:8080/v1", Timeout: time.Minute,
		Examine: func(ctx context.Context) (diagnose.Report, error) {
			return diagnose.Examine(ctx, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix}, examined, clock)
		},
		Limits: ratelimit.Options{Enabled: true, Live: ratelimit.Limits{PerMinute: 60, PerHour: 3600}, Test: ratelimit.Limits{PerMinute: 100, PerHour: 1000}},
	}
	site.Ask = func(user keys.Key, r *http.Request) (int, http.Header, []byte) {
		return handlers.AskFor(k.handler, user, r)
	}
	site.Record = handlers.WebhookOptions(site.Platform, k.keys, false).Record
	change(&site)
	page.Open(site)
	admin := monitor.NewAdmin(log, hosts)
	admin.Mount(console.Path, page)
	admin.Handle(console.WordPressPath, page)
	k.admin = httptest.NewServer(admin)
	t.Cleanup(k.admin.Close)
	return k
}

// token issues a login token.
func (k *consoleServer) token() string {
	k.t.Helper()
	token, err := k.tokens.Issue(k.t.Context(), "ada")
	if err != nil {
		k.t.Fatal(err)
	}
	return token
}

// visitor is a browser that keeps cookies and does not follow redirects.
type visitor struct {
	*consoleServer
	client http.Client
}

func (k *consoleServer) visitor() *visitor {
	k.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		k.t.Fatal(err)
	}
	return &visitor{k, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// login returns a visitor after the login.
func (k *consoleServer) login() *visitor {
	k.t.Helper()
	v := k.visitor()
	v.post("/console/login", url.Values{"token": {k.token()}}).leadsTo("/console")
	return v
}

// page is a response with its text, entities decoded.
type page struct {
	response
	text string
}

func (v *visitor) open(path string) page {
	v.t.Helper()
	return v.ask(http.MethodGet, path, nil, nil)
}

// post submits a form.
func (v *visitor) post(path string, form url.Values) page {
	v.t.Helper()
	return v.ask(http.MethodPost, path, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form)
}

func (v *visitor) ask(method, path string, header http.Header, form url.Values) page {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.admin.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	maps.Copy(request.Header, header)
	request.Host = header.Get("Host")
	r, err := v.client.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{response{t: v.t, status: r.StatusCode, header: r.Header, body: body}, html.UnescapeString(string(body))}
}

// fill opens a page and submits its form with some values changed; nil removes a field.
func (v *visitor) fill(path string, changed url.Values) page {
	v.t.Helper()
	opened := v.open(path)
	opened.want(http.StatusOK)
	return v.post(path, merge(opened.form(path), changed))
}

// merge changes values of a form. Ticking permissions implies the custom preset.
func merge(form, changed url.Values) url.Values {
	form = maps.Clone(form)
	if changed["permissions"] != nil {
		form.Set("preset", "custom")
	}
	maps.Copy(form, changed)
	return form
}

var (
	formTag     = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)".*?</form>`)
	inputTag    = regexp.MustCompile(`<input [^>]*>`)
	textareaTag = regexp.MustCompile(`(?s)<textarea [^>]*name="([^"]*)"[^>]*>(.*?)</textarea>`)
	selectTag   = regexp.MustCompile(`(?s)<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>`)
	chosenTag   = regexp.MustCompile(`<option value="([^"]*)" selected>`)
)

// attribute returns the value of an attribute of a tag.
func attribute(tag, name string) string {
	match := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(tag)
	if match == nil {
		return ""
	}
	return html.UnescapeString(match[1])
}

// form returns what a browser would send for the page's form with an action.
func (p page) form(action string) url.Values {
	p.t.Helper()
	for _, form := range formTag.FindAllStringSubmatch(string(p.body), -1) {
		if form[1] != action {
			continue
		}
		values := url.Values{}
		for _, tag := range inputTag.FindAllString(form[0], -1) {
			switch attribute(tag, "type") {
			case "checkbox", "radio":
				if !strings.Contains(tag, " checked") {
					continue
				}
			case "search": // has no name
				continue
			}
			values.Add(attribute(tag, "name"), attribute(tag, "value"))
		}
		for _, area := range textareaTag.FindAllStringSubmatch(form[0], -1) {
			values.Add(area[1], html.UnescapeString(area[2]))
		}
		for _, list := range selectTag.FindAllStringSubmatch(form[0], -1) {
			for _, chosen := range chosenTag.FindAllStringSubmatch(list[2], -1) {
				values.Add(list[1], html.UnescapeString(chosen[1]))
			}
		}
		return values
	}
	p.t.Fatalf("no form for %s: %s", action, p.body)
	return nil
}

// says fails the test unless the page has this status and these texts.
func (p page) says(status int, texts ...string) page {
	p.t.Helper()
	p.want(status)
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.t.Errorf("no %q in: %s", text, p.text)
		}
	}
	return p
}

func (p page) leadsTo(path string) {
	p.t.Helper()
	p.want(http.StatusSeeOther)
	if got := p.header.Get("Location"); got != path {
		p.t.Errorf("leads to %q, want %q", got, path)
	}
}

var secretForm = regexp.MustCompile(`lp_(live|test)_[0-9A-Za-z]{38}`)

// secret returns the key that the page shows.
func (p page) secret() string {
	p.t.Helper()
	secret := secretForm.FindString(p.text)
	if secret == "" {
		p.t.Fatalf("no key in: %s", p.text)
	}
	return secret
}

// TestLifeOfAKey creates, changes and revokes a key, and checks that the API follows each time.
func TestLifeOfAKey(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t) // the embedded engine cannot list the customers of limited keys
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
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
	if diff := cmp.Diff(want, form); diff != "" {
		t.Errorf("the form of the key: %s", diff)
	}

	v.fill("/console/keys/2", url.Values{"name": {"Kasse 2"}, "permissions": {"read"}, "networks": {"198.51.100.0/24"}}).leadsTo("/console/keys?done=changed&id=2")
	v.open("/console/keys?done=changed&id=2").says(http.StatusOK, "Kasse 2", `role="status"`, "Key 2 was changed.")
	k.get("/v1/customers", header).want(http.StatusUnauthorized)
	v.fill("/console/keys/2", url.Values{
		"networks": {""}, "expires": {""}, "per_hour": {""}, "per_minute": {"5"}, "agents": {"-", ""}, "services": {"-", "4"}, "mask_personal": nil,
	}).leadsTo("/console/keys?done=changed&id=2")
	k.get("/v1/customers", header).want(http.StatusOK)
	five := int64(5)
	stored, _, err := k.keys.Find(t.Context(), 2)
	stored.Start, stored.LastFour = "", ""
	key := keys.Key{
		ID: 2, Name: "Kasse 2", Kind: keys.Test, Permissions: []string{"read"}, PerMinute: &five, Scope: domain.Scope{Services: []int64{4}, Locations: []int64{1}},
		CreatedAt: domain.Timestamp(now.Format(time.DateTime)), CreatedBy: "ada, console", LastUsedAt: domain.Timestamp(now.Format(time.DateTime)),
	}
	if diff := cmp.Diff(key, stored); err != nil || diff != "" {
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
	k.get("/v1/customers", header).want(http.StatusOK)
	v.fill("/console/keys/2/revoke", nil).leadsTo("/console/keys?done=revoked&id=2")
	v.open("/console/keys?done=revoked&id=2").says(http.StatusOK, "Key 2 was revoked.", "Revoked and expired keys (1)")
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
		if diff := cmp.Diff(want, form); diff != "" {
			t.Errorf("%s: the input: %s", path, diff)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	check(v.fill("/console/keys/1", input), "/console/keys/1", accepted)
	after, err := k.keys.List(t.Context())
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
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
	if err != nil {
		t.Fatal(err)
	}
	k.clock = now.AddDate(0, 0, 7)
	path := fmt.Sprintf("/console/keys/%d", key.ID)
	v := k.login()
	v.open("/console/keys").says(http.StatusOK, "Revoked and expired keys (1)", "since")
	v.fill(path, url.Values{"name": {"b"}}).leadsTo(fmt.Sprintf("/console/keys?done=changed&id=%d", key.ID))
	want := key
	want.Name = "b"
	got, _, err := k.keys.Find(t.Context(), key.ID)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(diff, err)
	}
	v.fill(path, url.Values{"expires": {"2027-01-01"}}).leadsTo(fmt.Sprintf("/console/keys?done=changed&id=%d", key.ID))
	if got, _, err := k.keys.Find(t.Context(), key.ID); err != nil || got.Status(k.clock) != keys.Active {
		t.Error(got, err)
	}
}

// TestFormsTakeEffectOnce: a form submitted twice creates one key, and a form with outdated terms does not
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
	if _, _, err := k.keys.Restrict(t.Context(), 2, keys.Patch{Networks: &networks}); err != nil {
		t.Fatal(err)
	}
	again := v.post("/console/keys/2", merge(form, url.Values{"name": {"twice"}})).says(http.StatusConflict, "Somebody else has changed this key", `value="twice"`)
	if key, _, err := k.keys.Find(t.Context(), 2); err != nil || key.Name != "once" || len(key.Networks) != 1 {
		t.Errorf("%+v, %v", key, err)
	}
	v.post("/console/keys/2", again.form("/console/keys/2")).leadsTo("/console/keys?done=changed&id=2")
}
