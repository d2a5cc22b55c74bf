package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// errNotPrepared means that a position has no row. Run creates it.
var errNotPrepared = errors.New("the journal is not prepared yet")

// errSnapshotsLost means that somebody emptied the table of snapshots: all rows would seem new. Run takes
// the snapshots again.
var errSnapshotsLost = errors.New("the snapshots of the rows are lost")

// progress says which rows of a resource have snapshots.
type progress struct {
	position  int64 // rows with smaller ids have one
	floor     int64 // rows with larger ids have one: they did not exist when the first pass began
	signature string
}

// known reports whether a span without a stored snapshot is known to have had no rows.
func (p progress) known(span int64) bool {
	return span*spanSize < p.position || span*spanSize > p.floor
}

// complete reports whether the first pass is over.
func (p progress) complete() bool { return p.position > p.floor }

func readProgress(ctx context.Context, db *wpdb.DB, r Resource) (progress, bool, error) {
	stmt := sq.Select("position", "floor", "signature").From(db.Name(wpdb.ChangePositions)).Where(sq.Eq{"name": string(r)})
	return wpdb.One(ctx, db, "read progress", stmt, wpdb.Into(func(p *progress) []any {
		return []any{&p.position, &p.floor, &p.signature}
	}))
}

// progress returns how far the first pass has come. Another process that repairs the journal may not have
// restarted it yet.
func (c compared) progress(ctx context.Context, db *wpdb.DB) (progress, error) {
	p, found, err := readProgress(ctx, db, c.resource)
	if err == nil && !found {
		err = fmt.Errorf("position %s: %w", c.resource, errNotPrepared)
	}
	return p, err
}

// addMissing adds to the stored snapshots of spans those of the spans that have none, which are empty. For a span that the
// first pass has not reached, it takes one of the present rows and reports the span as unknown. spans are in ascending order.
func (c compared) addMissing(ctx context.Context, tx *wpdb.DB, spans []int64, stored map[int64]snapshot) (unknown []int64, err error) {
	if len(stored) == len(spans) {
		return nil, nil
	}
	if lost, err := snapshotsLost(ctx, tx); err != nil || lost {
		return nil, cmp.Or(err, errSnapshotsLost)
	}
	p, err := c.progress(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, span := range spans {
		if stored[span] != nil {
			continue
		}
		stored[span] = snapshot{}
		if !p.known(span) {
			unknown = append(unknown, span)
		}
	}
	for left := unknown; len(left) > 0; {
		run := 1 // consecutive spans that one statement reads
		for run < len(left) && left[run] == left[run-1]+1 {
			run++
		}
		rows, err := c.between(ctx, tx, left[0], left[run-1])
		if err != nil {
			return nil, err
		}
		for id, row := range rows {
			if id <= p.floor {
				stored[spanOf(id)][id] = row
			}
		}
		left = left[run:]
	}
	return unknown, nil
}

// readStored reads stored snapshots, by span.
func (c compared) readStored(ctx context.Context, db *wpdb.DB, which sq.Sqlizer) (map[int64]snapshot, error) {
	var found []storedSpan
	if err := wpdb.Together(ctx, db, c.querySpans(db, &found, which)); err != nil {
		return nil, err
	}
	return decodeSpans(found)
}

// storedSpan is a stored snapshot.
type storedSpan struct {
	span    int64
	content []byte
}

// querySpans reads stored snapshots. Uses the primary key.
func (c compared) querySpans(db *wpdb.DB, into *[]storedSpan, which sq.Sqlizer) wpdb.Query {
	stmt := sq.Select("span", "content").From(db.Name(wpdb.ChangeSnapshots)).Where(sq.Eq{"resource": string(c.resource)}).Where(which)
	return wpdb.Rows(into, "read snapshots", stmt, wpdb.Into(func(s *storedSpan) []any { return []any{&s.span, &s.content} }))
}

func decodeSpans(found []storedSpan) (spans map[int64]snapshot, err error) {
	spans = map[int64]snapshot{}
	for _, s := range found {
		if spans[s.span], err = decodeSnapshot(s.span, s.content); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

// spansPerStatement limits how many snapshots are written in one statement: about half a
// megabyte.
const spansPerStatement = 100

// storeSnapshots writes snapshots, and deletes those that have no rows.
func storeSnapshots(ctx context.Context, tx *wpdb.DB, r Resource, spans map[int64]snapshot) error {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(spans)), spansPerStatement) {
		stmt := sq.Insert(tx.Name(wpdb.ChangeSnapshots)).Columns("resource", "span", "records", "checksum", "content")
		var empty []int64
		for _, span := range part {
			if len(spans[span]) == 0 {
				empty = append(empty, span)
				continue
			}
			stmt = stmt.Values(string(r), span, len(spans[span]), spans[span].checksum(), spans[span].encode())
		}
		if len(empty) < len(part) {
			stmt = stmt.Suffix("ON DUPLICATE KEY UPDATE records = VALUES(records), checksum = VALUES(checksum), content = VALUES(content)")
			if _, err := wpdb.Later(ctx, tx, "store snapshots", stmt); err != nil {
				return err
			}
		}
		if len(empty) > 0 {
			stmt := sq.Delete(tx.Name(wpdb.ChangeSnapshots)).Where(sq.Eq{"resource": string(r), "span": empty})
			if _, err := wpdb.Later(ctx, tx, "delete snapshots", stmt); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare creates the positions of resources. For those whose compared columns changed, the first pass
// restarts.
func (j *Journal) prepare(ctx context.Context, targets map[Resource]compared) error {
	for _, target := range targets {
		p, ok, err := readProgress(ctx, j.db, target.resource)
		if err != nil {
			return err
		}
		if ok && p.signature == target.signature {
			continue
		}
		if err := j.restart(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

// restart restarts the first pass over a resource.
func (j *Journal) restart(ctx context.Context, target compared) error {
	return j.db.Transact(ctx, "begin to search", func(tx *wpdb.DB) error {
		if _, err := j.lockPresent(ctx, tx); err != nil {
			return err
		}
		largest, err := target.maxID(ctx, tx)
		if err != nil {
			return err
		}
		name := string(target.resource)
		if _, err := wpdb.Exec(ctx, tx, "delete snapshots", sq.Delete(tx.Name(wpdb.ChangeSnapshots)).Where(sq.Eq{"resource": name})); err != nil {
			return err
		}
		stmt := sq.Insert(tx.Name(wpdb.ChangePositions)).Columns("name", "position", "floor", "signature").
			Values(name, 0, largest, target.signature).
			Suffix("ON DUPLICATE KEY UPDATE position = VALUES(position), floor = VALUES(floor), signature = VALUES(signature)")
		_, err = wpdb.Exec(ctx, tx, "begin to search", stmt)
		return err
	})
}
