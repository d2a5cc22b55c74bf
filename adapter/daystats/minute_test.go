package daystats

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		took  map[time.Duration]int // number of requests by duration
		share float64
		want  time.Duration // 0 for none
	}{
		"none":                 {nil, .5, 0},
		"one":                  {map[time.Duration]int{10 * time.Millisecond: 1}, .5, 10 * time.Millisecond},
		"median of halves":     {map[time.Duration]int{2 * time.Millisecond: 50, 400 * time.Millisecond: 50}, .5, 2 * time.Millisecond},
		"slow twentieth":       {map[time.Duration]int{2 * time.Millisecond: 90, 400 * time.Millisecond: 10}, .95, 400 * time.Millisecond},
		"fast enough":          {map[time.Duration]int{2 * time.Millisecond: 96, 400 * time.Millisecond: 4}, .95, 2 * time.Millisecond},
		"no time":              {map[time.Duration]int{0: 10}, .95, 500 * time.Microsecond},
		"longer than anything": {map[time.Duration]int{10 * time.Minute: 10}, .5, 23 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d Durations
			for took, n := range c.took {
				for range n {
					d.count(took)
				}
			}
			d = decodeDurations(d.encode())
			got, ok := d.Percentile(c.share)
			if ok != (c.want > 0) || got > c.want*3/2 || got < c.want/2 {
				t.Errorf("%v %v, want about %v", got, ok, c.want)
			}
		})
	}
}

func TestClassesOfDurationsEndWhereTheySay(t *testing.T) {
	t.Parallel()
	for class := range len(Durations{}) - 1 {
		var at, behind Durations
		at.count(classEnd(class))
		behind.count(classEnd(class) + time.Microsecond)
		if at[class] != 1 || behind[class+1] != 1 {
			t.Errorf("class %d ends at %v: %v, %v", class, classEnd(class), at, behind)
		}
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	minute := func(number int64, server string, succeeded, connections int64) numbered {
		m := numbered{number: number, server: server, Minute: Minute{Connections: connections, ConnectionLimit: 10, Keys: map[int64]int64{7: succeeded}}}
		m.Requests[Succeeded] = succeeded
		return m
	}
	slot := func(succeeded, connections, limit int64) Minute {
		m := Minute{Connections: connections, ConnectionLimit: limit, Keys: map[int64]int64{7: succeeded}}
		m.Requests[Succeeded] = succeeded
		return m
	}
	for name, c := range map[string]struct {
		minutes []numbered
		want    []Minute // of 100 to 102 and 103 to 105
	}{
		"nothing": {nil, []Minute{{}, {}}},
		"the ends of slots": {
			[]numbered{minute(100, "a", 1, 1), minute(102, "a", 2, 3), minute(103, "a", 4, 2), minute(105, "a", 8, 1)},
			[]Minute{slot(3, 3, 10), slot(12, 2, 10)},
		},
		"servers add up within a minute": {
			[]numbered{minute(100, "a", 1, 4), minute(100, "b", 2, 3), minute(101, "b", 4, 5)},
			[]Minute{slot(7, 7, 20), {}},
		},
		"before and after": {[]numbered{minute(99, "a", 1, 1), minute(106, "a", 1, 1), minute(0, "a", 1, 1)}, []Minute{{}, {}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, slots(c.minutes, 105, 2, 3)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCountsAsText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counts map[int64]int64
		text   string
	}{
		"none":              {map[int64]int64{}, ""},
		"the largest first": {map[int64]int64{1: 5, 2: 70, 3: 5}, "2:70,1:5,3:5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := encodeCounts(c.counts)
			if diff := cmp.Diff(c.counts, decodeCounts(text)); text != c.text || diff != "" {
				t.Errorf("%q %s", text, diff)
			}
		})
	}
	many := map[int64]int64{1: 1_000_000}
	for id := range int64(1000) {
		many[1<<40+id] = id
	}
	text := encodeCounts(many)
	if !strings.HasPrefix(text, "1:1000000,") || len(text) > columnSize || len(text) < columnSize-20 {
		t.Errorf("%d bytes: %.50s", len(text), text)
	}
	if diff := cmp.Diff(map[int64]int64{4: 5}, decodeCounts("x:1,4:5,6,7:y,:,")); diff != "" {
		t.Error(diff)
	}
}
