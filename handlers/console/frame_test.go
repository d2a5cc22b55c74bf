package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/signed"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/console"
)

// framed is what the companion prints, or where it sends the browser.
type framed struct{ Title, Content, Location string }

const wpAdmin = "https://site.example/wp-admin/admin.php?page=bookside"

// look asks for a page in the name of a user of WordPress, by POST if there is a form.
func (c *companion) look(status int, path string, form url.Values, texts ...string) framed {
	c.t.Helper()
	return c.lookAs(status, map[string]any{"path": path, "form": form}, texts...)
}

func (c *companion) lookAs(status int, question map[string]any, texts ...string) (f framed) {
	c.t.Helper()
	method := http.MethodGet
	if form, ok := question["form"].(url.Values); ok && form != nil {
		method, question["form"] = http.MethodPost, form.Encode()
	} else {
		delete(question, "form")
	}
	for name, value := range map[string]any{"method": method, "user_id": 7, "login": "ada", "language": "en-US", "address": wpAdmin, "nonce": "n0nce"} {
		if _, set := question[name]; !set {
			question[name] = value
		}
	}
	answer := c.askJSON("/wordpress/page", question)
	if err := json.Unmarshal(answer.contains(status).body, &f); err != nil {
		c.t.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(f.Content, text) {
			c.t.Errorf("no %s in %s", text, f.Content)
		}
	}
	return f
}

// hidden returns the value of a field of a form that nobody sees.
func (f framed) hidden(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)"`).FindStringSubmatch(f.Content)
	if found == nil {
		t.Fatalf("no %s in %s", name, f.Content)
	}
	return found[1]
}

// TestWordPressShowsTheConsole: pages of the console come as parts of a page of wp-admin, where their links and forms
// lead; what a form does is done in the name of the user.
func TestWordPressShowsTheConsole(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serveSite(t, database, func(s *console.Site) { s.Closed = true })
	c := k.fromWordPress(database)
	const to = `https://site.example/wp-admin/admin.php?page=bookside&amp;at=`
	overview := c.look(http.StatusOK, "", nil, `<div id="bookside" lang="en"><template shadowrootmode="open"><style>`, `href="`+to+`%2Fkeys"`)
	if strings.Contains(overview.Content, `"/console`) || strings.Contains(overview.Content, "Log out") || overview.Title != "Overview" {
		t.Errorf("%q: %s", overview.Title, overview.Content)
	}
	form := c.look(http.StatusOK, "/keys/new", nil, `<form method="post" action="`+to+`%2Fkeys%2Fnew"`)
	if form.hidden(t, "_wpnonce") != "n0nce" {
		t.Error("the form lacks the nonce of WordPress")
	}
	typed := url.Values{"nonce": {form.hidden(t, "nonce")}, "name": {"Kasse"}, "kind": {"live"}, "permissions": {"read_bookings"}, "networks": {"192.0.2.1x"}, "preset": {"custom"}}
	c.look(http.StatusUnprocessableEntity, "/keys/new", typed, `value="Kasse"`, `<a href="#networks">`, "is not a network")
	created := c.look(http.StatusOK, "/keys/new", merge(typed, url.Values{"networks": {""}}), "lp_live_")
	if by := k.madeBy(2); by != "ada, WordPress" || created.Title != "Key 2 was created" {
		t.Errorf("%q was made by %q", created.Title, by)
	}
	c.look(http.StatusOK, "/keys?q=Kas", nil, `<input type="hidden" name="page" value="bookside">`, `<input type="hidden" name="at" value="/keys">`, `value="Kas"`)
	if done := c.look(http.StatusOK, "/keys/2/revoke", url.Values{"csrf": {"x"}}); done.Location != wpAdmin+"&at=%2Fkeys%3Fdone%3Drevoked%26id%3D2" {
		t.Errorf("after the form: %q", done.Location)
	}
	german := c.lookAs(http.StatusOK, map[string]any{"path": "/keys", "language": "de-DE"}, `lang="de"`)
	if german.Title != "API-Schlüssel" {
		t.Errorf("title %q", german.Title)
	}
	c.look(http.StatusNotFound, "/anything", nil, "There is no such page")
	for path, method := range map[string]string{"/../v1/bookings": http.MethodGet, "x": http.MethodGet, "/keys": http.MethodDelete} {
		if answer := c.askJSON("/wordpress/page", map[string]any{"path": path, "method": method}); answer.header.Get(signed.Header) != "" {
			t.Errorf("%s %s: %d %s", method, path, answer.status, answer.body)
		}
	}
	if revealed := k.pages.String() + k.log.String(); strings.Contains(revealed, c.secret) {
		t.Error("the secret is in the log")
	}
}

// TestWordPressGetsTheReport: Site Health shows what needs a person.
func TestWordPressGetsTheReport(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	c := k.fromWordPress(database)
	database.Execute(t, overlapping)
	c.askJSON("/wordpress/report", map[string]any{"method": http.MethodGet, "address": wpAdmin}).contains(http.StatusOK, `"level":"`, "admin.php?page=bookside")
}
