package handlers

import (
	"encoding/binary"
	"testing"
	"time"
)

// TestRecentKeys: the memory of keys is bounded in number and time, and drops
// those first that were not used for longest.
func TestRecentKeys(t *testing.T) {
	t.Parallel()
	mark := func(i int) (m keyMark) {
		binary.BigEndian.PutUint64(m.hash[:], uint64(i))
		return m
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var r recentKeys
	for i := range 5 * maxRecentKeys {
		r.add(mark(0), now)
		r.add(mark(i), now)
		if kept := len(r.latest) + len(r.previous); kept > 2*maxRecentKeys {
			t.Fatalf("%d keys are kept", kept)
		}
	}
	if !r.has(mark(0), now) || !r.has(mark(5*maxRecentKeys-1), now) || r.has(mark(1), now) {
		t.Error("the wrong keys were forgotten")
	}
	for age, want := range map[time.Duration]bool{keptFor - time.Second: true, 2*keptFor + time.Second: false} {
		var r recentKeys
		r.add(mark(1), now)
		r.add(mark(2), now)
		r.remove(mark(2))
		if got := r.has(mark(1), now.Add(age)); got != want {
			t.Errorf("after %v: %v", age, got)
		}
		if r.has(mark(2), now) {
			t.Error("a key that was removed is there")
		}
	}
}
