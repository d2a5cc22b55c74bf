package bookings

import (
	"bookside/adapter/lists"
	"bookside/adapter/session"
)

// scanInOrder makes a long list with several filters be read in its order, until enough bookings match.
// Servers would look for all bookings that match two of the indexes, and sort them, which takes 48 ms
// instead of 2.5 ms at 200,000 bookings. Whether the list is long, and a scan soon finds a page, is known
// from earlier requests; see lists.WithLength.
func scanInOrder(s *session.Session, l lists.List, f Filter) (lists.List, Filter) {
	several := severalIndexes(s, f)
	l = lists.WithLength(s, l, f.Paging, several)
	if !several || !l.OrderedScanIsCheap || f.Sort == ByCustomerName {
		return l, f
	}
	l.Counts, l.Filter = l.Filter.Column("COUNT(*)"), filtered(s, f, fromBookings(s, f), session.HideFromIndex)
	if f.Status != nil && f.Sort == ByStatus { // all have the same
		f.Sort = ByID
	}
	return l, f
}

// severalIndexes reports whether several indexes serve the filters and the scope of the caller. An
// index on customers finds few bookings, and is best used alone.
func severalIndexes(s *session.Session, f Filter) bool {
	scope, n := s.Scope(), 0
	for _, used := range []bool{f.AgentID != nil, f.ServiceID != nil, f.LocationID != nil, f.Status != nil, len(scope.Agents) > 0, len(scope.Services) > 0, len(scope.Locations) > 0} {
		if used {
			n++
		}
	}
	return n > 1 && f.CustomerID == nil
}
