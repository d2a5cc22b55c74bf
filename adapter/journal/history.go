package journal

// history follows one record through the changes that were told, from its snapshot to its
// present row.
type history struct {
	row    rowState // the present row
	exists bool

	facts  BookingFacts // of the latest entry; NewStatus is the record's status by then
	live   bool         // whether the record exists by then
	kind   Kind         // of the latest entry; "" before the first
	origin Origin
	// unchanged is true if the present row is as in the snapshot.
	unchanged bool
}

func newHistory(before rowState, existed bool, now rowState, exists bool) (*history, error) {
	h := &history{row: now, exists: exists, live: existed, unchanged: exists == existed && now == before}
	facts, err := bookingFacts(before.facts)
	h.facts = facts
	return h, err
}

// repeats reports whether WordPress tells about the same change once more: one request
// often writes a row several times.
func (h *history) repeats(m message) bool {
	return h.origin == FromSite && h.kind != "" && m.kind == Updated && h.kind != Deleted && (m.status == "" || m.status == h.facts.NewStatus)
}

// tell returns the entry for a row of the inbox; ok is false if it is about nothing that
// anybody could have seen.
func (h *history) tell(m message) (e Entry, ok bool) {
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
	return h.entry(m.record, m.kind, m.origin, m.actor, m.status), true
}

// find returns the entry for what the told changes do not explain: for anything if there
// are none, else for another status or existence than the last one left behind.
func (h *history) find(r record) (e Entry, ok bool) {
	now, err := bookingFacts(h.row.facts)
	if err != nil {
		return e, false
	}
	switch {
	case h.exists && !h.live:
		return h.entry(r, Created, Found, 0, now.NewStatus), true
	case !h.exists && h.live:
		return h.entry(r, Deleted, Found, 0, ""), true
	case h.exists && h.kind == "" && !h.unchanged, h.exists && h.kind != "" && h.facts.NewStatus != now.NewStatus:
		return h.entry(r, Updated, Found, 0, now.NewStatus), true
	default:
		return e, false
	}
}

// entry returns the entry for the next change of the record. status is the new status of a
// booking, or "" if it is not known or did not change.
func (h *history) entry(r record, kind Kind, origin Origin, actor int64, status string) Entry {
	e := Entry{Resource: r.resource, ID: r.id, Kind: kind, Origin: origin, ActorID: actor}
	h.kind, h.origin, h.live = kind, origin, kind != Deleted
	if r.resource != Bookings {
		return e
	}
	now, err := bookingFacts(h.row.facts)
	facts := h.facts // of the snapshot, for a booking that is gone
	if err == nil && h.exists {
		facts = now
	}
	facts.OldStatus = h.facts.NewStatus
	switch {
	case kind == Deleted:
		facts.NewStatus = ""
	case status != "":
		facts.NewStatus = status
	case kind == Created || origin == FromSite:
		facts.NewStatus = now.NewStatus
	default:
		facts.NewStatus = h.facts.NewStatus
	}
	// A request enters a status only if it changed. The snapshot may be younger than that.
	if kind == Created || origin == FromAPI && facts.OldStatus == status {
		facts.OldStatus = ""
	}
	h.facts = facts
	if facts != (BookingFacts{}) {
		e.Booking = &facts
	}
	return e
}
