package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/sitefile"
)

func TestMain(m *testing.M) { os.Exit(fixtures.Run(m)) }

// TestFixturesAreServed: the program serves the site of fixtures, at their time or another, to a key that
// clients know beforehand.
func TestFixturesAreServed(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { wantServed(t, embeddedDatabase) })
	t.Run("server", func(t *testing.T) {
		wantServed(t, fixtures.New(t, fixtures.Legacy()).AdminDSN)
	})
}

func wantServed(t *testing.T, database string) {
	t.Helper()
	catalogue := fixtures.WriteFile(t, "site.yaml", sitefile.Example+"webhooks: [http://127.0.0.1:9/hook]\n")
	d := startDemo(t, clock, "--fixtures", catalogue, "--now", "2027-02-01T08:00", "--key", "lp_test_known", "--database", database)
	if d.key != "lp_test_known" || !strings.Contains(d.line("webhook"), "whsec_") {
		t.Errorf("the key is %s, the webhook's line %q", d.key, d.line("webhook"))
	}
	var list struct {
		Data []struct {
			Code  string `json:"booking_code"`
			Start string `json:"start_date"`
		}
	}
	for _, key := range []string{"lp_test_known", "lp_test_fixture"} { // that of the flag, and that of the fixture
		if status := ask(t, http.MethodGet, d.api+"/bookings", key, "", &list); status != http.StatusOK || len(list.Data) != 6 {
			t.Errorf("%s: status %d, %d bookings", key, status, len(list.Data))
		}
	}
	var found struct{ Data []struct{ Email string } }
	if ask(t, http.MethodGet, d.api+"/customers?search=grace+hopper", d.key, "", &found); len(found.Data) != 1 || found.Data[0].Email != "grace@example.com" {
		t.Errorf("a full name in lower case finds %+v", found.Data)
	}
	for _, booking := range list.Data {
		if booking.Code == "B1" && booking.Start != "2027-02-03" {
			t.Errorf("B1 is on %s", booking.Start)
		}
	}
}

// TestLoad: load creates a database or replaces the site in it, but never the database of something else.
func TestLoad(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(clock()))
	text := fixtures.WriteFile(t, "site.yaml", "now: today 08:00\nagents: [Anna]\nkeys: [{name: a, key: lp_test_a}]\n")
	agents := func() []string {
		var names string
		database.Scan(t, "SELECT GROUP_CONCAT(first_name ORDER BY id) FROM wp_latepoint_agents", &names)
		return strings.Split(names, ",")
	}
	for range 2 {
		if printed, err := output(t, "load", database.AdminDSN, text); err != nil || printed != "loaded; the tables begin with wp_\n" {
			t.Fatalf("%v, %q", err, printed)
		}
		expect.Equal(t, []string{"Anna"}, agents(), "agents")
	}
	database.Execute(t, "CREATE TABLE wp_terms (term_id INT PRIMARY KEY)", "UPDATE wp_latepoint_agents SET first_name = 'Real'")
	_, err := output(t, "load", database.AdminDSN, text)
	if err == nil || !strings.Contains(err.Error(), "wp_terms; --force") || !slices.Equal(agents(), []string{"Real"}) {
		t.Errorf("with another table: %v, agents %v", err, agents())
	}
	if _, err := output(t, "load", "--force", database.AdminDSN, text); err != nil || !slices.Equal(agents(), []string{"Anna"}) {
		t.Errorf("forced: %v, agents %v", err, agents())
	}
	if _, err := database.SQL.ExecContext(t.Context(), "SELECT * FROM wp_terms"); err != nil {
		t.Errorf("the other table: %v", err)
	}
	wrong := fixtures.WriteFile(t, "wrong.yaml", "keys: [{name: a, key: lp_test_b, permissions: [raed]}]\n")
	if _, err := output(t, "load", "--force", database.AdminDSN, wrong); err == nil || !strings.Contains(err.Error(), `wrong.yaml:1:47: keys[0].permissions: permission "raed"`) {
		t.Errorf("a wrong permission: %v", err)
	}
}

// TestDump: the same fixtures give the same SQL, which depends on their clock alone.
func TestDump(t *testing.T) {
	t.Parallel()
	text := fixtures.WriteFile(t, "site.yaml", "services: [{name: Massage, agents: [Anna]}]\nbookings: [{service: Massage, customer: Grace Hopper, start: tomorrow 10:00}]\n")
	dumped := func(args ...string) string {
		printed, err := output(t, append([]string{"dump"}, args...)...)
		expect.NoError(t, err)
		return printed
	}
	first := dumped(text, "--now", "2027-03-01 08:00")
	if second := dumped(text, "--now", "2027-03-01T08:00"); first != second || !strings.Contains(first, "'2027-03-02'") {
		t.Error("two dumps for one date differ, or have another date")
	}
	if small := dumped("--now", "2027-03-01 08:00"); !strings.Contains(small, "Back school") || !strings.Contains(small, "'2027-03-02'") {
		t.Error("the small practice has no date")
	}
}

// TestFixtureFiles: init writes an example without mistakes, once, and check finds mistakes.
func TestFixtureFiles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new")
	_, err := output(t, "fixtures", "init", folder)
	expect.NoError(t, err)
	printed, err := output(t, "fixtures", "check", folder)
	if err != nil || printed != "no mistakes; it is Monday, 2027-01-11 08:00 at the site\n" {
		t.Errorf("%v, %q", err, printed)
	}
	schema, err := os.ReadFile(filepath.Join(folder, sitefile.SchemaFile))
	if err != nil || string(schema) != string(sitefile.JSONSchema()) {
		t.Errorf("the schema: %v", err)
	}
	if _, err := output(t, "fixtures", "init", folder); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	wrong := fixtures.WriteFile(t, "wrong.yaml", "servises: []\n")
	if _, err := output(t, "fixtures", "check", wrong); err == nil || !strings.Contains(err.Error(), `did you mean "services"?`) {
		t.Errorf("a mistake: %v", err)
	}
	if _, err := output(t, "fixtures", "check", folder, "--now", "soon"); err == nil || !strings.Contains(err.Error(), "--now: ") {
		t.Errorf("a wrong clock: %v", err)
	}
}

// TestAnonymisedIsServed: a site that is dumped without its names is served from the dump, with the same free times and
// as many records.
func TestAnonymisedIsServed(t *testing.T) {
	real := fixtures.New(t, fixtures.Small(clock()))
	dumped, err := output(t, "dump", "--anonymise", real.AdminDSN)
	expect.NoError(t, err)
	if name := "Miriam"; strings.Contains(dumped, name) {
		t.Errorf("the dump has %s", name)
	}
	whole, err := output(t, "dump", "--now", clock().Format(time.RFC3339))
	expect.NoError(t, err)
	answers := map[string]map[string]int{}
	for name, dump := range map[string]string{"whole": whole, "anonymised": dumped} {
		t.Run(name, func(t *testing.T) { // one at a time: a process has one embedded engine
			keys := "-- keys: [{name: test, key: lp_test_dump, permissions: [read]}]\n"
			d := startDemo(t, clock, "--fixtures", fixtures.WriteFile(t, "site.sql", keys+dump))
			answers[name] = map[string]int{}
			for _, list := range []string{"bookings", "customers", "orders", "payments", "services", "agents", "locations"} {
				var page struct{ Pagination struct{ Total int } }
				if status := ask(t, http.MethodGet, d.api+"/"+list, "lp_test_dump", "", &page); status != http.StatusOK || page.Pagination.Total == 0 {
					t.Errorf("%s %s: status %d, %d records", name, list, status, page.Pagination.Total)
				}
				answers[name][list] = page.Pagination.Total
			}
			for day := range 14 {
				date := clock().AddDate(0, 0, day).Format(time.DateOnly)
				var free struct {
					Data struct {
						Slots []string `json:"available_slots"`
					}
				}
				expect.Equal(t, http.StatusOK, ask(t, http.MethodGet, d.api+"/availability?service_id=1&agent_id=1&date="+date, "lp_test_dump", "", &free), name, " ", date, ": status")
				for _, slot := range free.Data.Slots {
					answers[name][date+" "+slot]++
				}
			}
		})
	}
	if diff := cmp.Diff(answers["whole"], answers["anonymised"]); diff != "" || len(answers["whole"]) < 50 {
		t.Errorf("%d answers (-whole +anonymised):\n%s", len(answers["whole"]), diff)
	}
	for want, args := range map[string][]string{
		`--prefix: "wp" is no prefix of tables`:        {"--prefix", "wp"},
		"no table other_latepoint_bookings; --prefix ": {"--prefix", "other_"},
	} {
		if _, err := output(t, append([]string{"dump", "--anonymise", real.AdminDSN}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestDumpIsServed: the demo serves a dump from memory, at its time.
func TestDumpIsServed(t *testing.T) {
	dumped, err := output(t, "dump", fixtures.WriteFile(t, "site.yaml", sitefile.Example))
	expect.NoError(t, err)
	file := fixtures.WriteFile(t, "site.sql", dumped)
	d := startDemo(t, clock, "--fixtures", file)
	var list struct {
		Data []struct {
			Start string `json:"start_date"`
		}
	}
	if status := ask(t, http.MethodGet, d.api+"/bookings", d.key, "", &list); status != http.StatusOK || len(list.Data) != 6 {
		t.Errorf("status %d, %d bookings", status, len(list.Data))
	}
	if !strings.Contains(d.lines[0], "Monday, 11 January 2027") {
		t.Errorf("its time: %q", d.lines[0])
	}
	if _, err := output(t, "dump", file, file); err == nil || !strings.Contains(err.Error(), "a dump is loaded alone") {
		t.Errorf("two dumps: %v", err)
	}
}
