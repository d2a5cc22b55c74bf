package journal

import (
	"context"
	"fmt"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// record identifies a row of the site.
type record struct {
	resource Resource
	id       int64
}

// pendingChange is a row of the inbox.
type pendingChange struct {
	id int64
	record
	kind   Kind
	origin Origin
	actor  int64
	status string
	at     string
	// The assignments of a booking before and now; nil if not reported.
	from, to *Assignment
	request  string // see Entry.RequestID
}

// batchSize limits how many rows of the inbox, and how many candidates, one transaction numbers.
const batchSize = 500

// assignNumbers numbers the changes in the inbox, and those of the candidates that nobody entered: rows
// that seem to differ from their snapshots. It is one transaction, which holds the row of the journal, so
// that numbers become visible in order.
//
// It returns the position of the journal, and whether the inbox may have more.
func (j *Journal) assignNumbers(ctx context.Context, targets map[Resource]compared, shows bookingsOf, candidates []record) (p position, more bool, err error) {
	err = j.db.Transact(ctx, "number changes", func(tx *wpdb.DB) error {
		if p, err = j.lockPresent(ctx, tx); err != nil {
			return err
		}
		n := numbering{tx: tx, targets: targets, shows: shows, at: domain.Stamp(j.now())}
		p.last, more, err = n.run(ctx, p.last, candidates)
		return err
	})
	return p, more, err
}

// numbering is one transaction of assignNumbers.
type numbering struct {
	tx      *wpdb.DB
	targets map[Resource]compared
	shows   bookingsOf
	at      string // the present time
}

// newEntry is an entry that has no number yet.
type newEntry struct {
	Entry
	at string
}

// run numbers the changes, and returns the new last number.
func (n numbering) run(ctx context.Context, last int64, candidates []record) (newLast int64, more bool, err error) {
	pending, more, err := n.inbox(ctx)
	if err != nil || len(pending) == 0 && len(candidates) == 0 {
		return last, false, err
	}
	found, err := n.readStates(ctx, pending, n.concerned(pending, candidates))
	if err != nil {
		return last, false, err
	}
	repeated, err := n.findRepeated(ctx, pending, found)
	if err != nil {
		return last, false, err
	}
	followed, err := n.follow(ctx, pending, found)
	if err != nil {
		return last, false, err
	}
	if found, err = n.addStates(ctx, pending, found, followed); err != nil {
		return last, false, err
	}
	entries, err := n.compose(found, pending, repeated, candidates, followed)
	if err != nil {
		return last, false, err
	}
	if err := n.insertEntries(ctx, last, entries); err != nil {
		return last, false, err
	}
	if err := n.emptyInbox(ctx, pending); err != nil {
		return last, false, err
	}
	for resource, state := range found {
		if err := storeSnapshots(ctx, n.tx, resource, state.spans); err != nil {
			return last, false, err
		}
	}
	return last + int64(len(entries)), more, nil
}

// inbox reads the oldest rows. Uses the primary key.
//
// The ids of a record's rows follow the order of the commits, on a cluster too: a writer draws them after
// changing a row that every rival changes, so the rival that commits later runs on a node that has applied
// these rows, and such a node draws only higher ids.
func (n numbering) inbox(ctx context.Context) (messages []pendingChange, more bool, err error) {
	stmt := sq.Select("id", "resource", "resource_id", "kind", "origin", "actor_id", "status", "at").
		Columns(assignmentColumns("")...).Columns(assignmentColumns("old_")...).Columns("request_id").From(n.tx.Name(wpdb.ChangeInbox)).OrderBy("id").Limit(batchSize + 1)
	return wpdb.First(ctx, n.tx, "read inbox of changes", stmt, batchSize, func(row wpdb.Scanner) (m pendingChange, err error) {
		var from, to Assignment
		columns := []any{&m.id, &m.resource, &m.record.id, &m.kind, &m.origin, wpdb.OrZero(&m.actor), wpdb.OrZero(&m.status), &m.at}
		err = row.Scan(append(append(append(columns, to.scanned()...), from.scanned()...), &m.request)...)
		m.from, m.to = from.orNil(), to.orNil()
		return m, err
	})
}

// foundWindow is how late WordPress may report a change that was already found.
const foundWindow = 5 * time.Minute

// findRepeated finds the records that WordPress reports although their rows are as in the snapshot, and
// that have a recent found entry in the journal. Uses the index record.
func (n numbering) findRepeated(ctx context.Context, pending []pendingChange, found states) (repeated map[record]bool, err error) {
	unchanged := map[Resource][]int64{}
	for _, m := range pending {
		if m.origin == FromSite && !found.changed(m.record) {
			unchanged[m.resource] = append(unchanged[m.resource], m.record.id)
		}
	}
	at, err := time.Parse(time.DateTime, n.at)
	if err != nil {
		return nil, fmt.Errorf("number changes: %w", err)
	}
	repeated = map[record]bool{}
	for resource, ids := range unchanged {
		stmt := sq.Select("DISTINCT resource_id").From(n.tx.Name(wpdb.Changes)).
			Where(sq.Eq{"resource": string(resource), "resource_id": ids, "origin": string(Found)}).
			Where(sq.GtOrEq{"at": domain.Stamp(at.Add(-foundWindow))})
		entered, err := wpdb.All(ctx, n.tx, "find entries of found changes", stmt, wpdb.Value[int64])
		if err != nil {
			return nil, err
		}
		for _, id := range entered {
			repeated[record{resource, id}] = true
		}
	}
	return repeated, nil
}

// compose returns the entries, and puts into the snapshots what they tell.
func (n numbering) compose(found states, pending []pendingChange, repeated map[record]bool, candidates []record, followed []pendingChange) (entries []newEntry, err error) {
	histories := map[record]*history{}
	var order []record
	historyOf := func(r record) (*history, error) {
		if h := histories[r]; h != nil {
			return h, nil
		}
		now, exists := found.now(r)
		before, existed := found.before(r)
		h, err := newHistory(r.resource, before, existed, now, exists)
		histories[r], order = h, append(order, r)
		return h, err
	}
	for _, m := range pending {
		if _, known := n.targets[m.resource]; !known {
			continue
		}
		h, err := historyOf(m.record)
		if err != nil {
			return nil, err
		}
		if m.origin == FromSite && (repeated[m.record] || h.repeats(m)) {
			continue
		}
		if entry, ok := h.tell(m); ok {
			entries = append(entries, newEntry{entry, m.at})
		}
	}
	for _, r := range candidates {
		if _, known := n.targets[r.resource]; !known {
			continue
		}
		if _, err := historyOf(r); err != nil {
			return nil, err
		}
	}
	for _, m := range followed {
		h, err := historyOf(m.record)
		if err != nil {
			return nil, err
		}
		if h.exists && h.kind == "" {
			entries = append(entries, newEntry{h.entry(m), m.at})
		}
	}
	for _, r := range order {
		h := histories[r]
		if !found.later(r) {
			if entry, ok := h.find(r); ok {
				entries = append(entries, newEntry{entry, n.at})
			}
		}
		found.remember(r, h)
	}
	return entries, nil
}

// insertEntries writes the entries into the journal, and its last number.
func (n numbering) insertEntries(ctx context.Context, last int64, entries []newEntry) error {
	if len(entries) == 0 {
		return nil
	}
	stmt := sq.Insert(n.tx.Name(wpdb.Changes)).Columns("number", "resource", "resource_id", "kind", "origin", "actor_id", "at", "old_status", "new_status").
		Columns(assignmentColumns("")...).Columns(assignmentColumns("old_")...).Columns("request_id")
	for _, e := range entries {
		var f BookingFacts
		if e.Booking != nil {
			f = *e.Booking
		}
		last++
		values := []any{last, string(e.Resource), e.ID, string(e.Kind), string(e.Origin), wpdb.NullIfZero(e.ActorID), e.at,
			wpdb.NullIfZero(f.OldStatus), wpdb.NullIfZero(f.NewStatus)}
		stmt = stmt.Values(append(append(append(values, f.values()...), f.Before.values()...), e.RequestID)...)
	}
	if _, err := wpdb.Later(ctx, n.tx, "insert changes", stmt); err != nil {
		return err
	}
	update := sq.Update(n.tx.Name(wpdb.ChangePositions)).Set("position", last).Where(sq.Eq{"name": journalPosition})
	_, err := wpdb.Later(ctx, n.tx, "store last number", update)
	return err
}

func (n numbering) emptyInbox(ctx context.Context, pending []pendingChange) error {
	if len(pending) == 0 {
		return nil
	}
	_, err := wpdb.Later(ctx, n.tx, "empty inbox of changes", sq.Delete(n.tx.Name(wpdb.ChangeInbox)).Where(sq.Eq{"id": inboxIDs(pending)}))
	return err
}

// inboxIDs returns the ids of rows of the inbox.
func inboxIDs(pending []pendingChange) []int64 {
	ids := make([]int64, len(pending))
	for i, m := range pending {
		ids[i] = m.id
	}
	return ids
}
