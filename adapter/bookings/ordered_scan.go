package bookings

import (
	"bookside/adapter/lists"
	"bookside/adapter/session"
)

// scanInOrder makes a long list with several filters be read in its order, until enough bookings match.
// Servers would look for all bookings that match two of the indexes, and sort them, which takes 48 ms
// instead of 2.5 ms at 200,000 bookings. Whether the list is long, and a scan soon finds a page, is known
// from earlier requests; see lists.WithLength, which is also for keys with a scope.
func scanInOrder(s *session.Session, l lists.List, f Filter, several bool) (lists.List, Filter) {
	l = lists.WithLength(s, l, f.Paging, several)
	if !several || !l.OrderedScanIsCheap || f.Sort == ByCustomerName {
		return l, f
	}
	l.Counts, l.Filter = l.Filter.Column("COUNT(*)"), filtered(s, f, "", session.HideFromIndex)
	if f.Status != nil && f.Sort == ByStatus { // all have the same
		f.Sort = ByID
	}
	return l, f
}
