package handlers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/fixtures"
)

const (
	dashboardFile = "../docker/grafana/bookside.json"
	rulesFile     = "../docker/prometheus/bookside.rules.yml"
	rulesTestFile = "../docker/prometheus/bookside.rules.test.yml"
)

// target are the labels that Prometheus adds to everything it scrapes.
var target = []string{"job", "instance"}

// documentedMetric is a row of METRICS.md, which [TestMetricsDocument] compares with the registry.
type documentedMetric struct {
	histogram bool
	labels    []string
	values    map[string][]string // values of labels that have fixed ones
}

// documentedMetrics returns the metrics of METRICS.md, and those of the process that are used.
func documentedMetrics(t *testing.T) map[string]documentedMetric {
	t.Helper()
	text, err := os.ReadFile("METRICS.md")
	noError(t, err)
	metrics := map[string]documentedMetric{
		"up":                            {},
		"process_start_time_seconds":    {},
		"process_cpu_seconds_total":     {},
		"process_resident_memory_bytes": {},
	}
	label := regexp.MustCompile("`([a-z_]+)`(?:: ((?:`[a-z_]+`(?:, )?)+))?")
	for _, row := range regexp.MustCompile("(?m)^\\| `(bookside_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		m := documentedMetric{histogram: row[2] == "histogram", values: map[string][]string{}}
		for _, l := range label.FindAllStringSubmatch(row[3], -1) {
			m.labels = append(m.labels, l[1])
			if l[2] != "" {
				for value := range strings.SplitSeq(strings.TrimSuffix(l[2], ", "), ", ") {
					m.values[l[1]] = append(m.values[l[1]], strings.Trim(value, "`"))
				}
			}
		}
		metrics[row[1]] = m
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
	noError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	noError(t, yaml.Unmarshal(text, &file))
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
	noError(t, err)
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
	for _, e := range expressions {
		labels := append([]string{"le"}, target...)
		selections := selector.FindAllStringSubmatch(e.text, -1)
		if len(selections) == 0 {
			t.Errorf("%s: no metric in %s", e.where, e.text)
		}
		for _, selection := range selections {
			name := selection[1]
			metric, ok := metrics[name]
			if !ok {
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if base, is := strings.CutSuffix(name, suffix); is && metrics[base].histogram {
						metric, ok = metrics[base], true
					}
				}
			}
			if !ok || metric.histogram && metrics[name].histogram {
				t.Errorf("%s: there is no metric %s", e.where, name)
				continue
			}
			labels = append(labels, metric.labels...)
			for _, m := range matcher.FindAllStringSubmatch(selection[2], -1) {
				if !slices.Contains(target, m[1]) && !slices.Contains(metric.labels, m[1]) {
					t.Errorf("%s: %s has no label %s", e.where, name, m[1])
				}
				if values := metric.values[m[1]]; values != nil && alternative.MatchString(m[3]) {
					for value := range strings.SplitSeq(m[3], "|") {
						if !slices.Contains(values, value) {
							t.Errorf("%s: %s of %s is never %s", e.where, m[1], name, value)
						}
					}
				}
			}
		}
		for _, by := range grouping.FindAllStringSubmatch(e.text, -1) {
			for label := range strings.SplitSeq(by[1], ", ") {
				if !slices.Contains(labels, label) {
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
	noError(t, os.WriteFile(dashboardRules, []byte(queries.String()), 0o600))
	for _, args := range [][]string{
		{"check", "rules", rulesFile, dashboardRules},
		{"test", "rules", rulesTestFile},
	} {
		if output, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
	tests, err := os.ReadFile(rulesTestFile)
	noError(t, err)
	for _, e := range ruleExpressions(t) {
		if !strings.Contains(string(tests), `alertname="`+e.where+`"`) {
			t.Errorf("%s has no case that it fires in", e.where)
		}
	}
}
