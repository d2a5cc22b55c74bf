package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// reported returns what /readyz?verbose says about a code, with its level; "" for nothing.
func (s *testServer) reported(code monitor.Code) string {
	s.t.Helper()
	_, body := get(s.t, "http://"+s.admin()+"/readyz?verbose", "")
	var r monitor.VerboseReadiness
	if err := json.Unmarshal([]byte(body), &r); err != nil || r.Status != monitor.StatusReady {
		s.t.Fatalf("%v: %s", err, body)
	}
	return checkReport{Report: r.Report}.line(code)
}

// TestRevokedUnderTheServer: if the database user loses a write privilege while the server runs, /readyz?verbose
// reports it and names the table, until it is back.
func TestRevokedUnderTheServer(t *testing.T) {
	t.Parallel()
	db := small(t)
	owner := settingsFor(db)
	run(t, owner, "", "migrate").want(t, exit.OK)
	open, err := wpdb.Open(t.Context(), wpdb.Config{DSN: db.DSN, Prefix: db.Prefix})
	expect.NoError(t, err)
	defer func() { _ = open.Close() }()
	schema, err := open.Schema(t.Context(), "")
	expect.NoError(t, err)
	grants := []string{"SELECT, UPDATE, DELETE, ALTER ON *"}
	for _, table := range wpdb.Tables() {
		if schema.Has(table) {
			grants = append(grants, "INSERT ON "+open.FullName(table))
		}
	}
	env := account(t, db, grants...)
	dsn := settings.Lookup(env, "BOOKSIDE_DB__DSN")
	parts, _ := settings.ParseDSN(dsn)
	name, _, _ := strings.Cut(dsn, ":")
	user := "'" + name + "'@'%'"
	key := newKey(t, env, "--permissions", "read,write")
	s := serve(t, env)
	s.eventually("a first look", func() bool { return s.reported(monitor.WritesGood) != "" })

	db.Execute(t, "REVOKE INSERT ON "+parts.Database+".wp_bookside_change_inbox FROM "+user)
	if status, body := write(t, http.MethodPost, s.url+"/v1/customers", key, `{"first_name":"Ada","last_name":"L","email":"ada@example.org"}`); status != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", status, body)
	}
	const lacking = "minor the database user lacks INSERT on wp_bookside_change_inbox: requests that write there are refused. "
	s.eventually("the word of /readyz?verbose", func() bool { return strings.HasPrefix(s.reported(monitor.WritesRefused), lacking) })
	got := run(t, env, "", "check").want(t, exit.OK)
	expect.Texts(t, got.stdout, "! writes refused", strings.TrimPrefix(lacking, "minor "), "GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON `"+parts.Database+"`.`wp_bookside_change_inbox`")
	db.Execute(t, "GRANT INSERT ON "+parts.Database+".wp_bookside_change_inbox TO "+user)
	s.eventually("that all is well", func() bool { return s.reported(monitor.WritesGood) != "" })
	expect.Texts(t, s.stderr.String(), "requests that write are refused", "the database user may write again")
}
