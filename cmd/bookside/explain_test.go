package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
)

// TestExplain: a request is answered as a key would see it, and its statements are shown with their plans,
// without what was searched for or found.
func TestExplain(t *testing.T) {
	t.Parallel()
	db := largeSite(t)
	env := settingsFor(db)
	manyPayments(t, db)
	execute(t, db.SQL, "UPDATE wp_latepoint_customers SET last_name = 'Geheimrat' WHERE id = 5")

	shown := run(t, env, "", "explain", "GET /bookings?search=geheimrat").want(t, exit.OK).stdout
	wantTexts(t, shown, "200, ", "list bookings: find ids: ", "   with a text of ", "   table", "Missing indexes on these tables: wp_latepoint_transactions (order_id)", "see bookside indexes.\n")
	if lower := strings.ToLower(shown); strings.Contains(lower, "geheimrat") {
		t.Errorf("shows what was searched for, or found:\n%s", shown)
	}

	var report explanation
	as := func(args ...string) {
		t.Helper()
		report = explanation{}
		if err := json.Unmarshal([]byte(run(t, env, "", append([]string{"explain", "--json"}, args...)...).want(t, exit.OK).stdout), &report); err != nil {
			t.Fatal(err)
		}
	}
	as("/wp-json/latepoint-api/v1/orders/1001/transactions")
	if report.Status != 200 || len(report.Statements) < 2 || report.Bytes == 0 {
		t.Errorf("%+v", report)
	}
	byOrder := slices.IndexFunc(report.Statements, func(s explainedStatement) bool { return strings.Contains(s.SQL, "latepoint_transactions") })
	if s := report.Statements[byOrder]; len(s.Plan) == 0 || s.Plan[0].Rows == 0 || s.Milliseconds <= 0 {
		t.Errorf("%+v", s)
	}
	run(t, adminSettings(db), "", "indexes", "--apply", "--all").want(t, exit.OK)
	as("/wp-json/latepoint-api/v1/orders/1001/transactions")
	if s := report.Statements[byOrder]; !slices.ContainsFunc(s.Plan, func(x step) bool { return strings.HasPrefix(x.Index, "bookside_") }) || len(report.Missing) > 0 {
		t.Errorf("with indexes: %+v, missing %q", s, report.Missing)
	}

	run(t, env, "", "keys", "create", "--name", "a", "--permissions", "read_services").want(t, exit.OK)
	as("/bookings", "--key", "1")
	if report.Status != 403 || !strings.Contains(report.Problem, "insufficient_permissions") {
		t.Errorf("as a key without the permission: status %d", report.Status)
	}
	as("/bookings/99999999")
	if report.Status != 404 {
		t.Errorf("what does not exist: status %d", report.Status)
	}
	for _, wrong := range [][]string{{"POST /bookings"}, {"bookings"}, {"/bookings", "--key", "77"}} {
		run(t, env, "", append([]string{"explain"}, wrong...)...).want(t, exit.Usage, "explain: ")
	}
}
