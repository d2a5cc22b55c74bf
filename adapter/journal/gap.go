package journal

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// gapSpan is how many entries a statement counts.
const gapSpan = 10_000

// closeGaps moves the floor past the newest entry that is missing in the middle of the journal because
// somebody deleted it, so that readers who have not seen it get an error. All numbers from the floor on
// were assigned, and none was taken back.
func (w *worker) closeGaps(ctx context.Context) error {
	p, err := w.present(ctx)
	if err != nil {
		return err
	}
	missing := int64(0)
	for from := p.floor; from < p.last; from += gapSpan {
		newest, err := newestMissing(ctx, w.db, from, min(from+gapSpan, p.last))
		if err != nil {
			return err
		}
		missing = max(missing, newest)
	}
	if missing == 0 {
		return nil
	}
	moved := false
	err = w.db.Transact(ctx, "close gap of the journal", func(tx *wpdb.DB) error {
		now, err := w.lockPresent(ctx, tx)
		if moved = err == nil && now.epoch == p.epoch && now.floor < missing; !moved {
			return err
		}
		_, err = wpdb.Exec(ctx, tx, "close gap of the journal", sq.Update(tx.Name(wpdb.ChangePositions)).Set("floor", missing).Where(sq.Eq{"name": journalPosition}))
		return err
	})
	if err == nil && moved {
		w.log.Warn(repaired, "reason", "entries were missing in its middle", "newest", missing)
	}
	return err
}

// newestMissing returns the largest number above from and up to to that no entry has, or 0 if all exist.
// Uses the primary key.
func newestMissing(ctx context.Context, db *wpdb.DB, from, to int64) (int64, error) {
	which := sq.And{sq.Gt{"number": from}, sq.LtOrEq{"number": to}}
	count, _, err := wpdb.One(ctx, db, "count changes", sq.Select("COUNT(*)").From(db.Name(wpdb.Changes)).Where(which), wpdb.Value[int64])
	if err != nil || count == to-from {
		return 0, err
	}
	numbers, err := wpdb.All(ctx, db, "look for missing changes", sq.Select("number").From(db.Name(wpdb.Changes)).Where(which).OrderBy("number DESC"), wpdb.Value[int64])
	if err != nil {
		return 0, err
	}
	for _, number := range numbers {
		if number != to {
			return to, nil
		}
		to--
	}
	return to, nil
}
