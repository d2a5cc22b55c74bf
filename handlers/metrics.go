package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/handlers/ratelimit"
	"bookside/wpdb"
)

// Metrics are the figures of a running server, in a registry of their own. What
// labels can say is bounded: routes of the table, known methods, ids of keys.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	running   prometheus.Gauge
	refusals  *prometheus.CounterVec
	conflicts prometheus.Counter
	dropped   prometheus.Counter
	overlaps  overlapFigures
	keys      keyLabels
	platform  atomic.Pointer[adapter.Platform]
	shared    atomic.Pointer[ratelimit.SharedCounter] // nil where requests are counted here alone
}

// overlapFigures are what the watch for conflicts found.
type overlapFigures struct {
	present, compared, last prometheus.Gauge
	found                   prometheus.Counter
}

// Build is what a running program was built from.
type Build struct{ Version, Commit, Go string }

const namespace = "bookside"

// durationBuckets are in seconds: reads take a few milliseconds, bookings some
// tens, and the last are about the limit of a request.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}

// Reasons of refused requests.
const (
	rejectedByLimit       = "rate_limit"    // of the key
	rejectedByThrottle    = "failed_keys"   // of the address
	rejectedByConcurrency = "overload"      // too many at a time
	rejectedByPool        = "no_connection" // the database had none free in time
)

// NewMetrics has no figures of the database before Observe.
func NewMetrics(build Build) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), keys: keyLabels{known: map[int64]string{}}}
	m.requests = m.counters("requests_total", "Requests answered, by route, method, status and id of the key; no id where no key was accepted.", "route", "method", "status", "key_id")
	m.durations = promauto.With(m.registry).NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "request_duration_seconds", Help: "Time until a request was answered, by route and method.", Buckets: durationBuckets,
	}, []string{"route", "method"})
	m.running = m.gauge("requests_in_flight", "Requests being answered.")
	m.refusals = m.counters("requests_refused_total", "Requests refused for being too many: for their key, for wrong keys of their address, at a time, or for the connections to the database.", "reason")
	for _, reason := range []string{rejectedByLimit, rejectedByThrottle, rejectedByConcurrency, rejectedByPool} {
		m.refusals.WithLabelValues(reason) // there from the start, at 0
	}
	m.conflicts = m.counter("booking_conflicts_total", "Bookings refused because their time was taken.")
	m.dropped = m.counter("connections_dropped_total", "Connections without a request that were closed because others needed their memory.")
	m.overlaps = overlapFigures{
		present:  m.gauge("overlaps", "Pairs of bookings of one agent that overlap, at the last look."),
		compared: m.gauge("overlap_bookings", "Bookings compared at the last look for overlaps."),
		last:     m.gauge("overlap_look_timestamp_seconds", "When overlaps were last looked for; 0 for not yet."),
		found:    m.counter("overlaps_found_total", "Overlaps found, each once."),
	}
	m.gaugeOf("build_info", "What the program was built from; always 1.", prometheus.Labels{"version": build.Version, "commit": build.Commit, "goversion": build.Go}).Set(1)
	m.registry.MustRegister(platformFigures{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// counters, counter, gauge and gaugeOf register a figure.
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

// Observe adds the figures of a platform's database.
func (m *Metrics) Observe(platform *adapter.Platform) { m.platform.Store(platform) }

// ConnectionDropped counts a connection that was closed because others needed
// its memory.
func (m *Metrics) ConnectionDropped() { m.dropped.Inc() }

// Overlaps takes what a look for conflicts found at an instant, fresh of them
// for the first time.
func (m *Metrics) Overlaps(found adapter.ConflictReport, fresh int, at time.Time) {
	m.overlaps.present.Set(float64(len(found.Conflicts)))
	m.overlaps.compared.Set(float64(found.Bookings))
	m.overlaps.last.Set(float64(at.Unix()))
	m.overlaps.found.Add(float64(fresh))
}

// handler answers scrapes, few at a time: each asks the database.
func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, ErrorHandling: promhttp.ContinueOnError})
}

// refused counts requests and bookings that were refused for a reason that is
// worth a figure.
func (m *Metrics) refused(c echo.Context, err error) {
	var limited *ratelimit.Error
	switch {
	case domain.CodeOf(err) == domain.CodeSlotUnavailable:
		m.conflicts.Inc()
	case errors.Is(err, errOverloaded):
		m.refusals.WithLabelValues(rejectedByConcurrency).Inc()
	case errors.Is(err, wpdb.ErrBusy):
		m.refusals.WithLabelValues(rejectedByPool).Inc()
	case errors.As(err, &limited):
		reason := rejectedByLimit
		if _, known := principalOf(c); !known {
			reason = rejectedByThrottle
		}
		m.refusals.WithLabelValues(reason).Inc()
	}
}

// Labels for what is not of the route table.
const (
	otherRoute  = "none"
	otherMethod = "other"
)

// measure counts and times a request, by the path of its route without a base
// path. It stands outside of what turns errors into responses.
func (a *api) measure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.now()
		a.metrics.running.Inc()
		defer a.metrics.running.Dec()
		err := next(c)
		path, method := otherRoute, c.Request().Method
		if r, known := routeOf(c); known {
			path = r.path
		} else {
			method = knownMethod(method)
		}
		principal, _ := principalOf(c)
		a.metrics.requests.WithLabelValues(path, method, strconv.Itoa(c.Response().Status), a.metrics.keys.label(principal.ID)).Inc()
		a.metrics.durations.WithLabelValues(path, method).Observe(a.now().Sub(start).Seconds())
		return err
	}
}

// knownMethod is a method that some client may well send; others are one.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return otherMethod
	}
}

// keyLabels are the labels of the keys that were seen.
type keyLabels struct {
	mu    sync.Mutex
	known map[int64]string
}

// Keys beyond the first labelledKeys that are used share one label, so that a
// site that gives each of its clients a key does not flood the monitoring.
const (
	labelledKeys = 200
	otherKey     = "other"
)

// label is the id as a text; "" for none.
func (k *keyLabels) label(id int64) string {
	if id == 0 {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	label, known := k.known[id]
	switch {
	case known:
		return label
	case len(k.known) >= labelledKeys:
		return otherKey
	}
	label = strconv.FormatInt(id, 10)
	k.known[id] = label
	return label
}

// platformFigures are collected from the platform, and what else counts by
// itself, with each scrape.
type platformFigures struct{ *Metrics }

func figure(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	fallbacks     = figure("rate_limit_fallbacks_total", "Requests that were counted by this server alone because Redis did not answer.")
	poolLimit     = figure("db_connections_limit", "Connections that may be open, db.max_open.")
	poolOpen      = figure("db_connections", "Open connections, by what they do.", "state")
	poolWaits     = figure("db_connection_waits_total", "Times that a connection had to be waited for.")
	txConflicts   = figure("db_transaction_conflicts_total", "Transactions that failed because of a deadlock, a lock wait or a rival on another node of a cluster; most were run again.")
	databaseUp    = figure("db_up", "Whether the queues below could be read from the database for this scrape.")
	jobsScheduled = figure("site_jobs_scheduled", "Jobs that the site is still to run, among its newest 10,000.")
	jobsOverdue   = figure("site_jobs_overdue", "Those of them that should have run by now.")
	outboxMails   = figure("outbox_mails", "Mails in the outbox, by state.", "state")
)

// Describe is part of prometheus.Collector.
func (f platformFigures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{fallbacks, poolLimit, poolOpen, poolWaits, txConflicts, databaseUp, jobsScheduled, jobsOverdue, outboxMails} {
		to <- d
	}
}

// Collect is part of prometheus.Collector.
func (f platformFigures) Collect(to chan<- prometheus.Metric) {
	if shared := f.shared.Load(); shared != nil {
		to <- prometheus.MustNewConstMetric(fallbacks, prometheus.CounterValue, float64(shared.Fallbacks()))
	}
	platform := f.platform.Load()
	if platform == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	pool := platform.PoolStats()
	gauge(poolLimit, float64(pool.MaxOpenConnections))
	gauge(poolOpen, float64(pool.InUse), "in_use")
	gauge(poolOpen, float64(pool.Idle), "idle")
	to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(pool.WaitCount))
	to <- prometheus.MustNewConstMetric(txConflicts, prometheus.CounterValue, float64(platform.TransactionConflicts()))

	ctx, cancel := context.WithTimeout(context.Background(), readinessTimeout)
	defer cancel()
	stats, err := platform.QueueStats(ctx)
	if err != nil {
		gauge(databaseUp, 0) // the log of the requests tells why
		return
	}
	gauge(databaseUp, 1)
	gauge(jobsScheduled, float64(stats.JobsScheduled))
	gauge(jobsOverdue, float64(stats.JobsOverdue))
	for state, mails := range stats.Mails {
		gauge(outboxMails, float64(mails), state)
	}
}
