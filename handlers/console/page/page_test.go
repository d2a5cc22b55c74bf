package page

import (
	"strings"
	"testing"
	"time"
)

func TestRoundUp(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]float64{0: 1, -1: 1, .3: .5, 1: 1, 1.1: 2, 3: 5, 7: 10, 99: 100, 101: 200, 4321: 5000} {
		if got := roundUp(value); got < want*.999 || got > want*1.001 {
			t.Errorf("%v is rounded up to %v, want %v", value, got, want)
		}
	}
}

// TestLine: a line has gaps where there are no values, and a dot for a single one.
func TestLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   string
	}{
		"nothing": {[]float64{0, 0}, ""},
		"dot":     {[]float64{0, 5, 0}, "M14 50h1"},
		"gap":     {[]float64{10, 5, 0, 10, 10}, "M4 0h1L15 50M34 0h1L45 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			if err := line(Series{Values: c.values}, 10).Render(&text); err != nil || !strings.Contains(text.String(), ` d="`+c.want+`"`) {
				t.Errorf("%s, %v", &text, err)
			}
		})
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{
		-time.Second: "just now", 9 * time.Second: "just now", 59 * time.Second: "59 seconds ago", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago",
		time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago", 89 * 24 * time.Hour: "89 days ago", 400 * 24 * time.Hour: "13 months ago",
	} {
		if got := Ago(age); got != want {
			t.Errorf("%v: %s, want %s", age, got, want)
		}
	}
}
