package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bookside/bookside/wpdb"
)

// LongPolls bounds the number of requests that wait for changes or for slow readers, and how many of them
// use the database when all wake up at once. Unlike other requests, they wait for a place.
type LongPolls struct {
	places chan struct{} // nil for no limit
	turns  chan struct{}
}

const (
	waiterTurns = 8
	slotPause   = 5 * time.Millisecond
)

// NewLongPolls returns a limit of this many requests; 0 for none.
func NewLongPolls(most int) LongPolls {
	w := LongPolls{turns: make(chan struct{}, waiterTurns)}
	if most > 0 {
		w.places = make(chan struct{}, most)
	}
	return w
}

// Begin reports whether another request may wait. If so, End must be called.
func (w LongPolls) Begin() bool {
	if w.places == nil {
		return true
	}
	select {
	case w.places <- struct{}{}:
		return true
	default:
		return false
	}
}

// End ends what Begin began.
func (w LongPolls) End() {
	if w.places != nil {
		<-w.places
	}
}

// WithTurn calls work, which uses the database, and retries it while the server is busy with other
// requests.
func (w LongPolls) WithTurn(ctx context.Context, work func() error) error {
	select {
	case w.turns <- struct{}{}:
		defer func() { <-w.turns }()
	case <-ctx.Done():
		return fmt.Errorf("wait for a turn: %w", ctx.Err())
	}
	for {
		wpdb.Allow(ctx, 0) // memory of an earlier attempt or batch is freed
		err := work()
		if !errors.Is(err, ErrOverloaded) {
			return err
		}
		select {
		case <-time.After(slotPause):
		case <-ctx.Done():
			return err
		}
	}
}
