package records

import (
	"strings"
	"testing"
)

// TestWantedIndexes: none is part of another, their names are unique, and each has a reason.
func TestWantedIndexes(t *testing.T) {
	t.Parallel()
	for n, w := range wantedIndexes {
		if w.requests == "" || !strings.HasPrefix(w.Name, "bookside_") || len(w.Name) > 64 {
			t.Errorf("%s on %s for %q", w.Name, w.Table, w.requests)
		}
		for m, other := range wantedIndexes {
			if n != m && other.Serves(w.Index) {
				t.Errorf("%s on %s is part of %s", w.Name, w.Table, other.Name)
			}
		}
	}
}
