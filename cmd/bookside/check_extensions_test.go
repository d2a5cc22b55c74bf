package main

import (
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestCheckListsExtensions: check says what is not honoured.
func TestCheckListsExtensions(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	expect.Texts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "✓ extensions ")

	db.Execute(t, `UPDATE wp_options SET option_value = 'a:3:{i:0;s:29:"latepoint-qr-code/qr-code.php";i:1;s:33:"latepoint-zoom/latepoint-zoom.php";i:2;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`)
	db.Execute(t, `INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_zoom', 'on'), ('active_addons', '["latepoint-google-calendar","latepoint-qr-code"]')`)
	db.Execute(t, "INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-google-calendar_addon_db_version', '1.0.2')")
	expect.Texts(t, checkJSON(t, env, exit.OK).line(monitor.ExtensionsIgnored), "minor not honoured: Google Calendar: ", ". Read what that means")
}
