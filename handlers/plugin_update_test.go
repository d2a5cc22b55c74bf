package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestUnknownUpdateOfThePluginStopsItsWrites: an unknown update of the plugin
// stops the writes to what it changed, and nothing else; readiness reports it.
func TestUnknownUpdateOfThePluginStopsItsWrites(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	fixtures.RequireServer(t)
	for i, test := range []struct {
		name, known, update, undo string   // known is a change of an earlier update
		then                      []string // if one statement cannot do it on every server
		why                       string   // why the booking is rejected; "" if it is not
		silent                    bool     // no statement fails
		unannounced               bool     // only the failure reveals it
	}{
		{name: "a column that takes a zero", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh varchar(20) NOT NULL"},
		{name: "a column with a default", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh enum('a', 'b') NOT NULL DEFAULT 'a'"},
		{name: "a column that takes NULL", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json"},
		{name: "a rule that a zero keeps", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL CHECK (fresh < 5)"},
		{name: "a rule that a zero breaks", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL",
			then: []string{"UPDATE wp_latepoint_bookings SET fresh = 1", "ALTER TABLE wp_latepoint_bookings ADD CONSTRAINT positive CHECK (fresh > 0)"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP CONSTRAINT positive", why: "wp_latepoint_bookings: a CHECK refuses the row", unannounced: true},
		{name: "a type that takes JSON alone", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json NOT NULL",
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (json)"},
		{name: "a number that became a word", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh enum('a', 'b') NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (enum)"},
		{name: "a text that became JSON", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh longtext NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (json)"},
		{name: "a number that became a place", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh point",
				"UPDATE wp_latepoint_bookings SET fresh = ST_GeomFromText('POINT(0 0)')", "ALTER TABLE wp_latepoint_bookings MODIFY fresh point NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (point)"},
		{name: "a word that became a number", known: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh varchar(20) NOT NULL",
			update: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", then: []string{"ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh int NOT NULL"}},
		{name: "a type without a zero", update: "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh point",
			then: []string{"UPDATE wp_latepoint_bookings SET fresh = ST_GeomFromText('POINT(0 0)')", "ALTER TABLE wp_latepoint_bookings MODIFY fresh point NOT NULL"},
			undo: "ALTER TABLE wp_latepoint_bookings DROP COLUMN fresh", why: "wp_latepoint_bookings: it requires a value for fresh (point)"},
		{name: "a list of words", update: "ALTER TABLE wp_latepoint_order_items ADD COLUMN fresh enum('a', 'b') NOT NULL",
			undo: "ALTER TABLE wp_latepoint_order_items DROP COLUMN fresh", why: "wp_latepoint_order_items: it requires a value for fresh (enum)", silent: true},
		{name: "a column renamed that only writes name", update: "ALTER TABLE wp_latepoint_activities CHANGE code event varchar(255) NOT NULL",
			undo: "ALTER TABLE wp_latepoint_activities CHANGE event code varchar(255) NOT NULL", why: "wp_latepoint_activities: it lacks code"},
		{name: "a table that only writes name", update: "RENAME TABLE wp_latepoint_activities TO wp_latepoint_events",
			undo: "RENAME TABLE wp_latepoint_events TO wp_latepoint_activities", why: "wp_latepoint_activities: it does not exist"},
	} {
		// The plugin changes its version together with its tables; if it did
		// not, the first failure would reveal the change.
		for _, versioned := range []bool{true, false} {
			if !versioned && (test.silent || !fixtures.Thorough() && !test.unannounced && i%3 > 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s, version changed %t", test.name, versioned), func(t *testing.T) {
				t.Parallel()
				s := newWriter(t, fixtures.SiteA().WithFewBookings())
				admin := newAdmin()
				admin.Started(s.platform)
				version := func() {
					s.database.Execute(t, "UPDATE wp_options SET option_value = CONCAT(option_value, '.1') WHERE option_name = 'latepoint_db_version'")
				}
				if test.known != "" {
					s.database.Execute(t, test.known)
					version()
				}
				s.get("/bookings").want(http.StatusOK) // reads the schema before the update
				update := func(statements ...string) {
					for _, statement := range statements {
						s.database.Execute(t, statement)
					}
					if versioned {
						version()
					}
				}
				update(slices.Concat([]string{test.update}, test.then)...)
				before := s.database.Snapshot(t)
				ready := monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"}
				a := s.write(http.MethodPost, "/bookings", friday())
				if test.why == "" {
					a.want(http.StatusCreated)
					wantReadiness(t, admin, ready)
					return
				}
				a.want(http.StatusServiceUnavailable)
				if message := a.at("message").(string); message != "Nothing is written: "+test.why {
					t.Errorf("message %q", message)
				}
				if a.header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
				wantNoWrites(t, test.name, before)
				for _, path := range []string{"/bookings", "/bookings/53", "/orders", "/customers", "/availability?service_id=4&agent_id=5&date=2027-02-05"} {
					s.get(path).want(http.StatusOK)
				}
				wantReadiness(t, admin, ready)
				if got := reportLine(t, admin, diagnose.WritesRefused); !test.unannounced && !strings.HasPrefix(got, "minor "+test.why+": ") {
					t.Errorf("reported: %s", got)
				}
				update(test.undo)
				s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
				if got := reportLine(t, admin, diagnose.WritesRefused); got != "" {
					t.Errorf("reported afterwards: %s", got)
				}
			})
		}
	}
}
