package handlers_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/monitor"
)

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
	s := newServer(t, fixtures.New(t, fixtures.Small(now)), withoutRedis(t), func(o *handlers.Options) { o.Metrics = metrics })
	s.get("/agents").want(http.StatusOK)
	s.post(servicesMessage).want(http.StatusOK)
	metrics.ObserveWebhooks(jobs.NewWorker(s.hooks, s.keys, slog.New(slog.DiscardHandler), jobs.WorkerOptions{}))
	text := strings.Builder{}
	text.WriteString(metricsIntroduction)
	admin := newAdmin()
	admin.Started(s.platform)
	families := scrapeFrom(t, admin, metrics)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if family := families[name]; strings.HasPrefix(name, "bookside_") {
			fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(family.GetType().String()), labelsOf(family), family.GetHelp())
		}
	}
	if *update {
		noError(t, os.WriteFile("METRICS.md", []byte(text.String()), 0o644))
		return
	}
	want, err := os.ReadFile("METRICS.md")
	noError(t, err)
	wantEqual(t, string(want), text.String(), "METRICS.md")
}
