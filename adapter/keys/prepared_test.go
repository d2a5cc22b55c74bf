package keys

import (
	"fmt"
	"slices"
	"testing"
)

func TestFixedNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 2: 4, 4: 4, 5: 16, 17: 64} {
		hashes := make([]string, 0, 2*n)
		for i := range n {
			hashes = append(hashes, fmt.Sprint(i), fmt.Sprint(i))
		}
		got := fixedNumber(hashes)
		if different := len(slices.Compact(slices.Clone(got))); len(got) != want || different != n {
			t.Errorf("%d hashes become %d, of which %d differ; want %d", n, len(got), different, want)
		}
	}
}
