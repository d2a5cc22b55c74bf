package session

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestLongLists: which lists are known to be long after another one has been counted.
func TestLongLists(t *testing.T) {
	t.Parallel()
	const long, counted, other = 10, "counted", "list 0"
	for _, test := range []struct {
		name    string
		known   []string // long lists
		filled  int      // how many more of them
		size    int64
		err     error
		isLong  bool
		forgets bool // whether the other lists are forgotten
	}{
		{"short", nil, 1, long - 1, nil, false, false},
		{"long", nil, 1, long, nil, true, false},
		{"long again", []string{counted}, 1, long, nil, true, false},
		{"no longer long", []string{counted}, 1, long - 1, nil, false, false},
		{"long, and there is room for it", nil, maxLists - 1, long, nil, true, false},
		{"long, and there is no room for it", nil, maxLists, long, nil, true, true},
		{"long again, and there is no room for more", []string{counted}, maxLists - 1, long, nil, true, false},
		{"short, and there is no room for more", nil, maxLists, 0, nil, false, false},
		{"failed", nil, 1, 0, errors.New("lost connection"), false, false},
		{"failed, and was long before", []string{counted}, 1, 0, errors.New("lost connection"), true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			totals := &Totals{ExactTime: time.Hour, Long: long, Now: time.Now}
			for _, key := range test.known {
				totals.RememberSize(key, long)
			}
			for i := range test.filled {
				totals.RememberSize(fmt.Sprint("list ", i), long)
			}
			totals.RememberCount(counted, 0, test.size, test.err)
			if got := totals.IsLong(counted); got != test.isLong {
				t.Errorf("known to be long: %t", got)
			}
			if got := !totals.IsLong(other); got != test.forgets {
				t.Errorf("the others are forgotten: %t", got)
			}
			if len(totals.longLists) > maxLists {
				t.Errorf("%d lists are kept", len(totals.longLists))
			}
		})
	}
}

// TestSlowOrderedScans: a long list is not scanned in order again where that took long, until it has been
// short.
func TestSlowOrderedScans(t *testing.T) {
	t.Parallel()
	const key = "list"
	totals := &Totals{Long: 10}
	for _, step := range []struct {
		name   string
		do     func()
		isLong bool
		cheap  bool
	}{
		{"unknown", func() { totals.RememberOrderedScan(key, time.Hour) }, false, false},
		{"long", func() { totals.RememberSize(key, 10) }, true, true},
		{"a quick scan", func() { totals.RememberOrderedScan(key, slowOrderedScan) }, true, true},
		{"a slow scan", func() { totals.RememberOrderedScan(key, slowOrderedScan+1) }, true, false},
		{"counted again", func() { totals.RememberSize(key, 11) }, true, false},
		{"short", func() { totals.RememberSize(key, 9) }, false, false},
		{"long again", func() { totals.RememberSize(key, 10) }, true, true},
	} {
		step.do()
		if long, cheap := totals.IsLong(key), totals.IsOrderedScanCheap(key); long != step.isLong || cheap != step.cheap {
			t.Errorf("%s: long %t, cheap %t", step.name, long, cheap)
		}
	}
}
