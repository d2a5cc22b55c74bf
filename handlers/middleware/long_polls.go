package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bookside/bookside/wpdb"
)

// LongPolls bounds the number of requests that wait for changes or for slow readers, and how many of them
// use the database when all wake up at once. Unlike other requests, they wait for a place. A key has at most half of
// them, so that none keeps out all others.
type LongPolls struct {
	places *places
	turns  chan struct{}
}

const (
	waiterTurns = 8
	slotPause   = 5 * time.Millisecond
)

// NewLongPolls returns a limit of this many requests; 0 for none.
func NewLongPolls(most int) LongPolls {
	return LongPolls{newPlaces(most), make(chan struct{}, waiterTurns)}
}

// Begin reports whether another request of a key may wait. If so, End must be called.
func (w LongPolls) Begin(key int64) bool { return w.places.take(key, w.places.half()) }

// End ends what Begin began.
func (w LongPolls) End(key int64) { w.places.leave(key) }

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
