package handlers_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// privateTexts returns all keys, addresses, phones and names of a site's customers, agents and users, and
// its database password.
func privateTexts(t *testing.T, s *apitest.Server) []string {
	t.Helper()
	config, err := mysql.ParseDSN(s.Database.DSN)
	expect.NoError(t, err)
	texts := []string{s.Key, "wrong-key-of-somebody", "rita.neu@example.test", "+49 30 1234", "30 1234", "Neumann-Geheim", "Second floor, please"}
	if config.Passwd != "" {
		texts = append(texts, config.Passwd)
	}
	for _, query := range []string{
		"SELECT email FROM wp_latepoint_customers UNION SELECT phone FROM wp_latepoint_customers UNION SELECT first_name FROM wp_latepoint_customers UNION SELECT last_name FROM wp_latepoint_customers",
		"SELECT email FROM wp_latepoint_agents UNION SELECT phone FROM wp_latepoint_agents", "SELECT user_email FROM wp_users",
		"SELECT meta_value FROM wp_latepoint_booking_meta WHERE meta_key LIKE 'key_to_manage%'",
	} {
		for _, text := range s.Texts(query) {
			if len(text) >= 4 {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// TestLogHoldsNoPersonalData sends valid and invalid requests with personal data to every route, at the
// most verbose level and with a failing database, and looks for that data in the log.
func TestLogHoldsNoPersonalData(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	direct := *database
	dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
	direct.DSN = dsn
	s := apitest.NewServer(t, &direct, func(o *handlers.Options) { o.FailedKeysPerMinute = 3 })
	kept := keys.NewRequestLog(apitest.OpenDatabase(t, database, 2, time.Minute), apitest.FixedClock, slog.New(slog.NewJSONHandler(s.Log, nil)), 100_000)
	s.Handler = handlers.New(s.Platform, s.Keys, apitest.FixedClock, slog.New(slog.NewJSONHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		handlers.Options{BasePaths: []string{"/v1"}, QueryParameter: "api_key", RequestTimeout: time.Minute, FailedKeysPerMinute: 3, Requests: kept})
	private := privateTexts(t, s)
	if len(private) < 500 {
		t.Fatalf("only %d texts to look for", len(private))
	}
	const person = `{"customer_id":9,"customer":{"first_name":"Rita","last_name":"Neumann-Geheim","email":"rita.neu@example.test","phone":"+49 30 1234"},` +
		`"first_name":"Rita","last_name":"Neumann-Geheim","email":"rita.neu@example.test","phone":"+49 30 1234","notes":"Second floor, please",` +
		`"service_id":4,"agent_id":5,"location_id":1,"start_date":"2027-02-05","start_time":"10:00","code":"rita.neu@example.test","order_id":1,"amount":"5"}`
	requests := 0
	drive := func() {
		for _, r := range routesOf(t) {
			for _, body := range []string{person, person[:len(person)/2], `{"email":["rita.neu@example.test"],"status":"rita.neu@example.test"}`} {
				header := http.Header{"X-Api-Key": {s.Key}, "Content-Type": {apitest.JSONType}, "Idempotency-Key": {"rita.neu@example.test"}}
				s.Send(r.Method, "/v1"+r.Path+"?search=rita.neu@example.test&customer_email=rita.neu@example.test", header, body)
			}
			s.Send(r.Method, "/v1"+r.Path, http.Header{"X-Api-Key": {"wrong-key-of-somebody"}}, person)
			s.Send(r.Method, "/v1"+r.Path, http.Header{"Authorization": {"Bearer wrong-key-of-somebody"}}, person)
			s.Send(r.Method, "/v1"+r.Path+"?api_key="+s.Key+"&email=rita.neu@example.test", nil, "")
			s.Send(r.Method, "/v1/rita.neu@example.test"+r.Path+"?api_key=wrong-key-of-somebody", nil, "")
			requests += 7
		}
		kept.Flush(t.Context())
	}
	drive()
	for _, table := range fixtures.Sample([]string{"latepoint_bookings", "latepoint_customers", "latepoint_orders"}, 3) {
		proxy.Arm(fixtures.Fault{On: table, Lost: true}, fixtures.Fault{On: table}, fixtures.Fault{On: table, Skip: 3, Answer: 20})
		drive()
		proxy.Disarm()
	}
	database.Execute(t, "ALTER TABLE wp_latepoint_customers DROP COLUMN notes")
	drive()
	entries := s.Texts("SELECT CONCAT_WS(' ', request_id, method, route, tool, code, fields) FROM wp_bookside_requests")
	if len(entries) < 3*len(routesOf(t)) {
		t.Errorf("only %d entries for the console", len(entries))
	}
	log := s.Log.String() + strings.Join(entries, "\n")
	expect.Equal(t, requests, strings.Count(log, `"msg":"request"`), "lines of requests")
	apitest.WantContains(t, `"msg":"request failed"`, log, "the log")
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(log, func(r rune) bool { return !unicode.IsLetter(r) }) {
		words[word] = true
	}
	for _, text := range private {
		// A name may be part of another word; everything else must not appear at all.
		name := !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
		if name && words[text] || !name && strings.Contains(log, text) {
			i := strings.Index(log, text)
			t.Errorf("%q is in the log: %.300s", text, log[max(0, i-200):])
		}
	}
}

// TestLoggedRequests: a line has an error's code and, if requested, the client's address.
func TestLoggedRequests(t *testing.T) {
	t.Parallel()
	for name, clients := range map[string]bool{"clients": true, "no clients": false} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Shared(t, fixtures.SiteA(), func(o *handlers.Options) { o.LogClients = clients })
			s.Get("/status").Want(http.StatusOK)
			s.Get("/bookings/999999").Want(http.StatusNotFound)
			type logged struct {
				Code, Client string
				DurationMS   *float64 `json:"duration_ms"`
			}
			var lines []logged
			for text := range strings.Lines(s.Log.String()) {
				var line logged
				expect.NoError(t, json.Unmarshal([]byte(text), &line))
				lines = append(lines, line)
			}
			if len(lines) != 2 || lines[0].Code != "" || lines[1].Code != "booking_not_found" {
				t.Fatalf("lines %+v", lines)
			}
			for _, line := range lines {
				if (line.Client == "192.0.2.1") != clients || line.DurationMS == nil {
					t.Errorf("line %+v", line)
				}
			}
		})
	}
}

// TestTracing: a request's place in a trace is logged if it is valid, and the response says where its time
// went.
func TestTracing(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for sent, want := range map[string]string{parent: parent, "00-4bf92f-01\nforged": "", "": ""} {
		a := s.Do(http.MethodGet, "/v1/services", http.Header{"X-Api-Key": {s.Key}, "Traceparent": {sent}})
		var line struct{ Traceparent string }
		lines := strings.Split(strings.TrimSpace(s.Log.String()), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil || line.Traceparent != want {
			t.Errorf("%q is logged as %q, %v", sent, line.Traceparent, err)
		}
		var db, wait, total float64
		timing := a.Header.Get("Server-Timing")
		if n, err := fmt.Sscanf(strings.ReplaceAll(timing, ",", ""), "db;dur=%g wait;dur=%g total;dur=%g", &db, &wait, &total); n != 3 || err != nil || db <= 0 || wait < 0 {
			t.Errorf("Server-Timing %q", timing)
		}
	}
}
