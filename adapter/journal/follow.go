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

// follow finds the bookings of orders that now show something different: the comment, the payment status,
// the total or a payment. Followers of bookings get an entry for each.
func (s *numbering) follow(ctx context.Context) error {
	told := map[record]pendingChange{}
	for _, m := range s.pending {
		told[m.record] = m
	}
	orders := map[int64]pendingChange{}
	for _, r := range s.changedInBookings(told) {
		m, ok := told[r]
		if !ok {
			m = pendingChange{origin: Found, at: s.at}
		}
		for _, id := range s.ordersOf(r) {
			orders[id] = m
		}
	}
	if _, known := s.targets[Bookings]; !known || len(orders) == 0 {
		return nil
	}
	changed := slices.Sorted(maps.Keys(orders))
	bookings, err := s.shows(ctx, s.tx, changed)
	if err != nil {
		return err
	}
	ids := slices.Clone(s.touched[Bookings])
	for _, order := range changed {
		m := orders[order]
		for _, id := range bookings[order] {
			s.followed = append(s.followed, pendingChange{record: record{Bookings, id}, kind: Updated, origin: m.origin, actor: m.actor, at: m.at, request: m.request})
			ids = append(ids, id)
		}
	}
	if len(s.followed) == 0 {
		return nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	records := map[Resource][]int64{Bookings: ids}
	if err := s.readRows(ctx, records); err != nil {
		return err
	}
	return s.readLater(ctx, records)
}

// changedInBookings returns the orders and payments for which bookings may show something different: those
// whose facts changed, and reported ones that had no snapshot.
func (s *numbering) changedInBookings(told map[record]pendingChange) (changed []record) {
	for _, resource := range []Resource{Orders, Payments} {
		for _, id := range s.touched[resource] {
			r := record{resource, id}
			now, exists := s.now[resource][id]
			before, existed := s.before(r)
			_, entered := told[r]
			unknown := entered && slices.Contains(s.unknown[resource], spanOf(id))
			created := resource == Orders && !existed // together with its bookings
			if !created && !s.later[r] && (exists != existed || now.facts != before.facts || unknown) {
				changed = append(changed, r)
			}
		}
	}
	return changed
}

// ordersOf returns the orders that an order or a payment concerns, before and now.
func (s *numbering) ordersOf(r record) (orders []int64) {
	if r.resource == Orders {
		return []int64{r.id}
	}
	before, _ := s.before(r)
	for _, row := range []rowState{before, s.now[r.resource][r.id]} {
		order, _, _ := strings.Cut(row.facts, "|")
		if id, err := strconv.ParseInt(order, 10, 64); err == nil && id > 0 {
			orders = append(orders, id)
		}
	}
	return orders
}
