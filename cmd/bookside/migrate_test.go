package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
)

// The table of keys of an earlier version, without a column and an index.
const (
	earlierKeys   = "ALTER TABLE wp_bookside_api_keys DROP COLUMN networks, DROP KEY key_hash"
	addColumn     = "ALTER TABLE `wp_bookside_api_keys` ADD COLUMN networks VARCHAR(2200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''"
	addIndex      = "ALTER TABLE `wp_bookside_api_keys` ADD UNIQUE KEY key_hash (key_hash)"
	upToDate      = "The tables of Bookside are those of this version.\n"
	needMigration = "tables of Bookside wait for bookside migrate"
)

// TestServeMigrates: a new version updates its own tables when it starts.
func TestServeMigrates(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	secret := newKey(t, env)
	db.Execute(t, earlierKeys)
	s := serve(t, env)
	wantStatus(t, http.StatusOK, s.url+"/v1/status", secret)
	expect.Texts(t, run(t, env, "", "migrate").want(t, exit.OK).stdout, upToDate)
	expect.Texts(t, s.stderr.String(), "ADD COLUMN networks", "ADD UNIQUE KEY key_hash")
}

// TestServeWaitsForMigration: if the database user may not alter tables, requests get a 503 instead of
// silence, and once somebody else has run migrate, they are served.
func TestServeWaitsForMigration(t *testing.T) {
	t.Parallel()
	db := small(t)
	owner := settingsFor(db)
	secret := newKey(t, owner)
	env := account(t, db, "SELECT, INSERT, UPDATE, DELETE, CREATE ON *")
	db.Execute(t, earlierKeys)
	run(t, env, "", "check").want(t, exit.Failure, "own tables: columns or indexes of this version are missing. Run bookside migrate, or "+addColumn+"; "+addIndex)
	run(t, env, "", "keys", "list").want(t, exit.Failure, "run bookside migrate, which adds them with\n  "+addColumn+";\n  "+addIndex+"\n")
	run(t, env, "", "migrate").want(t, exit.Refused, "lacks ALTER on the table wp_bookside_api_keys; run as an administrator of the database")

	s, stdout := launch(t, env)
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	s.eventually("a line in the log", func() bool { return strings.Contains(s.stderr.String(), "run bookside migrate") })
	wantProbe(t, "http://"+s.admin(), monitor.Readiness{Status: monitor.StatusStarting, Database: needMigration, Platform: "unknown"})
	status, body := get(t, s.early()+"/v1/status", secret)
	if want := `{"code":"platform_not_available","message":"The server is starting","data":{"status":503}}`; status != http.StatusServiceUnavailable || body != want {
		t.Errorf("status %d: %s, want %s", status, body, want)
	}
	expect.Texts(t, run(t, owner, "", "migrate", "--dry-run").want(t, exit.OK).stdout, addColumn+";\n"+addIndex+";\n")
	expect.Texts(t, run(t, owner, "", "migrate").want(t, exit.OK).stdout, addColumn+";\n"+addIndex+";\n")
	s.eventually("a served request", func() bool {
		status, _ := get(t, s.early()+"/v1/status", secret)
		return status == http.StatusOK
	})
	expect.Succeeded(t, s.stop())
}

// TestLostColumns: columns that own tables lose under a running server are added again if its database user
// may; otherwise the server reports it until somebody else has done it.
func TestLostColumns(t *testing.T) {
	t.Parallel()
	for _, may := range []bool{true, false} {
		db := small(t)
		owner := settingsFor(db)
		secret := newKey(t, owner)
		env := owner
		if !may {
			env = account(t, db, "SELECT, INSERT, UPDATE, DELETE ON *")
			run(t, owner, "", "migrate").want(t, exit.OK)
		}
		s := serve(t, env)
		db.Execute(t, "ALTER TABLE wp_bookside_api_keys DROP COLUMN details")
		db.Execute(t, "ALTER TABLE wp_bookside_change_positions DROP COLUMN n")
		db.Execute(t, "ALTER TABLE wp_bookside_webhooks DROP COLUMN allow_private")
		if !may {
			const lacking = "Columns are missing, which bookside migrate adds: wp_bookside_api_keys"
			if status, body := get(t, s.url+"/v1/status", secret); status != http.StatusServiceUnavailable || !strings.Contains(body, lacking) {
				t.Errorf("status %d: %s, want %s", status, body, lacking)
			}
			wantProbe(t, "http://"+s.admin(), monitor.Readiness{Status: monitor.StatusUnavailable, Database: "ok",
				Platform: lacking + ".details, wp_bookside_change_positions.n, wp_bookside_webhooks.allow_private"})
			s.eventually("a line in the log", func() bool { return strings.Contains(s.stderr.String(), "run bookside migrate") })
			run(t, owner, "", "migrate").want(t, exit.OK)
		}
		s.eventually("a served request", func() bool {
			status, _ := get(t, s.url+"/v1/status", secret)
			return status == http.StatusOK
		})
		wantProbe(t, "http://"+s.admin(), monitor.Readiness{Status: monitor.StatusReady, Database: "ok", Platform: "ok"})
		if may {
			expect.Texts(t, s.stderr.String(), "ADD COLUMN details", "ADD COLUMN n ", "ADD COLUMN allow_private")
		}
		expect.Succeeded(t, s.stop())
	}
}

// TestMigrateCreatesTables: migrate also creates missing tables, and then has nothing left to do.
func TestMigrateCreatesTables(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	expect.Texts(t, run(t, env, "", "migrate", "--dry-run").want(t, exit.OK).stdout, "CREATE TABLE IF NOT EXISTS `wp_bookside_admin_tokens` (")
	expect.Texts(t, run(t, env, "", "migrate").want(t, exit.OK).stdout, "created wp_bookside_admin_tokens, ")
	expect.Texts(t, run(t, env, "", "migrate", "--dry-run").want(t, exit.OK).stdout, "")
	expect.Texts(t, run(t, env, "", "migrate").want(t, exit.OK).stdout, upToDate)
}
