package adapter

import (
	"errors"
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

// mayConcernAnotherRequest reports whether an error may concern only another request with which one was read
// together, so that it should be read alone.
func mayConcernAnotherRequest(err error) bool {
	return errors.Is(err, wpdb.ErrTooMuch) || errors.Is(err, wpdb.ErrTooManyRows) || errors.Is(err, wpdb.ErrUnreadable)
}
