package session

import (
	"errors"
	"reflect"
	"sync"

	"github.com/bookside/bookside/wpdb"
)

// Shared are the statements that requests share if they wait at the same time.
type Shared struct {
	equal *equalReads
	// WidelyOffered are the ids of services with too many connections to read all at once.
	WidelyOffered sync.Map
	// others is what packages share of their own, by type; see SharedOf.
	others sync.Map
}

// SharedOf returns what requests share of a type, and creates it on the first call.
func SharedOf[T any](s *Session, make func() *T) *T {
	found, ok := s.Shared.others.Load(reflect.TypeFor[T]())
	if !ok {
		found, _ = s.Shared.others.LoadOrStore(reflect.TypeFor[T](), make())
	}
	return found.(*T)
}

// NewShared returns what the requests of one platform share.
func NewShared() *Shared {
	return &Shared{equal: newEqualReads()}
}

// MayConcernAnotherRequest reports whether an error may concern only another request that shared the read,
// so that this one should read alone.
func MayConcernAnotherRequest(err error) bool {
	return errors.Is(err, wpdb.ErrTooMuch) || errors.Is(err, wpdb.ErrTooManyRows) || errors.Is(err, wpdb.ErrUnreadable)
}
