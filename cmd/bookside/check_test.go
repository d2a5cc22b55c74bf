package main

import (
	"strings"
	"testing"

	"bookside/fixtures"
)

func TestCheckGood(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	got := run(t, env, "", "check").want(t, exitOK)
	wantTexts(t, got.stdout, "table prefix   wp_\n", "LatePoint      active\n", "its version    2.3.1\n", "its tables     all there\n",
		"time zone      Europe/Berlin, now 2026-11-21 10:30:00\n", "own tables     not there yet; serve and keys create make them\n", "API keys       0 valid of 0\n")

	newKey(t, env)
	newKey(t, env)
	run(t, env, "", "keys", "revoke", "1").want(t, exitOK)
	got = run(t, env, "", "check").want(t, exitOK)
	wantTexts(t, got.stdout, "own tables     all there\n", "API keys       1 valid of 2\n")
	if got.stderr != "" {
		t.Errorf("stderr %q", got.stderr)
	}
}

func TestCheckBad(t *testing.T) {
	t.Parallel()
	const todo = "the site cannot be served:\n  "
	tests := []struct {
		name       string
		statement  string // {prefix} is the site's
		code       int
		wantStdout string
		wantStderr string
	}{
		{"plugin off", "UPDATE {prefix}options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'", exitFailure,
			"LatePoint      LatePoint is not active on this site\n", todo + "LatePoint is not active on this site: activate LatePoint 5"},
		{"table missing", "DROP TABLE {prefix}latepoint_order_meta", exitFailure,
			"its tables     missing wp_latepoint_order_meta\n", todo + "LatePoint tables are missing: activate LatePoint 5"},
		{"old plugin", "UPDATE {prefix}options SET option_value = '1.4.0' WHERE option_name = 'latepoint_db_version'", exitFailure,
			"its version    1.4.0\n", todo + "LatePoint 5 is not installed on this site"},
		{"no version", "DELETE FROM {prefix}options WHERE option_name = 'latepoint_db_version'", exitFailure, "its version    none\n", todo},
		{"no WordPress", "DROP TABLE {prefix}options", exitFailure, "time zone      not known", todo + "No WordPress tables under this prefix"},
		{"no bookings", "DROP TABLE {prefix}latepoint_bookings", exitNoTables, "", "under wp_ or any other prefix"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			execute(t, db.SQL, strings.ReplaceAll(test.statement, "{prefix}", db.Prefix))
			got := run(t, settingsFor(db), "", "check").want(t, test.code, test.wantStderr)
			wantTexts(t, got.stdout, test.wantStdout)
		})
	}
}

func TestCheckUnreachable(t *testing.T) {
	t.Parallel()
	run(t, []string{"BOOKSIDE_DB__DSN=u:p@tcp(127.0.0.1:1)/d"}, "", "check").want(t, exitUnreachable, "the database at 127.0.0.1:1 cannot be reached")
}

func TestCheckWrongPrefix(t *testing.T) {
	t.Parallel()
	db := fixtures.Shared(t, fixtures.Small(now))
	run(t, settingsFor(db), "", "check", "--prefix", "wpx_").want(t, exitNoTables, "no LatePoint tables under the prefix wpx_; this database has them under: wp_;")
}

func TestCheckConfiguration(t *testing.T) {
	t.Parallel()
	run(t, nil, "", "check").want(t, exitUsage, "db.dsn: write user:password@tcp(host:3306)/database")
}

func TestCheckLiveWithoutServer(t *testing.T) {
	t.Parallel()
	free, err := listen(t.Context(), keyListen, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "", "check", "--live", "--set", "admin.listen="+address).want(t, exitFailure, "the server does not answer probes at "+address)
	run(t, nil, "", "check", "--live", "--set", "admin.listen=").want(t, exitFailure, "admin.listen (BOOKSIDE_ADMIN__LISTEN) is empty")
}

func TestDialable(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8081": "127.0.0.1:8081",
		":8081":          "localhost:8081",
		"0.0.0.0:8081":   "localhost:8081",
		"[::]:8081":      "localhost:8081",
		"[::1]:8081":     "[::1]:8081",
		"bookside:8081":  "bookside:8081",
	} {
		if got := dialable(address); got != want {
			t.Errorf("dialable(%q) = %q, want %q", address, got, want)
		}
	}
}
