package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/monitor"
)

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, m *monitor.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	return scrapeFrom(t, newAdmin(), m)
}

// scrapeFrom scrapes a server with a given administrative listener.
func scrapeFrom(t *testing.T, admin *monitor.Admin, m *monitor.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	admin.ServeMetrics(m)
	recorder := probe(t, admin, http.MethodGet, "/metrics")
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(recorder.Body.Bytes()))
	expect.NoError(t, err)
	return families
}

// samples returns the values of a family by label; for a histogram, the number of observations.
func samples(family *dto.MetricFamily) map[string]float64 {
	values := map[string]float64{}
	for _, m := range family.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		values[strings.Join(labels, " ")] = value
	}
	return values
}

// wantSamples fails the test unless the family has these values and no others.
func wantSamples(t *testing.T, families map[string]*dto.MetricFamily, name string, want map[string]float64) {
	t.Helper()
	got := samples(families[name])
	for labels, value := range want {
		expect.Equal(t, value, got[labels], fmt.Sprintf("%s{%s}", name, labels))
		delete(got, labels)
	}
	if len(got) > 0 {
		t.Errorf("%s has unexpected samples: %v", name, got)
	}
}

// TestMetricsOfRequests scrapes the metrics after requests of many kinds.
func TestMetricsOfRequests(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{Version: "v1.2.3", Commit: "abc", Go: "go1.26"})
	s := apitest.NewServer(t, fixtures.New(t, fixtures.Small(apitest.Now)), func(o *handlers.Options) {
		o.Metrics = metrics
		o.FailedKeysPerMinute = 1
		o.RateLimit.Enabled = true
		o.RateLimit.Live.PerMinute = 5
	})
	s.Get("/agents").Want(http.StatusOK)
	s.Get("/agents/1").Want(http.StatusOK)
	s.Get("/agents/2").Want(http.StatusOK)
	s.Do(http.MethodHead, "/wp-json/latepoint-api/v1/agents/1", http.Header{"X-Api-Key": {s.Key}}).Want(http.StatusOK)
	s.Get("/agents/999999").Want(http.StatusNotFound)
	s.Get("/agents").Want(http.StatusTooManyRequests)
	s.Do(http.MethodGet, "/v1/agents", nil).Want(http.StatusUnauthorized)
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		s.Do(http.MethodGet, "/v1/agents", http.Header{"X-Api-Key": {"nobody"}}).Want(status)
	}
	for i := range 50 {
		s.Do(http.MethodGet, fmt.Sprintf("/v1/wp-login-%d.php?token=%d", i, i), nil).Want(http.StatusNotFound)
		s.Do(fmt.Sprintf("X%d", i), "/v1/agents", nil).Want(http.StatusNotFound)
	}
	metrics.Overlaps(slots.ConflictReport{Conflicts: make([]slots.Conflict, 3), Bookings: 40}, 2, apitest.Now)
	metrics.Overlaps(slots.ConflictReport{Conflicts: make([]slots.Conflict, 1), Bookings: 41}, 0, apitest.Now)

	admin := newAdmin()
	admin.Started(s.Platform)
	got := scrapeFrom(t, admin, metrics)
	wantSamples(t, got, "bookside_requests_total", map[string]float64{
		"key_id=1 method=GET route=/agents status=200":      1,
		"key_id=1 method=GET route=/agents status=429":      1,
		"key_id=1 method=GET route=/agents/:id status=200":  2,
		"key_id=1 method=HEAD route=/agents/:id status=200": 1,
		"key_id=1 method=GET route=/agents/:id status=404":  1,
		"key_id= method=GET route=/agents status=401":       2,
		"key_id= method=GET route=/agents status=429":       1,
		"key_id= method=GET route=none status=404":          50,
		"key_id= method=other route=none status=404":        50,
	})
	wantSamples(t, got, "bookside_request_duration_seconds", map[string]float64{
		"method=GET route=/agents": 5, "method=GET route=/agents/:id": 3, "method=HEAD route=/agents/:id": 1,
		"method=GET route=none": 50, "method=other route=none": 50,
	})
	wantSamples(t, got, "bookside_requests_refused_total", map[string]float64{
		"reason=rate_limit": 1, "reason=failed_keys": 1, "reason=overload": 0, "reason=no_connection": 0,
	})
	wantSamples(t, got, "bookside_requests_in_flight", map[string]float64{"": 0})
	wantSamples(t, got, "bookside_overlaps", map[string]float64{"": 1})
	wantSamples(t, got, "bookside_overlaps_found_total", map[string]float64{"": 2})
	wantSamples(t, got, "bookside_overlap_bookings", map[string]float64{"": 41})
	wantSamples(t, got, "bookside_overlap_check_timestamp_seconds", map[string]float64{"": float64(apitest.Now.Unix())})
	wantSamples(t, got, "bookside_build_info", map[string]float64{"commit=abc goversion=go1.26 version=v1.2.3": 1})
	wantSamples(t, got, "bookside_db_connections_limit", map[string]float64{"": 4})
	wantSamples(t, got, "bookside_db_up", map[string]float64{"": 1})
	if got["go_goroutines"] == nil || got["process_open_fds"] == nil {
		t.Error("no metrics of the runtime or the process")
	}
	problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(got))).Lint()
	expect.NoError(t, err)
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// TestMetricsOfReadiness: an inactive site is distinguished from a database that is down.
func TestMetricsOfReadiness(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	broken, _ := wpdbtest.Mock(t)
	down := map[string]float64{"": 0}
	for _, c := range []struct {
		arrange  string
		platform *session.Platform
		ready    float64
		site, db map[string]float64 // nil if absent
	}{
		{"", nil, 0, nil, nil},
		{"", s.Platform, 1, map[string]float64{"reason=none": 1}, map[string]float64{"": 1}},
		{"UPDATE wp_options SET option_value = '' WHERE option_name = 'active_plugins'", s.Platform, 0, map[string]float64{"reason=plugin_inactive": 0}, map[string]float64{"": 1}},
		{"DROP TABLE wp_options", s.Platform, 0, map[string]float64{"reason=no_wordpress": 0}, map[string]float64{"": 1}},
		{"", session.NewPlatform(broken, apitest.FixedClock), 0, nil, down},
	} {
		s.Database.Execute(t, c.arrange)
		metrics, admin := monitor.NewMetrics(monitor.Build{}), newAdmin()
		if c.platform != nil {
			admin.Started(c.platform)
		}
		got := scrapeFrom(t, admin, metrics)
		wantSamples(t, got, "bookside_ready", map[string]float64{"": c.ready})
		wantSamples(t, got, "bookside_site_up", c.site)
		wantSamples(t, got, "bookside_db_up", c.db)
		if got["go_goroutines"] == nil || (got["bookside_db_connections"] == nil) != (c.platform == nil) {
			t.Errorf("got %v", got)
		}
	}
}

// TestMetricsOfTheReport: the level of each entry of the report is a metric.
func TestMetricsOfTheReport(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	changeSince(t, s.Database, apitest.Now.Add(-90*time.Second))
	admin := newAdmin()
	admin.Started(s.Platform)
	got := samples(scrapeFrom(t, admin, monitor.NewMetrics(monitor.Build{}))["bookside_report_level"])
	for code, want := range map[monitor.Code]float64{monitor.ChangesLate: 2, monitor.JobsUnscheduled: 1, monitor.WebhooksGood: 0, monitor.Plugin: 0} {
		if level, ok := got["code="+string(code)]; !ok || level != want {
			t.Errorf("%s: %v of %v", code, level, got)
		}
	}
}

// changeSince enters a change that has been waiting for its number since a time.
func changeSince(t *testing.T, database *fixtures.Database, at time.Time) {
	t.Helper()
	database.Execute(t, "INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, at) VALUES ('customers', 1, 'updated', 'api', '"+at.UTC().Format(time.DateTime)+"')")
}

// TestMetricsOfConflicts: every booking whose time is unavailable is counted, in bulk requests too.
func TestMetricsOfConflicts(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{})
	s := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings(), func(o *handlers.Options) { o.Metrics = metrics })
	s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", `10`)).Want(http.StatusConflict)
	s.Write(http.MethodPost, "/bookings/bulk", "["+apitest.Friday()+","+apitest.Friday("start_time", `"14:00"`)+","+apitest.Friday()+"]").Want(http.StatusMultiStatus)
	wantSamples(t, scrape(t, metrics), "bookside_booking_conflicts_total", map[string]float64{"": 3})
}

// TestMetricsOfFallbacks: requests that Redis did not count are counted.
func TestMetricsOfFallbacks(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{})
	s := apitest.NewServer(t, fixtures.New(t, fixtures.Small(apitest.Now)), withoutRedis(t), func(o *handlers.Options) { o.Metrics = metrics })
	s.Get("/agents").Want(http.StatusOK)
	s.Get("/agents").Want(http.StatusOK)
	wantSamples(t, scrape(t, metrics), "bookside_rate_limit_fallbacks_total", map[string]float64{"": 2})
}

// withoutRedis counts requests in a Redis that cannot be reached.
func withoutRedis(t *testing.T) func(*handlers.Options) {
	t.Helper()
	shared := countIn(t, "redis://127.0.0.1:1")
	return func(o *handlers.Options) {
		o.RateLimit.Enabled = true
		o.RateLimit.Shared = shared
	}
}

// TestKeysBeyondALimitShareALabel: many keys do not create many series.
func TestKeysBeyondALimitShareALabel(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{})
	s := apitest.NewServer(t, fixtures.New(t, fixtures.Small(apitest.Now)), func(o *handlers.Options) { o.Metrics = metrics })
	const keys = 203
	for range keys {
		key := s.NewKey("read")
		s.Do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {key}}).Want(http.StatusOK)
	}
	values := samples(scrape(t, metrics)["bookside_requests_total"])
	if got := values["key_id=other method=GET route=/status status=200"]; got != keys-200 || len(values) != 201 {
		t.Errorf("%v requests of other keys, %d series", got, len(values))
	}
}

// TestProfiles: profiles are served only if enabled, and without the command line.
func TestProfiles(t *testing.T) {
	t.Parallel()
	expect.Equal(t, http.StatusNotFound, probe(t, newAdmin(), http.MethodGet, "/debug/pprof/").Code, "status where profiles are off")
	admin := newAdmin()
	admin.ServeProfiles()
	for path, want := range map[string]int{
		"/debug/pprof/": http.StatusOK, "/debug/pprof/goroutine": http.StatusOK, "/debug/pprof/heap": http.StatusOK,
		"/debug/pprof/symbol": http.StatusOK, "/debug/pprof/cmdline": http.StatusNotFound, "/debug/pprof/nothing": http.StatusNotFound,
	} {
		expect.Equal(t, want, probe(t, admin, http.MethodGet, path).Code, fmt.Sprintf("%s: status", path))
	}
}

// metricsIntroduction is the text above the table in METRICS.md.
const metricsIntroduction = `# Metrics

` + "`GET /metrics`" + ` on ` + "`admin.listen`" + ` serves these metrics to Prometheus, besides those of the Go runtime
(` + "`go_*`" + `) and of the process (` + "`process_*`" + `). A scrape costs the database about a dozen short
statements, and some more once an hour for the report.

- ` + "`route`" + ` is the path of a route below its base path, such as ` + "`/bookings/:id`" + `; ` + "`none`" + ` for a request that no route serves.
- ` + "`method`" + ` is the method of the request; ` + "`other`" + ` for methods that HTTP does not define.
- ` + "`key_id`" + ` is the id of the API key. Keys beyond the first 200 in use share the value ` + "`other`" + `.

<!-- Made by: go test ./handlers -run TestMetricsDocument -update -->

| metric | type | labels | meaning |
|---|---|---|---|
`

// labelsOf returns the labels of a family, with all values of those that have
// fixed ones.
func labelsOf(family *dto.MetricFamily) string {
	values := map[string]map[string]bool{}
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if values[l.GetName()] == nil {
				values[l.GetName()] = map[string]bool{}
			}
			values[l.GetName()][l.GetValue()] = true
		}
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		label := "`" + name + "`"
		if name == "reason" || name == "state" {
			label += ": `" + strings.Join(slices.Sorted(maps.Keys(values[name])), "`, `") + "`"
		}
		labels = append(labels, label)
	}
	return strings.Join(labels, ", ")
}

// TestMetricsDocument compares METRICS.md with the metrics of a server on which
// everything can be measured.
func TestMetricsDocument(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{})
	s := apitest.NewServer(t, fixtures.New(t, fixtures.Small(apitest.Now)), withoutRedis(t), func(o *handlers.Options) { o.Metrics = metrics })
	s.Get("/agents").Want(http.StatusOK)
	post(s, servicesMessage).Want(http.StatusOK)
	metrics.ObserveWebhooks(jobs.NewWorker(s.Hooks, s.Keys, slog.New(slog.DiscardHandler), jobs.WorkerOptions{}))
	text := strings.Builder{}
	text.WriteString(metricsIntroduction)
	admin := newAdmin()
	admin.Started(s.Platform)
	families := scrapeFrom(t, admin, metrics)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if family := families[name]; strings.HasPrefix(name, "bookside_") {
			fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(family.GetType().String()), labelsOf(family), family.GetHelp())
		}
	}
	if *apitest.Update {
		expect.NoError(t, os.WriteFile("METRICS.md", []byte(text.String()), 0o644))
		return
	}
	want, err := os.ReadFile("METRICS.md")
	expect.NoError(t, err)
	expect.Equal(t, string(want), text.String(), "METRICS.md")
}

const (
	dashboardFile = "../docker/grafana/bookside.json"
	rulesFile     = "../docker/prometheus/bookside.rules.yml"
	rulesTestFile = "../docker/prometheus/bookside.rules.test.yml"
)

// target are the labels that Prometheus adds to everything it scrapes.
var target = []string{"job", "instance"}

// documentedMetrics returns the rows of METRICS.md, which [TestMetricsDocument] compares with the registry, by metric, and metrics of
// the process that are used.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("METRICS.md")
	expect.NoError(t, err)
	metrics := map[string]string{"up": " ", "process_start_time_seconds": " ", "process_cpu_seconds_total": " ", "process_resident_memory_bytes": " "}
	for _, row := range regexp.MustCompile("(?m)^\\| `(bookside_[a-z_]+)` (\\| [a-z]+ \\| [^|]* \\|)").FindAllStringSubmatch(string(text), -1) {
		metrics[row[1]] = row[2]
	}
	if len(metrics) < 20 {
		t.Fatalf("METRICS.md has %d metrics", len(metrics))
	}
	return metrics
}

// expression is a query of the dashboard or of an alert.
type expression struct{ where, text string }

// dashboardExpressions returns the queries of the dashboard with values for its variables.
func dashboardExpressions(t *testing.T) (found []expression) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	readJSON(t, dashboardFile, &dashboard)
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found = append(found, expression{panel.Title, variables.Replace(target.Expr)})
		}
	}
	return found
}

// ruleExpressions returns the conditions of the alerts.
func ruleExpressions(t *testing.T) (found []expression) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	expect.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	expect.NoError(t, yaml.Unmarshal(text, &file))
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			found = append(found, expression{rule.Alert, rule.Expr})
		}
	}
	return found
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

var (
	selector    = regexp.MustCompile(`\b((?:bookside|process|go)_[a-z_]+|up)\b(?:\{([^}]*)\})?`)
	matcher     = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping    = regexp.MustCompile(`\bby \(([^)]*)\)`)
	alternative = regexp.MustCompile(`^[a-z_|]+$`)
)

// TestMonitoringUsesOurMetrics: each metric, label and fixed value in the dashboard and the alerts exists
// in Bookside.
func TestMonitoringUsesOurMetrics(t *testing.T) {
	t.Parallel()
	metrics := documentedMetrics(t)
	expressions := append(dashboardExpressions(t), ruleExpressions(t)...)
	if len(expressions) < 30 {
		t.Fatalf("%d expressions were found", len(expressions))
	}
	has := func(row, label string) bool {
		return slices.Contains(target, label) || strings.Contains(row, "`"+label+"`")
	}
	for _, e := range expressions {
		selections := selector.FindAllStringSubmatch(e.text, -1)
		if len(selections) == 0 {
			t.Errorf("%s: no metric in %s", e.where, e.text)
		}
		rows := "`le`"
		for _, selection := range selections {
			row := metrics[selection[1]]
			if row == "" {
				row = metrics[regexp.MustCompile("_(bucket|sum|count)$").ReplaceAllString(selection[1], "")]
				apitest.WantContains(t, "| histogram |", row, "%s: %s", e.where, selection[1])
			} else if strings.Contains(row, "| histogram |") {
				t.Errorf("%s: %s is a histogram", e.where, selection[1])
			}
			rows += row
			for _, m := range matcher.FindAllStringSubmatch(selection[2], -1) {
				if !has(row, m[1]) {
					t.Errorf("%s: %s has no label %s", e.where, selection[1], m[1])
				}
				if strings.Contains(row, "`"+m[1]+"`: ") && alternative.MatchString(m[3]) {
					for value := range strings.SplitSeq(m[3], "|") {
						apitest.WantContains(t, "`"+value+"`", row, "%s: %s of %s", e.where, m[1], selection[1])
					}
				}
			}
		}
		for _, by := range grouping.FindAllStringSubmatch(e.text, -1) {
			for label := range strings.SplitSeq(by[1], ", ") {
				if !has(rows, label) {
					t.Errorf("%s: no label %s in %s", e.where, label, e.text)
				}
			}
		}
	}
}

// TestAlertRules: Prometheus accepts the alerts and the queries of the dashboard, and the alerts fire
// when they should and stay silent otherwise.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool := fixtures.RequireTool(t, "promtool")
	var queries strings.Builder
	queries.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	for i, e := range dashboardExpressions(t) {
		fmt.Fprintf(&queries, "      - {record: 'query_%d', expr: %q}\n", i, e.text)
	}
	dashboardRules := filepath.Join(t.TempDir(), "dashboard.yml")
	expect.NoError(t, os.WriteFile(dashboardRules, []byte(queries.String()), 0o600))
	for _, args := range [][]string{
		{"check", "rules", rulesFile, dashboardRules},
		{"test", "rules", rulesTestFile},
	} {
		if output, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
	tests, err := os.ReadFile(rulesTestFile)
	expect.NoError(t, err)
	for _, e := range ruleExpressions(t) {
		apitest.WantContains(t, `alertname="`+e.where+`"`, string(tests), "tests of rules, in which %s fires,", e.where)
	}
}
