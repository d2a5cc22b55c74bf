package journal

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// states are records as they are, and as their snapshots have them.
type states map[Resource]state

type state struct {
	ids     []int64 // ascending
	rows    snapshot
	spans   map[int64]snapshot
	unknown []int64        // spans that had no snapshots
	waiting map[int64]bool // records with further rows in the inbox
}

// now returns the record's present row.
func (s states) now(r record) (row rowState, exists bool) {
	row, exists = s[r.resource].rows[r.id]
	return row, exists
}

// before returns the record's row in the snapshot.
func (s states) before(r record) (row rowState, existed bool) {
	row, existed = s[r.resource].spans[spanOf(r.id)][r.id]
	return row, existed
}

// changed reports whether the record's row is not as in the snapshot.
func (s states) changed(r record) bool {
	now, exists := s.now(r)
	before, existed := s.before(r)
	return exists != existed || now != before
}

// later reports whether the inbox has further rows about a record, which arrived meanwhile or exceed the batch. Those rows
// may explain its present state, so nothing is concluded from it yet.
func (s states) later(r record) bool { return s[r.resource].waiting[r.id] }

// remember puts the present row into the snapshot. If the inbox has further rows about the record, the
// snapshot gets the state that the entries so far left.
func (s states) remember(r record, h *history) {
	rows := s[r.resource].spans[spanOf(r.id)]
	switch later := s.later(r); {
	case later && h.live:
		rows[r.id] = rowState{h.row.hash, s.factsAfterEntries(r, h)}
	case later || !h.exists:
		delete(rows, r.id)
	default:
		rows[r.id] = h.row
	}
}

// factsAfterEntries returns the facts of a record, see factsOf, as they were after the entries that exist so far, while rows of
// the inbox about it wait for the next run.
func (s states) factsAfterEntries(r record, h *history) string {
	if r.resource == Bookings { // whose history has the facts after each entry
		return h.facts.text()
	}
	if before, existed := s.before(r); existed { // entries of others do not say facts: those change with the waiting rows
		return before.facts
	}
	return h.row.facts // a new record
}

// concerned returns the ids, ascending, of the records that pending changes and candidates are about.
func (n numbering) concerned(pending []pendingChange, candidates []record) map[Resource][]int64 {
	ids := map[Resource][]int64{}
	add := func(r record) {
		if _, known := n.targets[r.resource]; known {
			ids[r.resource] = append(ids[r.resource], r.id)
		}
	}
	for _, m := range pending {
		add(m.record)
	}
	for _, r := range candidates {
		add(r)
	}
	for resource := range ids {
		slices.Sort(ids[resource])
		ids[resource] = slices.Compact(ids[resource])
	}
	return ids
}

// readStates reads the states of records, whose ids are in ascending order.
func (n numbering) readStates(ctx context.Context, pending []pendingChange, ids map[Resource][]int64) (states, error) {
	rows, spans := map[Resource]*[]presentRow{}, map[Resource]*[]storedSpan{}
	var queries []wpdb.Query
	for r, ids := range ids {
		rows[r], spans[r] = new([]presentRow), new([]storedSpan)
		queries = append(queries, n.targets[r].queryRows(rows[r], sq.Eq{"id": ids}), n.targets[r].querySpans(n.tx, spans[r], sq.Eq{"span": spansOf(ids)}))
	}
	if err := wpdb.Together(ctx, n.tx, queries...); err != nil {
		return nil, err
	}
	found := states{}
	for r, ids := range ids {
		s := state{ids: ids, rows: snapshot{}, waiting: map[int64]bool{}}
		s.rows.add(*rows[r])
		var err error
		if s.spans, err = decodeSpans(*spans[r]); err != nil {
			return nil, err
		}
		if s.unknown, err = n.targets[r].addMissing(ctx, n.tx, spansOf(ids), s.spans); err != nil {
			return nil, err
		}
		found[r] = s
	}
	waiting, err := n.waiting(ctx, pending, ids)
	for _, r := range waiting {
		found[r.resource].waiting[r.id] = true
	}
	return found, err
}

// waiting returns those of some records that the inbox has further rows about. Uses the index record.
func (n numbering) waiting(ctx context.Context, pending []pendingChange, ids map[Resource][]int64) ([]record, error) {
	var which sq.Or
	for resource, ids := range ids {
		which = append(which, sq.Eq{"resource": string(resource), "resource_id": ids})
	}
	if len(which) == 0 {
		return nil, nil
	}
	stmt := sq.Select("resource", "resource_id").Distinct().From(n.tx.Name(wpdb.ChangeInbox)).Where(which)
	if len(pending) > 0 {
		stmt = stmt.Where(sq.NotEq{"id": inboxIDs(pending)})
	}
	return wpdb.All(ctx, n.tx, "find later changes", stmt, wpdb.Into(func(r *record) []any { return []any{&r.resource, &r.id} }))
}
