package middleware

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestRecentKeysAreBounded: the set is bounded in number and time, and drops the
// least recently used keys first.
func TestRecentKeysAreBounded(t *testing.T) {
	t.Parallel()
	key := func(i int) (f keyFingerprint) {
		binary.BigEndian.PutUint64(f.hash[:], uint64(i))
		return f
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var r recentKeys
	for i := range 5 * maxRecentKeys {
		r.add(key(0), now)
		r.add(key(i), now)
		if n := len(r.latest) + len(r.previous); n > 2*maxRecentKeys {
			t.Fatalf("the set holds %d keys", n)
		}
	}
	if !r.has(key(0), now) || !r.has(key(5*maxRecentKeys-1), now) || r.has(key(1), now) {
		t.Error("the wrong keys were forgotten")
	}
	for age, want := range map[time.Duration]bool{recentKeyAge - time.Second: true, 2*recentKeyAge + time.Second: false} {
		var r recentKeys
		r.add(key(1), now)
		r.add(key(2), now)
		r.remove(key(2))
		expect.Equal(t, want, r.has(key(1), now.Add(age)), "after ", age)
		if r.has(key(2), now) {
			t.Error("a removed key is still there")
		}
	}
}
