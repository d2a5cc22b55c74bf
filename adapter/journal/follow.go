package journal

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/wpdb"
)

// bookingsOf returns the ids of the bookings that show data of orders, by order.
type bookingsOf func(ctx context.Context, db *wpdb.DB, orders []int64) (map[int64][]int64, error)

// follow returns changes of the bookings of orders that now show something different: the comment, the payment status,
// the total or a payment. Followers of bookings get an entry for each.
func (n numbering) follow(ctx context.Context, pending []pendingChange, found states) (followed []pendingChange, err error) {
	told := map[record]pendingChange{}
	for _, m := range pending {
		told[m.record] = m
	}
	orders := map[int64]pendingChange{}
	for _, r := range found.changedInBookings(told) {
		m, ok := told[r]
		if !ok {
			m = pendingChange{origin: Found, at: n.at}
		}
		for _, id := range found.ordersOf(r) {
			orders[id] = m
		}
	}
	if _, known := n.targets[Bookings]; !known || len(orders) == 0 {
		return nil, nil
	}
	changed := slices.Sorted(maps.Keys(orders))
	bookings, err := n.shows(ctx, n.tx, changed)
	for _, order := range changed {
		m := orders[order]
		for _, id := range bookings[order] {
			followed = append(followed, pendingChange{record: record{Bookings, id}, kind: Updated, origin: m.origin, actor: m.actor, at: m.at, request: m.request})
		}
	}
	return followed, err
}

// addStates adds the states of bookings that follow orders.
func (n numbering) addStates(ctx context.Context, pending []pendingChange, found states, followed []pendingChange) (states, error) {
	if len(followed) == 0 {
		return found, nil
	}
	ids := slices.Clone(found[Bookings].ids)
	for _, m := range followed {
		ids = append(ids, m.record.id)
	}
	slices.Sort(ids)
	bookings, err := n.readStates(ctx, pending, map[Resource][]int64{Bookings: slices.Compact(ids)})
	maps.Copy(found, bookings)
	return found, err
}

// changedInBookings returns the orders and payments for which bookings may show something different: those
// whose facts changed, and reported ones that had no snapshot.
func (s states) changedInBookings(told map[record]pendingChange) (changed []record) {
	for _, resource := range []Resource{Orders, Payments} {
		for _, id := range s[resource].ids {
			r := record{resource, id}
			now, exists := s.now(r)
			before, existed := s.before(r)
			_, entered := told[r]
			unknown := entered && slices.Contains(s[resource].unknown, spanOf(id))
			created := resource == Orders && !existed // together with its bookings
			if !created && !s.later(r) && (exists != existed || now.facts != before.facts || unknown) {
				changed = append(changed, r)
			}
		}
	}
	return changed
}

// ordersOf returns the orders that an order or a payment concerns, before and now.
func (s states) ordersOf(r record) (orders []int64) {
	if r.resource == Orders {
		return []int64{r.id}
	}
	before, _ := s.before(r)
	now, _ := s.now(r)
	for _, row := range []rowState{before, now} {
		order, _, _ := strings.Cut(row.facts, "|")
		if id, err := strconv.ParseInt(order, 10, 64); err == nil && id > 0 {
			orders = append(orders, id)
		}
	}
	return orders
}
