package apitest

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// JobCron makes the site run its jobs.
const JobCron = `INSERT INTO wp_options (option_name, option_value) VALUES ('cron', 'a:1:{i:1795000000;a:1:{s:32:"latepoint_process_scheduled_jobs";a:0:{}}}')`

// German holds translations like those in the plugin's own file.
var German = map[string]string{
	"Service": "Dienstleistung", "Approved": "Genehmigt", "Cancelled": "Abgesagt", "minutes": "minuten", "Feb": "Feb.", "February": "Februar",
	"Open": "Offen", "Not Fulfilled": "Nicht erfüllt", "Not Paid": "Nicht bezahlt", "Fully Paid": "Vollständig bezahlt",
	"Payments and Credits": "Zahlungen und Gutschriften", "Balance Due": "Fälliger Betrag",
	"No transactions found.": "Keine Transaktionen gefunden.", "Full Balance": "Voller Saldo", "In Progress": "wrong",
}

// Activate returns the statement that makes these the active plugins.
func Activate(files ...string) string {
	var list strings.Builder
	for i, file := range files {
		fmt.Fprintf(&list, "i:%d;s:%d:\"%s\";", i, len(file), file)
	}
	return fmt.Sprintf("UPDATE wp_options SET option_value = 'a:%d:{%s}' WHERE option_name = 'active_plugins'", len(files), list.String())
}

// The files of the plugin, of the add-on that enables limits, and of those that read calendars.
const (
	PluginFile  = "latepoint/latepoint.php"
	AddOnFile   = "latepoint-pro-features/latepoint-pro-features.php"
	GoogleFile  = "latepoint-google-calendar/latepoint-google-calendar.php"
	OutlookFile = "latepoint-outlook-calendar/latepoint-outlook-calendar.php"
)

// AskForReasons has Pro Features ask for reasons of changes.
var AskForReasons = []string{Setting("enable_cancellation_reason", "on"), Setting("enable_reschedule_reason", "on")}

// DefinedFields are custom fields of bookings as Pro Features stores their definitions: the others are
// required of nobody, only of staff, or under conditions.
const DefinedFields = `{"cf_reason":{"id":"cf_reason","label":"Reason for visit","type":"textarea","required":"on","visibility":"public"},` +
	`"cf_terms":{"id":"cf_terms","label":"Terms","type":"checkbox","required":"on","visibility":"admin_agent"},` +
	`"cf_secret":{"id":"cf_secret","label":"Secret","type":"text","required":"on","visibility":"hidden"},` +
	`"cf_many":{"id":"cf_many","label":"Allergies","type":"multiselect","required":"off","visibility":"public","options":"Milk\nNuts"},` +
	`"cf_count":{"id":"cf_count","label":"Count","type":"number","required":"off"},` +
	`"cf_other":{"id":"cf_other","label":"Of another service","type":"text","required":"on","conditional":"on","conditions":{"cfc_1":{"property":"service","operator":"not_equal","value":"4"}}},` +
	`"cf_file":{"id":"cf_file","label":"Referral","type":"file_upload","required":"off","visibility":"public"}}`

// FilledFields has values for the required ones of DefinedFields.
const FilledFields = `"cf_reason":"Back pain","cf_terms":"on"`

// DefineFields defines custom fields of bookings.
func (s *Server) DefineFields(t testing.TB, definitions string) {
	t.Helper()
	s.Database.Execute(t, Setting("custom_fields_for_booking", strings.ReplaceAll(definitions, `\`, `\\`)))
}

// TooManyBookings is the warning about a customer at the limit of future bookings.
const TooManyBookings = `199 bookside "Customer 9 has as many future bookings as the site's form lets a customer have"`

// UsersSite serves a site that creates a WordPress user for each of its
// customers.
func UsersSite(t *testing.T) *Server {
	t.Helper()
	t.Parallel()
	s := NewWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.MakeCustomersUsers(t)
	return s
}

// FillLocks inserts the lock rows that a site in use has.
const FillLocks = `INSERT IGNORE INTO wp_bookside_locks (kind, id)
	SELECT k.kind, b.id MOD 1024 FROM wp_latepoint_bookings b,
		(SELECT 1 AS kind UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8) k`

// Seeds is the number of interleavings tried per contest: BOOKSIDE_TEST_SEEDS, or a few.
func Seeds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BOOKSIDE_TEST_SEEDS")
	if text == "" {
		return 7
	}
	n, err := strconv.Atoi(text)
	expect.NoError(t, err)
	return n
}

// strangers are customers whose every field has a mark: 7100 has a booking of agent 1, 7101 has none, 7102
// has only bookings of agent 5. 7100 and 7102 are users of the site.
var strangers = []string{
	"INSERT INTO wp_users (ID, user_login, user_email, display_name) VALUES (7100, 'zora', 'zora@example.test', 'Zora'), (7102, 'xaver', 'xaver@example.test', 'Xaver')",
	`INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (7100, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (7102, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}'), (7102, 'first_name', 'Xaver')`,
	"INSERT INTO wp_latepoint_customers (id, first_name, last_name, email, phone, status, notes, admin_notes, wordpress_user_id, created_at, updated_at) VALUES " +
		"(7100, 'Zora', 'Quell', 'zora@example.test', '+4930777100', 'active', 'zzqq', 'zzqq', 7100, '2026-01-01', '2026-01-01'), " +
		"(7101, 'Yara', 'Quell', 'yara@example.test', '+4930777101', 'active', 'zzqq', 'zzqq', NULL, '2026-01-01', '2026-01-01'), " +
		"(7102, 'Xaver', 'Quell', 'xaver@example.test', '+4930777102', 'active', 'note', 'admin', 7102, '2026-01-01', '2026-01-01')",
	"INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) SELECT c.id, m.k, 'zzqq' FROM wp_latepoint_customers c JOIN (SELECT 'address' AS k UNION SELECT 'date_of_birth' UNION SELECT 'cf_zz') m WHERE c.id IN (7100, 7101)",
}

// StrangersSite has the strangers and their bookings.
func StrangersSite(t *testing.T) *Server {
	t.Helper()
	s := UsersSite(t)
	s.Database.Execute(t, FillLocks)
	s.Database.Execute(t, strangers...)
	s.Write(http.MethodPost, "/bookings", Friday("start_date", `"2027-02-19"`, "customer_id", "7100")).Want(http.StatusCreated)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE customer_id = 7100", "DELETE FROM wp_bookside_idempotency")
	s.Write(http.MethodPost, "/bookings", Friday("start_date", `"2027-02-12"`, "customer_id", "7102")).Want(http.StatusCreated)
	return s
}

// Sites are sample sites of every version, zone and prefix.
var Sites = map[string]fixtures.Site{
	"small":        fixtures.Small(Now),
	"half hour":    fixtures.HalfHour(),
	"prefixed":     fixtures.Prefixed(),
	"edge":         fixtures.Edge(),
	"legacy":       fixtures.Legacy(),
	"with coupons": fixtures.SiteA().WithCoupons(),
}
