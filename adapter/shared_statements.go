package adapter

import (
	"errors"
	"reflect"
	"sync"

	"bookside/wpdb"
)

// sharedStatements are those that requests share if they wait at the same time.
type sharedStatements struct {
	equal        *equalReads
	limitIndexes limitIndexes
	views        builtViews
	// widelyOffered are the ids of services whose connections are too many to be read as a whole.
	widelyOffered sync.Map
	// others are what packages share of their own, by type; see sharedOf.
	others sync.Map
}

// sharedOf returns what requests share of a type, and makes it for the first of them.
func sharedOf[T any](s *Site, make func() *T) *T {
	found, ok := s.shared.others.Load(reflect.TypeFor[T]())
	if !ok {
		found, _ = s.shared.others.LoadOrStore(reflect.TypeFor[T](), make())
	}
	return found.(*T)
}

// newSharedStatements returns what the requests of one platform share.
func newSharedStatements() *sharedStatements {
	return &sharedStatements{equal: newEqualReads()}
}

// mayConcernAnotherRequest reports whether an error may concern only another request with which one was read
// together, so that it should be read alone.
func mayConcernAnotherRequest(err error) bool {
	return errors.Is(err, wpdb.ErrTooMuch) || errors.Is(err, wpdb.ErrTooManyRows) || errors.Is(err, wpdb.ErrUnreadable)
}
