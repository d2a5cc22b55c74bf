package monitor

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// Metrics are the metrics of a running server, in their own registry. The
// values of labels are bounded: routes of the table, known methods, ids of
// keys.
type Metrics struct {
	registry  *prometheus.Registry
	Requests  *prometheus.CounterVec
	Durations *prometheus.HistogramVec
	Running   prometheus.Gauge
	Refusals  *prometheus.CounterVec
	Conflicts prometheus.Counter
	Tools     *prometheus.CounterVec
	Aborted   prometheus.Counter
	Unlogged  prometheus.Counter
	Exports   prometheus.Gauge
	overlaps  overlapMetrics
	keys      keyLabels
	Shared    atomic.Pointer[ratelimit.SharedCounter] // nil if requests are not counted in Redis
	webhooks  atomic.Pointer[jobs.Worker]             // nil if this server sends none
	admin     atomic.Pointer[Admin]
}

// overlapMetrics describe the checks for overlapping bookings.
type overlapMetrics struct {
	present, compared, last, interval prometheus.Gauge
	found                             prometheus.Counter
}

// Build describes how the running program was built.
type Build struct{ Version, Commit, Go string }

const namespace = "bookside"

// durationBuckets are in seconds. Reads take a few milliseconds, bookings tens of
// them; the last buckets are near the time limit of a request.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}

// Values of the label reason: why a request was rejected.
const (
	RejectedByLimit       = "rate_limit"    // of a key
	RejectedByThrottle    = "failed_keys"   // of an address
	RejectedByConcurrency = "overload"      // too many concurrent requests, or no memory
	RejectedByPool        = "no_connection" // no connection to the database came free in time
)

// NewMetrics returns metrics without those of the database, which Observe adds.
func NewMetrics(build Build) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), keys: keyLabels{known: map[int64]string{}}}
	m.Requests = m.counters("requests_total", "Responses, by route, method, status and id of the key; the id is empty if no key was accepted.", "route", "method", "status", "key_id")
	m.Durations = promauto.With(m.registry).NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "request_duration_seconds", Help: "Time to respond, by route and method.", Buckets: durationBuckets,
	}, []string{"route", "method"})
	m.Running = m.gauge("requests_in_flight", "Requests being processed.")
	m.Refusals = m.counters("requests_refused_total", "Requests rejected by a limit: of the key, of invalid keys per address, of concurrent requests and their memory, or of connections to the database.", "reason")
	for _, reason := range []string{RejectedByLimit, RejectedByThrottle, RejectedByConcurrency, RejectedByPool} {
		m.Refusals.WithLabelValues(reason) // present from the start, at 0
	}
	m.Conflicts = m.counter("booking_conflicts_total", "Bookings rejected because their time was not available.")
	m.Tools = m.counters("mcp_calls_total", "Calls of tools by AI agents at /mcp, by tool and outcome: ok, or error.", "tool", "outcome")
	m.Aborted = m.counter("responses_aborted_total", "Responses that broke off after they had begun, because of an error or because the client did not read on.")
	m.Unlogged = m.counter("requests_unlogged_total", "Requests that the console does not show because the database was too slow to store them.")
	m.Exports = m.gauge("exports_in_flight", "Exports being sent.")
	m.overlaps = overlapMetrics{
		present:  m.gauge("overlaps", "Pairs of overlapping bookings of one agent or asset, at the last check."),
		compared: m.gauge("overlap_bookings", "Bookings compared by the last check for overlaps."),
		last:     m.gauge("overlap_check_timestamp_seconds", "Time of the last check for overlaps; 0 before the first."),
		interval: m.gauge("overlap_check_interval_seconds", "How often to check for overlaps."),
		found:    m.counter("overlaps_found_total", "Overlaps found, each counted once."),
	}
	m.gaugeOf("build_info", "Version, commit and Go version of the program; always 1.", prometheus.Labels{"version": build.Version, "commit": build.Commit, "goversion": build.Go}).Set(1)
	m.registry.MustRegister(platformMetrics{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// counters, counter, gauge and gaugeOf register a metric.
func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(m.registry).NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return promauto.With(m.registry).NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge { return m.gaugeOf(name, help, nil) }

func (m *Metrics) gaugeOf(name, help string, labels prometheus.Labels) prometheus.Gauge {
	return promauto.With(m.registry).NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels})
}

// ObserveWebhooks adds the metrics of a worker.
func (m *Metrics) ObserveWebhooks(worker *jobs.Worker) { m.webhooks.Store(worker) }

// OverlapInterval records the interval between calls of Overlaps; 0 for never.
func (m *Metrics) OverlapInterval(interval time.Duration) {
	m.overlaps.interval.Set(interval.Seconds())
}

// Overlaps records the result of a check for conflicts at a time; fresh is the
// number of new ones.
func (m *Metrics) Overlaps(found slots.ConflictReport, fresh int, at time.Time) {
	m.overlaps.present.Set(float64(len(found.Conflicts)))
	m.overlaps.compared.Set(float64(found.Bookings))
	m.overlaps.last.Set(float64(at.Unix()))
	m.overlaps.found.Add(float64(fresh))
}

// handler serves scrapes, few at a time because each queries the database.
func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, ErrorHandling: promhttp.ContinueOnError})
}

// keyLabels are the labels of keys in use.
type keyLabels struct {
	mu    sync.Mutex
	known map[int64]string
}

// Keys beyond the first maxKeyLabels in use share one label, so that a site with a
// key per client does not flood the monitoring.
const (
	maxKeyLabels = 200
	otherKey     = "other"
)

// KeyLabel returns the id of a key as a label; "" for none.
func (m *Metrics) KeyLabel(id int64) string {
	k := &m.keys
	if id == 0 {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	label, known := k.known[id]
	switch {
	case known:
		return label
	case len(k.known) >= maxKeyLabels:
		return otherKey
	}
	label = strconv.FormatInt(id, 10)
	k.known[id] = label
	return label
}

// platformMetrics are collected at each scrape: those of the database, and
// those that other parts count themselves.
type platformMetrics struct{ *Metrics }

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	fallbacks   = newDesc("rate_limit_fallbacks_total", "Requests that this server counted alone because Redis failed.")
	poolLimit   = newDesc("db_connections_limit", "Limit of open connections, db.max_open.")
	poolOpen    = newDesc("db_connections", "Open connections, by state.", "state")
	poolWaits   = newDesc("db_connection_waits_total", "Times that a request waited for a connection.")
	txConflicts = newDesc("db_transaction_conflicts_total", "Transactions rolled back because of a deadlock, a lock timeout or a conflict with another node of a cluster; most were retried.")
	lastChange  = newDesc("changes_last_number", "Number of the last change in the journal that this server knows of.")
	changeSweep = newDesc("changes_sweep_seconds", "How long the last comparison of all records, which finds changes by others, took; 0 on servers that do not compare.")
	reportLevel = newDesc("report_level", "Entries of the report that bookside check prints, by code: 0 for good, 1 for what somebody should look at, 2 for broken.", "code")
	ready       = newDesc("ready", "1 if /readyz says so, else 0.")
	databaseUp  = newDesc("db_up", "1 if the database answered this scrape, else 0.")
	siteUp      = newDesc("site_up", "1 if the site in the database can be served, else 0; absent while the database does not tell.", "reason")

	webhooksNow      = newDesc("webhooks", "Webhooks, by state; failing ones are enabled too.", "state")
	webhooksBehind   = newDesc("webhook_entries_behind", "Entries of the journal that the slowest webhook has not read yet.")
	webhookTries     = newDesc("webhook_tries_total", "Requests of this server to webhooks, by state: delivered, or failed.", "state")
	webhooksDisabled = newDesc("webhooks_disabled_total", "Webhooks that this server disabled because they failed for three days, are gone, or lost their key.")
)

// Describe implements prometheus.Collector.
func (f platformMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{fallbacks, poolLimit, poolOpen, poolWaits, txConflicts, lastChange, changeSweep, reportLevel, ready, databaseUp, siteUp,
		webhooksNow, webhooksBehind, webhookTries, webhooksDisabled} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f platformMetrics) Collect(to chan<- prometheus.Metric) {
	if shared := f.Shared.Load(); shared != nil {
		to <- prometheus.MustNewConstMetric(fallbacks, prometheus.CounterValue, float64(shared.Fallbacks()))
	}
	if worker := f.webhooks.Load(); worker != nil {
		collectWebhooks(to, worker.Stats())
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	admin := f.admin.Load()
	ctx, cancel := context.WithTimeout(context.Background(), readinessTimeout)
	defer cancel()
	found := admin.readiness(ctx)
	gauge(ready, oneIf(found.Status == StatusReady))
	if found.siteKnown {
		gauge(siteUp, oneIf(found.down == ""), string(cmp.Or(found.down, "none")))
		for code, level := range levels(admin.report(ctx, reportLife)) {
			gauge(reportLevel, float64(level), string(code))
		}
	}
	platform := admin.platform.Load()
	if platform == nil {
		return
	}
	if found.Status != StatusStopping {
		gauge(databaseUp, oneIf(found.siteKnown))
	}
	pool := platform.PoolStats()
	gauge(poolLimit, float64(pool.MaxOpenConnections))
	gauge(poolOpen, float64(pool.InUse), "in_use")
	gauge(poolOpen, float64(pool.Idle), "idle")
	to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(pool.WaitCount))
	to <- prometheus.MustNewConstMetric(txConflicts, prometheus.CounterValue, float64(platform.TransactionConflicts()))

	changes := platform.Journal.Stats()
	gauge(lastChange, float64(changes.Last))
	gauge(changeSweep, changes.Sweep.Seconds())
}

// reportLife is how old the parts of the report may be for metrics that are not about work: they take many statements.
const reportLife = time.Hour

// levels returns the worst level of each code.
func levels(report []Entry) map[Code]Level {
	worst := map[Code]Level{}
	for _, entry := range report {
		worst[entry.Code] = max(worst[entry.Code], entry.Level)
	}
	return worst
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

func collectWebhooks(to chan<- prometheus.Metric, stats jobs.HookStats) {
	for state, n := range map[string]int{"enabled": stats.Enabled, "failing": stats.Failing, "disabled": stats.Disabled} {
		to <- prometheus.MustNewConstMetric(webhooksNow, prometheus.GaugeValue, float64(n), state)
	}
	to <- prometheus.MustNewConstMetric(webhooksBehind, prometheus.GaugeValue, float64(stats.Behind))
	to <- prometheus.MustNewConstMetric(webhookTries, prometheus.CounterValue, float64(stats.Delivered), "delivered")
	to <- prometheus.MustNewConstMetric(webhookTries, prometheus.CounterValue, float64(stats.Failed), "failed")
	to <- prometheus.MustNewConstMetric(webhooksDisabled, prometheus.CounterValue, float64(stats.Disables))
}
