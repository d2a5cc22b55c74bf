package journal

import (
	"context"
	"fmt"
	"slices"
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
	err = j.db.Transact(ctx, "number changes", func(tx *wpdb.DB) (err error) {
		s := numbering{j: j, tx: tx, targets: targets, shows: shows, at: domain.Stamp(j.now())}
		more, err = s.run(ctx, candidates)
		p = s.position
		return err
	})
	return p, more, err
}

// numbering is one transaction of assignNumbers.
type numbering struct {
	j        *Journal
	tx       *wpdb.DB
	targets  map[Resource]compared
	shows    bookingsOf
	at       string
	position position // of the journal, including the new entries
	pending  []pendingChange
	touched  map[Resource][]int64
	now      map[Resource]snapshot // the present rows
	spans    map[Resource]map[int64]snapshot
	unknown  map[Resource][]int64 // spans that had no snapshots
	later    map[record]bool      // records with further rows in the inbox
	repeated map[record]bool      // records with a found entry younger than foundWindow
	followed []pendingChange      // bookings that show data of a changed order, see follow
	entries  []Entry
	stamps   []string // the times of the entries
}

func (s *numbering) run(ctx context.Context, candidates []record) (more bool, err error) {
	if s.position, err = s.j.lockPresent(ctx, s.tx); err != nil {
		return false, err
	}
	if s.pending, more, err = s.inbox(ctx); err != nil {
		return false, err
	}
	if len(s.pending) == 0 && len(candidates) == 0 {
		return false, nil
	}
	s.touch(candidates)
	for _, step := range []func(context.Context) error{s.readTouched, s.readRepeated, s.follow} {
		if err := step(ctx); err != nil {
			return false, err
		}
	}
	if err := s.compose(candidates); err != nil {
		return false, err
	}
	for _, step := range []func(context.Context) error{s.insertEntries, s.emptyInbox, s.storeSnapshots} {
		if err := step(ctx); err != nil {
			return false, err
		}
	}
	return more, nil
}

// inbox reads the oldest rows. Uses the primary key.
//
// The ids of a record's rows follow the order of the commits, on a cluster too: a writer draws them after
// changing a row that every rival changes, so the rival that commits later runs on a node that has applied
// these rows, and such a node draws only higher ids.
func (s *numbering) inbox(ctx context.Context) (messages []pendingChange, more bool, err error) {
	stmt := sq.Select("id", "resource", "resource_id", "kind", "origin", "actor_id", "status", "at").
		Columns(assignmentColumns("")...).Columns(assignmentColumns("old_")...).Columns("request_id").From(s.tx.Name(wpdb.ChangeInbox)).OrderBy("id").Limit(batchSize + 1)
	return wpdb.First(ctx, s.tx, "read inbox of changes", stmt, batchSize, func(row wpdb.Scanner) (m pendingChange, err error) {
		var from, to Assignment
		columns := []any{&m.id, &m.resource, &m.record.id, &m.kind, &m.origin, wpdb.OrZero(&m.actor), wpdb.OrZero(&m.status), &m.at}
		err = row.Scan(append(append(append(columns, to.scanned()...), from.scanned()...), &m.request)...)
		m.from, m.to = from.orNil(), to.orNil()
		return m, err
	})
}

// touch collects the records that the transaction is about.
func (s *numbering) touch(candidates []record) {
	s.touched = map[Resource][]int64{}
	add := func(r record) {
		if _, known := s.targets[r.resource]; known {
			s.touched[r.resource] = append(s.touched[r.resource], r.id)
		}
	}
	for _, m := range s.pending {
		add(m.record)
	}
	for _, r := range candidates {
		add(r)
	}
	for resource, ids := range s.touched {
		slices.Sort(ids)
		s.touched[resource] = slices.Compact(ids)
	}
}

// readTouched reads the touched records, see readRows and readLater.
func (s *numbering) readTouched(ctx context.Context) error {
	s.now, s.spans, s.unknown, s.later = map[Resource]snapshot{}, map[Resource]map[int64]snapshot{}, map[Resource][]int64{}, map[record]bool{}
	if err := s.readRows(ctx, s.touched); err != nil {
		return err
	}
	return s.readLater(ctx, s.touched)
}

// readRows reads the present rows of records, and their snapshots. Ids are in ascending order.
func (s *numbering) readRows(ctx context.Context, records map[Resource][]int64) (err error) {
	rows, spans := map[Resource]*[]presentRow{}, map[Resource]*[]storedSpan{}
	var queries []wpdb.Query
	for r, ids := range records {
		rows[r], spans[r] = new([]presentRow), new([]storedSpan)
		queries = append(queries, s.targets[r].queryRows(rows[r], sq.Eq{"id": ids}), s.targets[r].querySpans(s.tx, spans[r], sq.Eq{"span": spansOf(ids)}))
	}
	if err := wpdb.Together(ctx, s.tx, queries...); err != nil {
		return err
	}
	for r, ids := range records {
		s.now[r], s.spans[r] = snapshot{}, map[int64]snapshot{}
		s.now[r].add(*rows[r])
		if err := decodeSpans(*spans[r], s.spans[r]); err != nil {
			return err
		}
		if s.unknown[r], err = s.targets[r].complete(ctx, s.tx, spansOf(ids), s.spans[r]); err != nil {
			return err
		}
	}
	return nil
}

// readLater finds the records that have further rows in the inbox, which arrived meanwhile or
// exceed the batch. Those rows may explain the present state of the records, so nothing is concluded from
// it yet. Uses the index record.
func (s *numbering) readLater(ctx context.Context, records map[Resource][]int64) error {
	var which sq.Or
	for resource, ids := range records {
		which = append(which, sq.Eq{"resource": string(resource), "resource_id": ids})
	}
	if len(which) == 0 {
		return nil
	}
	stmt := sq.Select("resource", "resource_id").Distinct().From(s.tx.Name(wpdb.ChangeInbox)).Where(which)
	if seen := s.pendingIDs(); len(seen) > 0 {
		stmt = stmt.Where(sq.NotEq{"id": seen})
	}
	more, err := wpdb.All(ctx, s.tx, "find later changes", stmt, wpdb.Into(func(r *record) []any { return []any{&r.resource, &r.id} }))
	for _, r := range more {
		s.later[r] = true
	}
	return err
}

// pendingIDs are the ids of the inbox rows that were read.
func (s *numbering) pendingIDs() []int64 {
	ids := make([]int64, len(s.pending))
	for i, m := range s.pending {
		ids[i] = m.id
	}
	return ids
}

// foundWindow is how late WordPress may report a change that was already found.
const foundWindow = 5 * time.Minute

// readRepeated finds the records that WordPress reports although their rows are as in the snapshot, and
// that have a recent found entry in the journal. Uses the index record.
func (s *numbering) readRepeated(ctx context.Context) error {
	s.repeated = map[record]bool{}
	asked := map[Resource][]int64{}
	for _, m := range s.pending {
		now, exists := s.now[m.resource][m.record.id]
		before, existed := s.before(m.record)
		if m.origin == FromSite && exists == existed && now == before {
			asked[m.resource] = append(asked[m.resource], m.record.id)
		}
	}
	at, err := time.Parse(time.DateTime, s.at)
	if err != nil {
		return fmt.Errorf("number changes: %w", err)
	}
	for resource, ids := range asked {
		stmt := sq.Select("DISTINCT resource_id").From(s.tx.Name(wpdb.Changes)).
			Where(sq.Eq{"resource": string(resource), "resource_id": ids, "origin": string(Found)}).
			Where(sq.GtOrEq{"at": domain.Stamp(at.Add(-foundWindow))})
		found, err := wpdb.All(ctx, s.tx, "find entries of found changes", stmt, wpdb.Value[int64])
		if err != nil {
			return err
		}
		for _, id := range found {
			s.repeated[record{resource, id}] = true
		}
	}
	return nil
}

// before returns the record's row in the snapshot.
func (s *numbering) before(r record) (rowState, bool) {
	row, ok := s.spans[r.resource][spanOf(r.id)][r.id]
	return row, ok
}

// compose creates the entries and updates the snapshots.
func (s *numbering) compose(candidates []record) error {
	histories := map[record]*history{}
	var order []record
	historyOf := func(r record) (*history, error) {
		if h := histories[r]; h != nil {
			return h, nil
		}
		now, exists := s.now[r.resource][r.id]
		before, existed := s.before(r)
		h, err := newHistory(r.resource, before, existed, now, exists)
		histories[r], order = h, append(order, r)
		return h, err
	}
	for _, m := range s.pending {
		if _, known := s.targets[m.resource]; !known {
			continue
		}
		h, err := historyOf(m.record)
		if err != nil {
			return err
		}
		if m.origin == FromSite && (s.repeated[m.record] || h.repeats(m)) {
			continue
		}
		if entry, ok := h.tell(m); ok {
			s.add(entry, m.at)
		}
	}
	for _, r := range candidates {
		if _, known := s.targets[r.resource]; !known {
			continue
		}
		if _, err := historyOf(r); err != nil {
			return err
		}
	}
	for _, m := range s.followed {
		h, err := historyOf(m.record)
		if err != nil {
			return err
		}
		if h.exists && h.kind == "" {
			s.add(h.entry(m), m.at)
		}
	}
	for _, r := range order {
		h := histories[r]
		if !s.later[r] {
			if entry, ok := h.find(r); ok {
				s.add(entry, s.at)
			}
		}
		s.remember(r, h)
	}
	return nil
}

func (s *numbering) add(e Entry, at string) {
	s.position.last++
	e.Number = s.position.last
	s.entries, s.stamps = append(s.entries, e), append(s.stamps, at)
}

// remember puts the present row into the snapshot. If the inbox has further rows about the record, the
// snapshot gets the state that the entries so far left.
func (s *numbering) remember(r record, h *history) {
	rows := s.spans[r.resource][spanOf(r.id)]
	switch later := s.later[r]; {
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
func (s *numbering) factsAfterEntries(r record, h *history) string {
	if r.resource == Bookings { // whose history has the facts after each entry
		return h.facts.text()
	}
	if before, existed := s.before(r); existed { // entries of others do not say facts: those change with the waiting rows
		return before.facts
	}
	return h.row.facts // a new record
}

// insertEntries writes the journal and its last number.
func (s *numbering) insertEntries(ctx context.Context) error {
	if len(s.entries) == 0 {
		return nil
	}
	stmt := sq.Insert(s.tx.Name(wpdb.Changes)).Columns("number", "resource", "resource_id", "kind", "origin", "actor_id", "at", "old_status", "new_status").
		Columns(assignmentColumns("")...).Columns(assignmentColumns("old_")...).Columns("request_id")
	for i, e := range s.entries {
		var f BookingFacts
		if e.Booking != nil {
			f = *e.Booking
		}
		values := []any{e.Number, string(e.Resource), e.ID, string(e.Kind), string(e.Origin), wpdb.NullIfZero(e.ActorID), s.stamps[i],
			wpdb.NullIfZero(f.OldStatus), wpdb.NullIfZero(f.NewStatus)}
		stmt = stmt.Values(append(append(append(values, f.values()...), f.Before.values()...), e.RequestID)...)
	}
	if _, err := wpdb.Later(ctx, s.tx, "insert changes", stmt); err != nil {
		return err
	}
	update := sq.Update(s.tx.Name(wpdb.ChangePositions)).Set("position", s.position.last).Where(sq.Eq{"name": journalPosition})
	_, err := wpdb.Later(ctx, s.tx, "store last number", update)
	return err
}

func (s *numbering) emptyInbox(ctx context.Context) error {
	if len(s.pending) == 0 {
		return nil
	}
	_, err := wpdb.Later(ctx, s.tx, "empty inbox of changes", sq.Delete(s.tx.Name(wpdb.ChangeInbox)).Where(sq.Eq{"id": s.pendingIDs()}))
	return err
}

func (s *numbering) storeSnapshots(ctx context.Context) error {
	for resource, spans := range s.spans {
		if err := storeSnapshots(ctx, s.tx, resource, spans); err != nil {
			return err
		}
	}
	return nil
}
