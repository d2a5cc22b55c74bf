package journal

import "cmp"

// history follows one record through its reported changes, from its snapshot to its present row.
type history struct {
	row    rowState // the present row
	exists bool

	now    BookingFacts // of the present row
	facts  BookingFacts // after the latest entry; NewStatus is the record's status by then
	live   bool         // the record exists by then
	kind   Kind         // of the latest entry; "" before the first
	origin Origin
	// unchanged is set if the present row is as in the snapshot.
	unchanged bool
}

func newHistory(r Resource, before rowState, existed bool, now rowState, exists bool) (h *history, err error) {
	h = &history{row: now, exists: exists, live: existed, unchanged: exists == existed && now == before}
	if r != Bookings {
		return h, nil
	}
	if h.facts, err = bookingFacts(before.facts); err == nil {
		h.now, err = bookingFacts(now.facts)
	}
	return h, err
}

// repeats reports whether WordPress reports the same change again: one request often writes a row several
// times.
func (h *history) repeats(m pendingChange) bool {
	return h.origin == FromSite && h.kind != "" && m.kind == Updated && h.kind != Deleted && (m.status == "" || m.status == h.facts.NewStatus) &&
		(m.to == nil || *m.to == h.facts.Assignment)
}

// tell returns the entry for a row of the inbox; ok is false if nobody could have seen the change.
func (h *history) tell(m pendingChange) (e Entry, ok bool) {
	switch m.kind {
	case Created:
		if m.origin == FromSite && !h.exists && !h.live {
			return e, false // PHP has no transactions, but may delete what it created at once
		}
	case Updated:
	case Deleted:
		if m.origin == FromSite && h.exists {
			return e, false
		}
	default:
		return e, false
	}
	return h.entry(m), true
}

// find returns the entry for what the reported changes do not explain: for anything if there are none,
// otherwise for a status, assignment or existence that differs from what the last one left behind.
func (h *history) find(r record) (e Entry, ok bool) {
	m := pendingChange{record: r, origin: Found, status: h.now.NewStatus, to: h.now.orNil()}
	switch {
	case h.exists && !h.live:
		m.kind = Created
	case !h.exists && h.live:
		m.kind = Deleted
	case h.exists && h.kind == "" && !h.unchanged, h.exists && h.kind != "" && h.facts != h.now:
		m.kind = Updated
	default:
		return e, false
	}
	return h.entry(m), true
}

// entry returns the entry for the next change of the record.
func (h *history) entry(m pendingChange) Entry {
	e := Entry{Resource: m.resource, ID: m.record.id, Kind: m.kind, Origin: m.origin, ActorID: m.actor, RequestID: m.request}
	h.kind, h.origin, h.live = m.kind, m.origin, m.kind != Deleted
	if m.resource != Bookings {
		return e
	}
	facts := BookingFacts{OldStatus: h.facts.NewStatus}
	switch {
	case m.kind == Deleted:
	case m.status != "":
		facts.NewStatus = m.status
	case m.kind == Created || m.origin == FromSite:
		facts.NewStatus = h.now.NewStatus
	default:
		facts.NewStatus = h.facts.NewStatus
	}
	// A request enters a status only if it changed. The snapshot may be newer than that.
	if m.kind == Created || m.origin == FromAPI && facts.OldStatus == m.status {
		facts.OldStatus = ""
	}
	facts.Assignment, facts.Before = h.assign(m)
	h.facts = BookingFacts{NewStatus: facts.NewStatus, Assignment: facts.Assignment}
	if facts != (BookingFacts{}) {
		e.Booking = &facts
	}
	return e
}

// assign returns the assignment of a booking after a change, and the one before if the change moved it.
func (h *history) assign(m pendingChange) (after Assignment, before *Assignment) {
	before = cmp.Or(m.from, h.facts.orNil())
	switch {
	case m.to != nil:
		after = *m.to
	case before != nil && (m.kind == Deleted || m.origin == FromAPI || !h.exists):
		after = *before // a request reports whether it moves a booking
	default:
		after = h.now.Assignment
	}
	if m.kind != Updated || before == nil || *before == after {
		return after, nil
	}
	return after, before
}
