package journal

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Page is a part of the journal.
type Page struct {
	Entries []Entry // ordered by number
	// Cursor is the place after the last entry that was examined.
	Cursor Cursor
	// More reports whether more entries, of any resource, follow the cursor.
	More bool
}

// maxScan limits how many entries a read examines if it wants only some resources. The console's page of changes names it,
// in a text that is translated as a whole.
const maxScan = 10_000

// Read returns at most limit entries after a cursor, of the given resources or of all if there are none. If
// entries after the cursor have been deleted, or the cursor is from another journal, it returns a
// CodeCursorExpired. A gap in the middle is noticed at once if all resources are read, and otherwise once
// Run has found it.
func (j *Journal) Read(ctx context.Context, cursor Cursor, resources []Resource, limit int) (Page, error) {
	return j.read(ctx, &cursor.Epoch, cursor.Number, resources, limit)
}

// ReadBehind is Read for a reader that stores the number in the journal's database, so that the two are
// restored together: the number belongs to the present epoch.
func (j *Journal) ReadBehind(ctx context.Context, number int64, resources []Resource, limit int) (Page, error) {
	return j.read(ctx, nil, number, resources, limit)
}

func (j *Journal) read(ctx context.Context, epoch *string, number int64, resources []Resource, limit int) (Page, error) {
	p, err := bounds(ctx, j.db)
	if err != nil {
		return Page{}, err
	}
	if epoch != nil && *epoch != p.epoch || number < p.floor || number > p.last {
		return Page{}, domain.CursorExpired()
	}
	end := p.end()
	if number == p.last {
		return Page{Cursor: end}, nil
	}
	scanned := min(p.last, number+maxScan)
	which := sq.And{sq.Gt{"number": number}, sq.LtOrEq{"number": scanned}}
	if len(resources) > 0 {
		which = append(which, sq.Eq{"resource": words(resources)})
	}
	stmt := j.selectEntries().Where(which).OrderBy("number")
	entries, more, err := wpdb.First(ctx, j.db, "read changes", stmt.Limit(uint64(limit)+1), int64(limit), scanEntry)
	if err != nil {
		return Page{}, err
	}
	// Entries may have been deleted since the first check, or the journal replaced.
	if p, err = bounds(ctx, j.db); err != nil {
		return Page{}, err
	}
	if number < p.floor || p.epoch != end.Epoch {
		return Page{}, domain.CursorExpired()
	}
	if len(resources) == 0 && !dense(entries, number, scanned, more) {
		j.gap.Store(true)
		return Page{}, domain.CursorExpired()
	}
	page := Page{Entries: entries, Cursor: end.At(scanned), More: scanned < end.Number}
	if more {
		page.Cursor, page.More = end.At(entries[len(entries)-1].Number), true
	}
	return page, nil
}

// dense reports whether entries have all numbers after behind, up to upTo unless there are more: numbers
// are assigned consecutively, and the oldest are deleted first.
func dense(entries []Entry, behind, upTo int64, more bool) bool {
	for _, e := range entries {
		if behind++; e.Number != behind {
			return false
		}
	}
	return more || behind == upTo
}

// Latest returns the latest entries of some resources, or of all if there are none, newest first,
// considering only entries before a number; 0 stands for the end. It examines as many entries as Read.
func (j *Journal) Latest(ctx context.Context, resources []Resource, before int64, limit uint64) ([]Entry, error) {
	p, err := bounds(ctx, j.db)
	if err != nil {
		return nil, err
	}
	which := sq.And{sq.Gt{"number": max(p.last-maxScan, 0)}, sq.LtOrEq{"number": p.last}}
	if before > 0 {
		which = append(which, sq.Lt{"number": before})
	}
	if len(resources) > 0 {
		which = append(which, sq.Eq{"resource": words(resources)})
	}
	return wpdb.All(ctx, j.db, "read latest changes", j.selectEntries().Where(which).OrderBy("number DESC").Limit(limit), scanEntry)
}

// Of returns the latest entries of some records, newest first. It uses the index on the record.
func (j *Journal) Of(ctx context.Context, records map[Resource][]int64, limit uint64) ([]Entry, error) {
	which := sq.Or{}
	for resource, ids := range records {
		which = append(which, sq.Eq{"resource": string(resource), "resource_id": ids})
	}
	return wpdb.All(ctx, j.db, "read changes of records", j.selectEntries().Where(which).OrderBy("number DESC").Limit(limit), scanEntry)
}

// OfRequest returns the latest changes that requests to the API with an id made, newest first. Clients may give several
// requests one id. It uses the index request.
func (j *Journal) OfRequest(ctx context.Context, id string, limit uint64) ([]Entry, error) {
	if strings.ContainsFunc(id, func(r rune) bool { return r > unicode.MaxASCII }) {
		return nil, nil // the column is ASCII, and the database compares it to nothing else
	}
	return wpdb.All(ctx, j.db, "read changes of a request", j.selectEntries().Where(sq.Eq{"request_id": id}).OrderBy("number DESC").Limit(limit), scanEntry)
}

func (j *Journal) selectEntries() sq.SelectBuilder {
	return sq.Select("number", "resource", "resource_id", "kind", "origin", "actor_id", "at", "old_status", "new_status").
		Columns(assignmentColumns("")...).Columns(assignmentColumns("old_")...).Columns("request_id").From(j.db.Name(wpdb.Changes))
}

// End returns the place after the last entry. If the journal has no position yet, it creates one: a cursor
// needs an epoch that stays.
func (j *Journal) End(ctx context.Context) (Cursor, error) {
	p, err := j.present(ctx)
	return p.end(), err
}

// present returns the position of the journal, creating it if there is none.
func (j *Journal) present(ctx context.Context) (position, error) {
	p, found, err := readPosition(ctx, j.db)
	if err != nil || found {
		return p, err
	}
	if _, err := j.repair(ctx); err != nil {
		return position{}, err
	}
	p, _, err = readPosition(ctx, j.db)
	return p, err
}

// Start returns the position before the oldest entry.
func (j *Journal) Start(ctx context.Context) (int64, error) {
	p, err := bounds(ctx, j.db)
	return p.floor, err
}

// EndIn returns the number of End for a caller that already has a connection or a transaction.
func (j *Journal) EndIn(ctx context.Context, db *wpdb.DB) (int64, error) {
	p, err := bounds(ctx, db)
	return p.last, err
}

func words(resources []Resource) []string {
	texts := make([]string, len(resources))
	for i, r := range resources {
		texts[i] = string(r)
	}
	return texts
}

func scanEntry(row wpdb.Scanner) (e Entry, err error) {
	var at string
	var facts BookingFacts
	var before Assignment
	columns := []any{&e.Number, &e.Resource, &e.ID, &e.Kind, &e.Origin, wpdb.OrZero(&e.ActorID), &at, wpdb.OrZero(&facts.OldStatus), wpdb.OrZero(&facts.NewStatus)}
	if err := row.Scan(append(append(append(columns, facts.scanned()...), before.scanned()...), &e.RequestID)...); err != nil {
		return e, err
	}
	facts.Before = before.orNil()
	if facts != (BookingFacts{}) {
		e.Booking = &facts
	}
	if e.At, err = time.Parse(time.DateTime, at); err != nil {
		return e, fmt.Errorf("time of change %d: %w", e.Number, err)
	}
	return e, nil
}
