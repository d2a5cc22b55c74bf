package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestSearch: the search of every page finds bookings, customers and requests, and nothing else.
func TestSearch(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	database.Execute(t, append(aDay,
		`INSERT INTO wp_bookside_requests (id, at, request_id, key_id, user_id, method, route, record_id, tool, status, code, took_us, statements, query, fields, ignored, refused) VALUES
			(1, '2026-11-20 10:00:00.125', 'abc-1', 1, 0, 'GET', '/bookings/:id', 7001, '', 200, '', 4125, 2, '', '', '', 0),
			(2, '2026-11-20 10:00:00.250', 'abc-2', 1, 0, 'GET', '/bookings', 0, '', 200, '', 4125, 2, '', '', '', 0)`)...)
	k.visitor().open("/console/search?q=x").leadsTo("/console/login")
	v := k.login()
	v.open("/console/keys").says(http.StatusOK, `action="/console/search"`, `data-key="b"`)
	v.open("/console/search").says(http.StatusOK, "by code, name, e-mail address, telephone number or id")
	for text, found := range map[string]struct{ with, without string }{
		"CODE7001":       {"/console/bookings/7001", "/console/bookings/7002"},
		" 7002 ":         {"/console/bookings/7002", "/console/bookings/7001"},
		"Lena Hoffmann":  {"when=all&customer=1", "customer=2"},
		"3":              {"when=all&customer=3", "customer=4"},
		"abc-1":          {"/console/requests/1", "/console/requests/2"},
		"bookings/7001":  {"/console/requests/1", "/console/requests/2"},
		"Jörg Müller":    {"Nothing was found", "<table"},
		"Conti":          {"when=all&customer=3", "customer=4"},
		"hoffmann  LENA": {"when=all&customer=1", "customer=2"},
		"offman":         {"when=all&customer=1", "customer=2"},
		"3023 125011":    {"when=all&customer=1", "customer=2"},
		"Hoffmann Jörg":  {"Nothing was found", "<table"},
		"code700":        {"/console/bookings/7001", "Customers"},
		"ODE7001":        {"Nothing was found", "<table"},
		"nobody at all":  {"Nothing was found", "<table"},
		"<b>\xff%_'\\":   {"Nothing was found", "<b>"},
		"99999999999999": {"Nothing was found", "<table"},
	} {
		page := v.open("/console/search?q="+url.QueryEscape(text)).says(http.StatusOK, "<h1>Search</h1>")
		_, main, _ := strings.Cut(string(page.body), "<main")
		if main = strings.ReplaceAll(main, "&amp;", "&"); !strings.Contains(main, found.with) || strings.Contains(main, found.without) {
			t.Errorf("%q: %s", text, main)
		}
	}
	database.Execute(t, "RENAME TABLE wp_bookside_requests TO elsewhere")
	v.open("/console/search?q=CODE7001").says(http.StatusOK, "/console/bookings/7001")
}
