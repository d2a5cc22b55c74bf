package console

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/slots"
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
			if err := line(series{Values: c.values}, 10).Render(&text); err != nil || !strings.Contains(text.String(), ` d="`+c.want+`"`) {
				t.Errorf("%s, %v", &text, err)
			}
		})
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{
		-time.Second: "just now", 9 * time.Second: "just now", 59 * time.Second: "59 seconds ago", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago",
		time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago", 89 * 24 * time.Hour: "89 days ago", 400 * 24 * time.Hour: "13 months ago",
	} {
		if got := relative(age); got != want {
			t.Errorf("%v: %s, want %s", age, got, want)
		}
	}
}

// TestOverlapsOfADay: pairs of an agent on a day share a timeline, which goes on after
// midnight.
func TestOverlapsOfADay(t *testing.T) {
	t.Parallel()
	at := func(date string, start, end int) slots.ConflictingBooking {
		return slots.ConflictingBooking{Agent: "Ada", Date: date, Start: start, End: end}
	}
	bookings := map[int64]slots.ConflictingBooking{
		1: at("2026-12-01", 9*60, 10*60), 2: at("2026-12-01", 9*60+30, 11*60), 3: at("2026-12-01", 10*60+50, 12*60+1),
		4: at("2026-12-02", 23*60, 30), 5: at("2026-12-03", 10, 60),
	}
	got := overlapsOf([]slots.Conflict{{Agent: 1, First: 1, Second: 2}, {Agent: 1, First: 2, Second: 3, BuffersOnly: true}, {Agent: 1, First: 4, Second: 5}, {Agent: 2, Asset: 7, First: 1, Second: 3}}, bookings, map[int64]string{7: "Sauna"}, "")
	placed := func(id int64, from, to int) overlappingBooking {
		return overlappingBooking{ConflictingBooking: bookings[id], ID: id, From: from, To: to}
	}
	want := []overlap{
		{Whose: "Ada", Date: "2026-12-01", Start: 9 * 60, End: 13 * 60, Bookings: []overlappingBooking{placed(1, 540, 600), placed(2, 570, 660), placed(3, 650, 721)}},
		{Whose: "Ada", Date: "2026-12-02", Start: 23 * 60, End: 25 * 60, Bookings: []overlappingBooking{placed(4, 1380, 1470), placed(5, 1450, 1500)}},
		{Whose: "Sauna", Date: "2026-12-01", Start: 9 * 60, End: 13 * 60, Bookings: []overlappingBooking{placed(1, 540, 600), placed(3, 650, 721)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSharedIsFoundOnceAtATime: visitors share a value during its lifetime, and errors are not kept.
func TestSharedIsFoundOnceAtATime(t *testing.T) {
	t.Parallel()
	at, found := time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC), 0
	failure := errors.New("unlucky")
	s := newShared(func() time.Time { return at }, time.Minute, func(context.Context) (int, error) {
		if found++; found == 1 {
			return 0, failure
		}
		return found, nil
	})
	if _, _, err := s.get(t.Context()); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if value, age, err := s.get(t.Context()); value != 2 || age != 0 || err != nil {
				t.Errorf("%d %v %v", value, age, err)
			}
		})
	}
	wait.Wait()
	at = at.Add(59 * time.Second)
	if value, age, err := s.get(t.Context()); value != 2 || age != 59*time.Second || err != nil {
		t.Errorf("%d %v %v", value, age, err)
	}
	at = at.Add(time.Second)
	if value, age, err := s.get(t.Context()); value != 3 || age != 0 || err != nil {
		t.Errorf("%d %v %v", value, age, err)
	}
	s.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
