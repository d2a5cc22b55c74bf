package load

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tally counts events and collects problems. It is safe for concurrent use.
type Tally struct {
	mu       sync.Mutex
	counts   map[string]int
	problems []string
}

// Count counts an event.
func (t *Tally) Count(what string) { t.Add(what, 1) }

// Add counts an event n times.
func (t *Tally) Add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += n
}

// Counted returns how often an event was counted.
func (t *Tally) Counted(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

// String returns a line for each event, in alphabetical order.
func (t *Tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		lines = append(lines, fmt.Sprintf("%-10s %8d", what, t.counts[what]))
	}
	return strings.Join(lines, "\n")
}

// Problem notes something that must not happen, with its time.
func (t *Tally) Problem(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, time.Now().Format(time.TimeOnly)+" "+fmt.Sprintf(format, args...))
}

// Err returns the problems, or nil.
func (t *Tally) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.problems) == 0 {
		return nil
	}
	const examples = 20
	return errors.New(fmt.Sprint(len(t.problems), " problems, such as\n", strings.Join(t.problems[:min(len(t.problems), examples)], "\n")))
}
