package handlers_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/redis/go-redis/v9"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/ratelimit"
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
	noError(t, err)
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
		wantEqual(t, value, got[labels], "%s{%s}", name, labels)
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
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), func(o *handlers.Options) {
		o.Metrics = metrics
		o.FailedKeysPerMinute = 1
		o.RateLimit.Enabled = true
		o.RateLimit.Live.PerMinute = 5
	})
	s.get("/agents").want(http.StatusOK)
	s.get("/agents/1").want(http.StatusOK)
	s.get("/agents/2").want(http.StatusOK)
	s.do(http.MethodHead, "/wp-json/latepoint-api/v1/agents/1", http.Header{"X-Api-Key": {s.key}}).want(http.StatusOK)
	s.get("/agents/999999").want(http.StatusNotFound)
	s.get("/agents").want(http.StatusTooManyRequests)
	s.do(http.MethodGet, "/v1/agents", nil).want(http.StatusUnauthorized)
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		s.do(http.MethodGet, "/v1/agents", http.Header{"X-Api-Key": {"nobody"}}).want(status)
	}
	for i := range 50 {
		s.do(http.MethodGet, fmt.Sprintf("/v1/wp-login-%d.php?token=%d", i, i), nil).want(http.StatusNotFound)
		s.do(fmt.Sprintf("X%d", i), "/v1/agents", nil).want(http.StatusNotFound)
	}
	metrics.ConnectionDropped()
	metrics.Overlaps(slots.ConflictReport{Conflicts: make([]slots.Conflict, 3), Bookings: 40}, 2, now)
	metrics.Overlaps(slots.ConflictReport{Conflicts: make([]slots.Conflict, 1), Bookings: 41}, 0, now)

	admin := newAdmin()
	admin.Started(s.platform)
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
	wantSamples(t, got, "bookside_connections_dropped_total", map[string]float64{"": 1})
	wantSamples(t, got, "bookside_overlaps", map[string]float64{"": 1})
	wantSamples(t, got, "bookside_overlaps_found_total", map[string]float64{"": 2})
	wantSamples(t, got, "bookside_overlap_bookings", map[string]float64{"": 41})
	wantSamples(t, got, "bookside_overlap_check_timestamp_seconds", map[string]float64{"": float64(now.Unix())})
	wantSamples(t, got, "bookside_build_info", map[string]float64{"commit=abc goversion=go1.26 version=v1.2.3": 1})
	wantSamples(t, got, "bookside_db_connections_limit", map[string]float64{"": 4})
	wantSamples(t, got, "bookside_db_up", map[string]float64{"": 1})
	if got["go_goroutines"] == nil || got["process_open_fds"] == nil {
		t.Error("no metrics of the runtime or the process")
	}
	problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(got))).Lint()
	noError(t, err)
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// TestMetricsOfReadiness: an inactive site is distinguished from a database that is down.
func TestMetricsOfReadiness(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	broken, _ := wpdbtest.Mock(t)
	down := map[string]float64{"": 0}
	for _, c := range []struct {
		arrange  string
		platform *session.Platform
		ready    float64
		site, db map[string]float64 // nil if absent
	}{
		{"", nil, 0, nil, nil},
		{"", s.platform, 1, map[string]float64{"reason=none": 1}, map[string]float64{"": 1}},
		{"UPDATE wp_options SET option_value = '' WHERE option_name = 'active_plugins'", s.platform, 0, map[string]float64{"reason=plugin_inactive": 0}, map[string]float64{"": 1}},
		{"DROP TABLE wp_options", s.platform, 0, map[string]float64{"reason=no_wordpress": 0}, map[string]float64{"": 1}},
		{"", session.NewPlatform(broken, fixedClock), 0, nil, down},
	} {
		if c.arrange != "" {
			database.Execute(t, c.arrange)
		}
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
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database)
	changeSince(t, database, now.Add(-90*time.Second))
	admin := newAdmin()
	admin.Started(s.platform)
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
	s := newWriter(t, fixtures.SiteA().WithFewBookings(), func(o *handlers.Options) { o.Metrics = metrics })
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	s.write(http.MethodPost, "/bookings", friday("customer_id", `10`)).want(http.StatusConflict)
	s.write(http.MethodPost, "/bookings/bulk", "["+friday()+","+friday("start_time", `"14:00"`)+","+friday()+"]").want(http.StatusMultiStatus)
	wantSamples(t, scrape(t, metrics), "bookside_booking_conflicts_total", map[string]float64{"": 3})
}

// TestMetricsOfFallbacks: requests that Redis did not count are counted.
func TestMetricsOfFallbacks(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{})
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), withoutRedis(t), func(o *handlers.Options) { o.Metrics = metrics })
	s.get("/agents").want(http.StatusOK)
	s.get("/agents").want(http.StatusOK)
	wantSamples(t, scrape(t, metrics), "bookside_rate_limit_fallbacks_total", map[string]float64{"": 2})
}

// withoutRedis counts requests in a Redis that cannot be reached.
func withoutRedis(t *testing.T) func(*handlers.Options) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(o *handlers.Options) {
		o.RateLimit.Enabled = true
		o.RateLimit.Shared = ratelimit.NewSharedCounter(client, "site", time.Second, fixedClock, slog.New(slog.DiscardHandler))
	}
}

// TestKeysBeyondALimitShareALabel: many keys do not create many series.
func TestKeysBeyondALimitShareALabel(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{})
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), func(o *handlers.Options) { o.Metrics = metrics })
	const keys = 203
	for range keys {
		key := s.newKey("read")
		s.do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {key}}).want(http.StatusOK)
	}
	values := samples(scrape(t, metrics)["bookside_requests_total"])
	if got := values["key_id=other method=GET route=/status status=200"]; got != keys-200 || len(values) != 201 {
		t.Errorf("%v requests of other keys, %d series", got, len(values))
	}
}

// TestProfiles: profiles are served only if enabled, and without the command line.
func TestProfiles(t *testing.T) {
	t.Parallel()
	if r := probe(t, newAdmin(), http.MethodGet, "/debug/pprof/"); r.Code != http.StatusNotFound {
		t.Errorf("status %d where profiles are off", r.Code)
	}
	admin := newAdmin()
	admin.ServeProfiles()
	for path, want := range map[string]int{
		"/debug/pprof/": http.StatusOK, "/debug/pprof/goroutine": http.StatusOK, "/debug/pprof/heap": http.StatusOK,
		"/debug/pprof/symbol": http.StatusOK, "/debug/pprof/cmdline": http.StatusNotFound, "/debug/pprof/nothing": http.StatusNotFound,
	} {
		t.Run(path, func(t *testing.T) {
			if r := probe(t, admin, http.MethodGet, path); r.Code != want {
				t.Errorf("%s: status %d, want %d", path, r.Code, want)
			}
		})
	}
}
