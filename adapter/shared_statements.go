package adapter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"bookside/wpdb"
)

// sharedStatements are those that requests share if they wait at the same time.
type sharedStatements struct {
	calendars    *calendarReads
	equal        *equalReads
	limitIndexes limitIndexes
	views        builtViews
	// widelyOffered are the ids of services whose connections are too many to be read as a whole.
	widelyOffered sync.Map
}

func newSharedStatements() *sharedStatements {
	return &sharedStatements{
		calendars: newCalendarReads(), equal: newEqualReads(),
	}
}

// participant is a request whose statements may serve others too.
type participant struct {
	site    *Site
	mayRead int64 // see wpdb.Allow
}

func newParticipant(ctx context.Context, s *Site) participant {
	return participant{s, wpdb.Allowed(ctx)}
}

func (r participant) sharing() participant { return r }

// joinRequests returns the request that arrived last, whose statements serve all of them, and a context in
// which these may read what all requests may read together.
func joinRequests[R interface{ sharing() participant }](ctx context.Context, requests []R) (context.Context, R) {
	if len(requests) == 1 {
		return ctx, requests[0]
	}
	latest := slices.MaxFunc(requests, func(a, b R) int {
		return cmp.Compare(a.sharing().site.authenticatedAt, b.sharing().site.authenticatedAt)
	})
	mayRead := int64(0)
	for _, r := range requests {
		mayRead += r.sharing().mayRead
	}
	ctx, _ = wpdb.WithUsage(ctx)
	wpdb.Allow(ctx, mayRead)
	return ctx, latest
}

// mayConcernAnotherRequest reports whether an error may concern only another request with which one was read
// together, so that it should be read alone.
func mayConcernAnotherRequest(err error) bool {
	return errors.Is(err, wpdb.ErrTooMuch) || errors.Is(err, wpdb.ErrTooManyRows) || errors.Is(err, wpdb.ErrUnreadable)
}
