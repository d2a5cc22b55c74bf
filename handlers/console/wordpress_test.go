package console_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/signed"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/console"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// companion sends requests as WordPress does.
type companion struct {
	*consoleServer
	secret string
	site   string // its fingerprint
}

// fromWordPress returns a companion that the server knows.
func (k *consoleServer) fromWordPress(database *fixtures.Database) *companion {
	k.t.Helper()
	database.Execute(k.t, "INSERT INTO wp_bookside_change_positions (name, signature) VALUES ('site', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')")
	db := openDatabase(k.t, database)
	if err := signed.MakeSecret(k.t.Context(), db, fixedClock, rand.Reader); err != nil {
		k.t.Fatal(err)
	}
	secret, err := signed.Secret(k.t.Context(), db)
	if err != nil {
		k.t.Fatal(err)
	}
	site, err := session.NewPlatform(db, fixedClock).Fingerprint(k.t.Context())
	if err != nil || site == "" {
		k.t.Fatalf("fingerprint %q, %v", site, err)
	}
	return &companion{k, secret, site}
}

// request returns a request and its signed content.
func (c *companion) request(method, path string, form url.Values) (*http.Request, signed.Request) {
	c.t.Helper()
	body := ""
	if method == http.MethodPost {
		body = form.Encode()
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.admin.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		c.t.Fatal(err)
	}
	return request, signed.Request{
		Receiver: signed.ToServer, Site: c.site, Method: method, Target: path, Body: []byte(body), At: c.clock, Nonce: hex.EncodeToString(nonce),
	}
}

// send sends a request and reads the answer.
func (c *companion) send(request *http.Request) response {
	c.t.Helper()
	answer, err := c.admin.Client().Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if !json.Valid(body) {
		c.t.Errorf("%s %s: %d %s", request.Method, request.URL.Path, answer.StatusCode, body)
	}
	return response{t: c.t, status: answer.StatusCode, header: answer.Header, body: body}
}

// ask sends a signed request.
func (c *companion) ask(method, path string, form url.Values) response {
	c.t.Helper()
	request, content := c.request(method, path, form)
	request.Header.Set(signed.Header, content.Header(c.secret))
	answer := c.send(request)
	// Forms and lists are signed; refusals need not be.
	if got, want := answer.header.Get(signed.Header), content.AnswerHeader(c.secret, answer.status, answer.body); got != want && (got != "" || strings.Contains(string(answer.body), `"fields"`) || answer.status == http.StatusOK) {
		c.t.Errorf("%s %s: the answer is signed %q, want %q", method, path, got, want)
	}
	return answer
}

// askJSON sends a signed question in JSON. The answer may be of any kind.
func (c *companion) askJSON(path string, question any) response {
	c.t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		c.t.Fatal(err)
	}
	request, content := c.request(http.MethodPost, path, nil)
	request.Body, request.ContentLength, content.Body = io.NopCloser(bytes.NewReader(body)), int64(len(body)), body
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(signed.Header, content.Header(c.secret))
	answer, err := c.admin.Client().Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response{t: c.t, status: answer.StatusCode, header: answer.Header, body: text}
}

// formOf is the form in a response, with the names of its wrong fields.
type formOf struct {
	Nonce, Version, Problem string
	Fields                  []struct{ Name, Type, Label, Value, Error string }
}

func (r response) form() (f formOf, wrong map[string]string) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, &f); err != nil {
		r.t.Fatal(err)
	}
	wrong = map[string]string{}
	for _, field := range f.Fields {
		if field.Error != "" {
			wrong[field.Name] = field.Error
		}
	}
	return f, wrong
}

// contains fails the test unless a response has these texts.
func (r response) contains(status int, texts ...string) response {
	r.t.Helper()
	r.want(status)
	for _, text := range texts {
		if !strings.Contains(string(r.body), text) {
			r.t.Errorf("no %s in %s", text, r.body)
		}
	}
	return r
}

// TestWordPressManagesKeys: WordPress gets the console's forms with their errors by field. Keys created,
// changed or rolled there take effect at once, and record the WordPress user as their creator.
func TestWordPressManagesKeys(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	c := k.fromWordPress(database)
	empty, _ := c.ask(http.MethodGet, "/wordpress/keys/new", nil).contains(http.StatusOK,
		`"name":"networks","type":"lines","label":"Networks"`, `{"name":"read only","hint":"sees everything","permissions":["read"]}`,
		`{"value":"test","text":"test, with separate limits"}`, `{"resource":"","cells":[{"value":"read","checked":false}`).form()
	var types []string
	for _, field := range empty.Fields {
		types = append(types, field.Name+" "+field.Type)
	}
	want := []string{
		"name text", "kind choices", "permissions permissions", "networks lines", "agents boxes", "services boxes", "locations boxes", "mask_personal box", "expires date",
		"per_minute text", "per_hour text",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	form := url.Values{"nonce": {empty.Nonce}, "person": {"ada"}, "name": {"Kasse"}, "kind": {"live"}, "permissions": {"read_bookings,read_booking"}, "networks": {"192.0.2.1x"}, "agents": {"999"}}
	typed, wrong := c.ask(http.MethodPost, "/wordpress/keys/new", form).contains(http.StatusUnprocessableEntity, `"value":"Kasse"`, `{"value":"read_bookings","checked":true}`).form()
	if !strings.Contains(wrong["permissions"], "did you mean read_bookings?") || !strings.Contains(wrong["networks"], "is not a network") || !strings.Contains(wrong["agents"], "999") || len(wrong) != 3 {
		t.Errorf("errors %v", wrong)
	}
	form = merge(form, url.Values{"nonce": {typed.Nonce}, "permissions": {"read_bookings"}, "networks": {"127.0.0.0/8\n192.0.2.7"}, "agents": {"3"}})
	var created struct {
		Secret string
		ID     int64
	}
	if err := json.Unmarshal(c.ask(http.MethodPost, "/wordpress/keys/new", form).contains(http.StatusOK).body, &created); err != nil {
		t.Fatal(err)
	}
	k.get("/v1/services", http.Header{"X-Api-Key": {created.Secret}}).want(http.StatusUnauthorized) // from a network that the key excludes
	c.ask(http.MethodPost, "/wordpress/keys/new", form).contains(http.StatusConflict, "already submitted")

	path := "/wordpress/keys/" + strconv.FormatInt(created.ID, 10)
	stored, _ := c.ask(http.MethodGet, path, nil).contains(http.StatusOK, `"name":"networks","type":"lines","label":"Networks","hint":`, `"value":"127.0.0.0/8\n192.0.2.7"`).form()
	changed := url.Values{"version": {stored.Version}, "person": {"ada"}}
	for _, field := range stored.Fields {
		changed.Set(field.Name, field.Value)
	}
	c.ask(http.MethodPost, path, merge(changed, url.Values{"version": {"x"}})).contains(http.StatusConflict, "Somebody else has changed this key")
	c.ask(http.MethodPost, path, merge(changed, url.Values{"networks": {""}, "permissions": {"read_services"}})).contains(http.StatusOK, "{}")
	k.get("/v1/services", http.Header{"X-Api-Key": {created.Secret}}).want(http.StatusOK)
	k.get("/v1/bookings", http.Header{"X-Api-Key": {created.Secret}}).want(http.StatusForbidden)

	rolls, _ := c.ask(http.MethodGet, path+"/roll", nil).contains(http.StatusOK, `"name":"overlap","type":"choices","label":"The old key stays valid for"`).form()
	roll := url.Values{"nonce": {rolls.Nonce}, "overlap": {"999d"}}
	if _, wrong := c.ask(http.MethodPost, path+"/roll", roll).contains(http.StatusUnprocessableEntity).form(); wrong["overlap"] == "" {
		t.Error("a long overlap is not wrong")
	}
	c.ask(http.MethodPost, path+"/roll", merge(roll, url.Values{"overlap": {"12h"}})).contains(http.StatusOK, `"secret":"lp_live_`, `"id":`+strconv.FormatInt(created.ID+1, 10))
	c.ask(http.MethodGet, "/wordpress/keys/77", nil).contains(http.StatusNotFound, "There is no such key")
	c.ask(http.MethodGet, "/wordpress/calendars", nil).contains(http.StatusNotFound, "There is no such page")
	c.ask(http.MethodGet, "/wordpress/keys", nil).contains(http.StatusOK, `"name":"Kasse"`, `"agents":"3 `, `"permissions":["read_services"]`, `"status":"active"`)
	if by := k.madeBy(created.ID); by != "ada, WordPress" {
		t.Errorf("made by %q", by)
	}
	for _, revealed := range []string{created.Secret[12:], c.secret} {
		if strings.Contains(k.pages.String()+k.log.String(), revealed) {
			t.Error("a secret is in the log")
		}
	}
}

// madeBy returns who made a key.
func (k *consoleServer) madeBy(id int64) string {
	k.t.Helper()
	all, err := k.keys.List(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, key := range all {
		if key.ID == id {
			return key.CreatedBy
		}
	}
	return ""
}

// TestWordPressReads: WordPress shows webhooks with their log, changes and overlaps.
func TestWordPressReads(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serveSite(t, database, func(s *console.Site) { s.Proxy.Address = "https://bookings.example.com" })
	c := k.fromWordPress(database)
	for path, want := range map[string]string{"console": `{"address":"https://bookings.example.com","path":"/console/bookings"}`, "webhooks": `{"webhooks":[]}`, "changes": `{"changes":[]}`, "overlaps": `{"overlaps":[],"more":false}`} {
		if got := strings.TrimSpace(string(c.ask(http.MethodGet, "/wordpress/"+path, nil).contains(http.StatusOK).body)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	database.Execute(t, overlapping,
		`INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at)
			VALUES (1, 'CRM', 'https://crm.example/hook?token=geheim', 'booking.created', '3', '', '', 0, 0, 0, 'whsec_geheim', 'enabled', 0, '2026-11-21 08:00:00')`,
		`INSERT INTO wp_bookside_webhook_deliveries (id, webhook_id, number, event, resource, resource_id, at, data, status, tries, due_at, created_at)
			VALUES (1, 1, 5, 'booking.created', 'bookings', 7001, '2026-11-21 08:00:00', '{}', 'delivered', 2, '2026-11-21 08:00:00', '2026-11-21 08:00:00')`,
		`INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES
			(1, 1, '2026-11-21 08:00:00', 0, 5, 'no answer', ''), (1, 1, '2026-11-21 08:00:00', 204, 31, '', '')`,
		`INSERT INTO wp_bookside_change_positions (name, position) VALUES ('journal', 2)`,
		`INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, origin, actor_id, at, old_status, new_status, agent_id, service_id, location_id, customer_id) VALUES
			(1, 'customers', 1, 'created', 'site', 5, '2026-11-21 08:00:00', NULL, NULL, NULL, NULL, NULL, NULL),
			(2, 'bookings', 7001, 'updated', 'api', 1, '2026-11-21 09:00:00', 'pending', 'approved', 1, 1, 1, 1)`)
	if seen := c.ask(http.MethodGet, "/wordpress/webhooks", nil).contains(http.StatusOK, `"name":"CRM"`, `"events":["booking.created"],"enabled":true`, `"agents":"3 `); strings.Contains(string(seen.body), "geheim") {
		t.Errorf("a secret is in %s", seen.body)
	}
	c.ask(http.MethodGet, "/wordpress/webhooks/1", nil).contains(http.StatusOK, `{"event":"booking.created","resource_id":7001,"created_at":"2026-11-21 08:00:00","state":"delivered","tries":2,"status":204,"failure":"","took_ms":31}`)
	c.ask(http.MethodGet, "/wordpress/webhooks/2", nil).contains(http.StatusNotFound, "There is no such webhook")
	first, second := `{"number":1,"resource":"customers","resource_id":1,"kind":"created","origin":"site","actor_id":5,"key":"","person":"","at":"2026-11-21 08:00:00","old_status":"","new_status":""}`,
		`{"number":2,"resource":"bookings","resource_id":7001,"kind":"updated","origin":"api","actor_id":1,"key":"TestWordPressReads","person":"","at":"2026-11-21 09:00:00","old_status":"pending","new_status":"approved"}`
	c.ask(http.MethodGet, "/wordpress/changes", nil).contains(http.StatusOK, `{"changes":[`+second+","+first+"]}")
	c.ask(http.MethodGet, "/wordpress/changes?before=2", nil).contains(http.StatusOK, `{"changes":[`+first+"]}")
	c.ask(http.MethodGet, "/wordpress/overlaps", nil).contains(http.StatusOK, `"buffers_only":false,"bookings":[{"id":7001,"code":"","service":"`, `"date":"2026-12-06","start":540,"end":600}`, `{"id":7004,`, `"more":false`)
}

// TestOnlyWordPressIsAnswered: without a current signature of exactly this request with this site's secret,
// nothing is done or revealed, and a request is served once.
func TestOnlyWordPressIsAnswered(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	c := k.fromWordPress(database)
	form := url.Values{"nonce": {"x"}, "name": {"forged"}, "kind": {"live"}, "permissions": {"read"}}
	for name, change := range map[string]func(r *http.Request, content *signed.Request, secret *string){
		"a wrong secret":     func(_ *http.Request, _ *signed.Request, secret *string) { *secret = strings.Repeat("0", 64) },
		"no secret":          func(_ *http.Request, _ *signed.Request, secret *string) { *secret = "" },
		"another body":       func(_ *http.Request, content *signed.Request, _ *string) { content.Body = []byte("name=other") },
		"another path":       func(_ *http.Request, content *signed.Request, _ *string) { content.Target = "/wordpress/keys/1" },
		"another query":      func(r *http.Request, _ *signed.Request, _ *string) { r.URL.RawQuery = "q=x" },
		"another method":     func(_ *http.Request, content *signed.Request, _ *string) { content.Method = http.MethodPut },
		"a copy of the site": func(_ *http.Request, content *signed.Request, _ *string) { content.Site = strings.Repeat("0", 16) },
		"sent back":          func(_ *http.Request, content *signed.Request, _ *string) { content.Receiver = signed.WordPress },
		"a minute and more":  func(_ *http.Request, content *signed.Request, _ *string) { content.At = now.Add(-61 * time.Second) },
		"a minute from now":  func(_ *http.Request, content *signed.Request, _ *string) { content.At = now.Add(61 * time.Second) },
		"a nonce of no form": func(_ *http.Request, content *signed.Request, _ *string) { content.Nonce = "short" },
		"a session": func(r *http.Request, _ *signed.Request, secret *string) {
			r.AddCookie(&http.Cookie{Name: "bookside_console", Value: "x"})
			*secret = "x"
		},
		"a key of the API": func(r *http.Request, _ *signed.Request, secret *string) {
			r.Header.Set("X-Api-Key", k.key)
			*secret = "x"
		},
		"a page of a browser": func(r *http.Request, _ *signed.Request, _ *string) { r.Header.Set("Origin", "https://evil.example") },
	} {
		request, content := c.request(http.MethodPost, "/wordpress/keys/new", form)
		secret := c.secret
		change(request, &content, &secret)
		request.Header.Set(signed.Header, content.Header(secret))
		if name == "a page of a browser" {
			answer, err := c.admin.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %d, %v", name, answer.StatusCode, err)
			}
			continue
		}
		if answer := c.send(request); answer.status != http.StatusForbidden || strings.Contains(string(answer.body), "fields") {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	for _, path := range []string{"/wordpress/keys", "/wordpress/keys/1", "/wordpress/webhooks", "/wordpress/changes", "/wordpress/overlaps", "/wordpress/requests", "/wordpress/free-times", "/wordpress/console", "/wordpress/", "/wordpress/anything"} {
		request, _ := c.request(http.MethodGet, path, nil)
		if answer := c.send(request); answer.status != http.StatusForbidden && answer.status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", path, answer.status, answer.body)
		}
	}
	if got := k.keyNames(); !slices.Equal(got, []string{"TestOnlyWordPressIsAnswered"}) {
		t.Errorf("keys %q", got)
	}
	// A request that was sent before, and the same one concurrently.
	request, content := c.request(http.MethodGet, "/wordpress/keys", nil)
	request.Header.Set(signed.Header, content.Header(c.secret))
	answers := make(chan int, 4)
	var wait sync.WaitGroup
	for range cap(answers) {
		wait.Go(func() { answers <- c.send(request.Clone(t.Context())).status })
	}
	wait.Wait()
	close(answers)
	served := 0
	for status := range answers {
		if status == http.StatusOK {
			served++
		} else if status != http.StatusForbidden {
			t.Errorf("status %d", status)
		}
	}
	if again := c.send(request.Clone(t.Context())); served != 1 || again.status != http.StatusForbidden || !strings.Contains(string(again.body), "sent before") {
		t.Errorf("%d were served, and then %d %s", served, again.status, again.body)
	}
	k.clock = now.Add(59 * time.Second)
	c.send(request.Clone(t.Context())).contains(http.StatusForbidden, "sent before")
	k.clock = now.Add(2 * time.Minute)
	c.send(request.Clone(t.Context())).contains(http.StatusForbidden, "clocks")
}

// keyNames returns the names of all keys.
func (k *consoleServer) keyNames() (names []string) {
	k.t.Helper()
	all, err := k.keys.List(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	for _, key := range all {
		names = append(names, key.Name)
	}
	return names
}

// TestWrongSignaturesAreLimited: after some wrong signatures an address has to wait, and the log is not
// flooded; WordPress is still served.
func TestWrongSignaturesAreLimited(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	c := k.fromWordPress(database)
	refused := map[int]int{}
	for range 30 {
		request, content := c.request(http.MethodGet, "/wordpress/keys", nil)
		request.Header.Set(signed.Header, content.Header("guess"))
		answer := c.send(request)
		refused[answer.status]++
		if answer.status == http.StatusTooManyRequests && answer.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if refused[http.StatusForbidden] != 20 || refused[http.StatusTooManyRequests] != 10 {
		t.Errorf("statuses %v", refused)
	}
	if lines := strings.Count(k.pages.String(), "in the name of WordPress"); lines != 20 {
		t.Errorf("%d lines in the log", lines)
	}
	c.ask(http.MethodGet, "/wordpress/keys", nil).contains(http.StatusOK)
	c.ask(http.MethodPost, "/wordpress/keys/new", url.Values{"name": {strings.Repeat("x", 70_000)}}).contains(http.StatusRequestEntityTooLarge, "too long")
	k.visitor().post("/console/login", url.Values{"token": {k.token()}}).leadsTo("/console")
}

// TestWordPressAsksForUsers: WordPress books for a user within what their role allows, and gets the API's response as it is,
// also if the console is closed to browsers.
func TestWordPressAsksForUsers(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	type question struct {
		User         keys.Key
		Method, Path string
		Body         string
	}
	var asked []question
	k := serveSite(t, database, func(s *console.Site) {
		s.Closed, s.Proxy.Address = true, "https://bookings.example.com"
		s.Ask = func(user keys.Key, r *http.Request) (int, http.Header, []byte) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			asked = append(asked, question{user, r.Method, strings.TrimPrefix(r.URL.RequestURI(), "/v1"), string(body)})
			return http.StatusConflict, nil, []byte(`{"code":"taken"}`)
		}
	})
	c := k.fromWordPress(database)
	const answer = `{"status":409,"answer":{"code":"taken"}}`
	form := url.Values{"user": {"7"}, "agents": {"3,4"}, "services": {"any"}, "locations": {"any"}, "content": {`{"service_id":1}`}}
	c.ask(http.MethodPost, "/wordpress/bookings", form).contains(http.StatusOK, answer)
	c.ask(http.MethodPost, "/wordpress/bookings/12%2F3", form).contains(http.StatusOK, answer)
	c.ask(http.MethodGet, "/wordpress/availability?service_id=1&date=2026-12-01", nil).contains(http.StatusOK, answer)
	for _, missing := range []string{"user", "agents", "services", "locations"} {
		c.ask(http.MethodPost, "/wordpress/bookings", merge(form, url.Values{missing: {""}})).want(http.StatusBadRequest)
	}
	writer := keys.Key{Kind: keys.User, UserID: 7, Permissions: []string{"write_bookings"}, Scope: domain.Scope{Agents: []int64{3, 4}}}
	want := []question{
		{writer, http.MethodPost, "/bookings", `{"service_id":1}`},
		{writer, http.MethodPut, "/bookings/12%2F3", `{"service_id":1}`},
		{keys.Key{Kind: keys.User, Permissions: []string{"read_availability"}}, http.MethodGet, "/availability?service_id=1&date=2026-12-01", ""},
	}
	if diff := cmp.Diff(want, asked, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	c.ask(http.MethodGet, "/wordpress/console", nil).contains(http.StatusOK, `{"address":"","path":""}`)
}

// TestWordPressWithoutTables: a server that cannot check a signature or store a nonce serves nothing.
func TestWordPressWithoutTables(t *testing.T) {
	t.Parallel()
	closed := monitor.NewAdmin(slog.New(slog.DiscardHandler), nil)
	closed.Handle(console.WordPressPath, console.New(fixedClock, slog.New(slog.DiscardHandler), nil))
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/wordpress/keys", nil)
	request.Host = "localhost"
	if closed.ServeHTTP(recorder, request); recorder.Code != http.StatusServiceUnavailable || !strings.Contains(recorder.Body.String(), "not connected") {
		t.Errorf("starting: %d %s", recorder.Code, recorder.Body)
	}

	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	c := k.fromWordPress(database)
	for _, table := range []string{"wp_bookside_secrets", "wp_bookside_admin_tokens"} {
		database.Execute(t, "RENAME TABLE "+table+" TO elsewhere")
		c.ask(http.MethodGet, "/wordpress/keys", nil).contains(http.StatusServiceUnavailable, "Tables of Bookside are missing")
		database.Execute(t, "RENAME TABLE elsewhere TO "+table)
	}
	database.Execute(t, "UPDATE wp_bookside_change_positions SET signature = '' WHERE name = 'site'")
	c.ask(http.MethodGet, "/wordpress/keys", nil).contains(http.StatusForbidden)
	database.Execute(t, "UPDATE wp_bookside_change_positions SET signature = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' WHERE name = 'site'", "DELETE FROM wp_bookside_secrets")
	c.ask(http.MethodGet, "/wordpress/keys", nil).contains(http.StatusForbidden)
	database.Execute(t, "INSERT INTO wp_bookside_secrets (name, secret, created_at) VALUES ('wordpress', '"+c.secret+"', NOW())")
	c.ask(http.MethodGet, "/wordpress/keys", nil).contains(http.StatusOK)

	// A read-only database.
	account, _, err := wpdb.Config{DSN: database.DSN, Prefix: database.Prefix}.Account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	database.Execute(t, "REVOKE INSERT ON wp_bookside_admin_tokens FROM "+account)
	form := url.Values{"nonce": {"x"}, "name": {"late"}, "kind": {"live"}, "permissions": {"read"}}
	c.ask(http.MethodPost, "/wordpress/keys/new", form).contains(http.StatusServiceUnavailable, "The database does not let Bookside do this")
	database.Execute(t, "GRANT INSERT ON wp_bookside_admin_tokens TO "+account, "REVOKE INSERT ON wp_bookside_api_keys FROM "+account)
	failed, _ := c.ask(http.MethodPost, "/wordpress/keys/new", form).contains(http.StatusServiceUnavailable, `"value":"late"`).form()
	if !strings.Contains(failed.Problem, "The database does not let Bookside do this") || len(k.keyNames()) != 1 {
		t.Errorf("problem %q, keys %q", failed.Problem, k.keyNames())
	}
}

// TestAPIDoesNotKnowWordPress: the companion's routes are neither in the API nor in its document.
func TestAPIDoesNotKnowWordPress(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	c := k.fromWordPress(database)
	for _, path := range []string{"/wordpress/keys", "/v1/wordpress/keys"} {
		_, content := c.request(http.MethodGet, path, nil)
		k.get(path, http.Header{"X-Api-Key": {k.key}, signed.Header: {content.Header(c.secret)}}).want(http.StatusNotFound)
	}
	if document := k.get("/v1/openapi.json", nil); document.status != http.StatusOK || strings.Contains(string(document.body), console.WordPressPath+"/") {
		t.Errorf("the document: %d", document.status)
	}
}
