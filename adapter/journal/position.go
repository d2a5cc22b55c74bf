package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// How the journal survives the loss of a table
//
// The tables of the journal belong together, but somebody may empty, drop or restore one of
// them. The process that has the lease, and any that does not get it, therefore compares them
// every few seconds, and repairs what does not fit:
//
//   - A position that is missing is created, with a new epoch for that of the journal. A
//     process that finds none to lease must not take it that another one leads.
//   - The last number is at least that of every entry, and of what was made of entries for
//     webhooks, so that no number is given twice.
//   - The floor is behind every entry that is gone, so that a reader who has not seen them is
//     told.
//   - An older database that was restored under a running process begins a new epoch, because numbers
//     that were given will be given again. The process knows it by what it remembers: see isOlder.
//   - The positions of resources belong to their snapshots. If either are gone, rows are
//     recorded as they are, as in a new journal; otherwise all would be taken for new ones.

// position is the row of the journal.
type position struct {
	last  int64  // number
	floor int64  // the last number that was deleted
	epoch string // see Cursor
	n     int64  // grows with each lock, and from row to row: see isOlder
}

// end returns the place after the last entry.
func (p position) end() Cursor { return Cursor{p.epoch, p.last} }

// numbers are the first and the last number in the journal.
type numbers struct{ first, last int64 }

// fits reports whether the entries match the position.
func (p position) fits(n numbers) bool {
	if p.floor == p.last {
		return n.last <= p.last
	}
	return n.last == p.last && n.first <= p.floor+1
}

// behind returns the position that matches the existing entries. given is a number up to which some may
// have been assigned.
func (p position) behind(n numbers, given int64) position {
	p.last = max(p.last, n.last, given)
	switch {
	case n.last != p.last: // the newest entries are gone
		p.floor = p.last
	default:
		p.floor = max(p.floor, n.first-1)
	}
	return p
}

// journalPosition is the name of the journal's row among the positions, searchPosition of the row that says
// which process numbers and searches, and sitePosition of the row with the id of these tables.
const (
	journalPosition = "journal"
	searchPosition  = "search"
	sitePosition    = "site"
)

// SiteID returns a secret id that distinguishes these tables from those of any other site, and the name of
// their database, because a copy has the same id. The id is "" until a server has drawn it.
func SiteID(ctx context.Context, db *wpdb.DB) (id, database string, err error) {
	stmt := sq.Select("signature", "DATABASE()").From(db.Name(wpdb.ChangePositions)).Where(sq.Eq{"name": sitePosition})
	_, _, err = wpdb.One(ctx, db, "read the id of the site", stmt, func(row wpdb.Scanner) (struct{}, error) {
		return struct{}{}, row.Scan(&id, &database)
	})
	return id, database, err
}

// readPosition returns the row of the journal; found is false if there is none.
func readPosition(ctx context.Context, db *wpdb.DB) (p position, found bool, err error) {
	stmt := sq.Select("position", "floor", "signature", "n").From(db.Name(wpdb.ChangePositions)).Where(sq.Eq{"name": journalPosition})
	return wpdb.One(ctx, db, "read position of the journal", stmt, wpdb.Into(func(p *position) []any {
		return []any{&p.last, &p.floor, &p.epoch, &p.n}
	}))
}

// readNumbers returns the first and last number of the entries. Uses the primary key.
func readNumbers(ctx context.Context, db *wpdb.DB) (numbers, error) {
	stmt := sq.Select("MIN(number)", "MAX(number)").From(db.Name(wpdb.Changes))
	n, _, err := wpdb.One(ctx, db, "read numbers of the journal", stmt, wpdb.Into(func(n *numbers) []any {
		return []any{wpdb.OrZero(&n.first), wpdb.OrZero(&n.last)}
	}))
	return n, err
}

// bounds returns the position of the journal, or, if it is missing, the one that repair will create.
func bounds(ctx context.Context, db *wpdb.DB) (position, error) {
	p, found, err := readPosition(ctx, db)
	if err != nil || found {
		return p, err
	}
	n, err := readNumbers(ctx, db)
	return position{}.behind(n, 0), err
}

// lockPosition makes other servers wait for this transaction (on a cluster, it makes them fail) and returns
// the position of the journal.
func lockPosition(ctx context.Context, tx *wpdb.DB) (position, error) {
	if _, err := wpdb.Exec(ctx, tx, "lock position", sq.Update(tx.Name(wpdb.ChangePositions)).Set("n", sq.Expr("n + 1")).Where(sq.Eq{"name": journalPosition})); err != nil {
		return position{}, err
	}
	p, found, err := readPosition(ctx, tx)
	if err == nil && !found {
		err = fmt.Errorf("position %s: %w", journalPosition, errNotPrepared)
	}
	return p, err
}

// lockPresent is like lockPosition, and begins a new epoch if an older database was restored under this
// process.
func (j *Journal) lockPresent(ctx context.Context, tx *wpdb.DB) (position, error) {
	p, err := lockPosition(ctx, tx)
	if err != nil {
		return p, err
	}
	before := p
	before.n-- // as it was before this lock
	if !j.isOlder(before) {
		return p, nil
	}
	found := p.end()
	if err := beginEpoch(ctx, tx); err != nil {
		return p, err
	}
	if p, _, err = readPosition(ctx, tx); err != nil {
		return p, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.restored = restored{epoch: p.epoch, was: j.end, found: found}
	return p, nil
}

// drawn is a number that no row of the journal has ever had: the microseconds since 1970 by the database's
// clock.
const drawn = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS UNSIGNED)"

func beginEpoch(ctx context.Context, tx *wpdb.DB) error {
	stmt := sq.Update(tx.Name(wpdb.ChangePositions)).Set("signature", newEpoch()).Set("n", sq.Expr("GREATEST(n + 1, "+drawn+")")).Where(sq.Eq{"name": journalPosition})
	_, err := wpdb.Exec(ctx, tx, "begin an epoch", stmt)
	return err
}

// Restored begins a new epoch in a transaction: earlier cursors expire. A journal whose position is lost
// begins one by itself.
func Restored(ctx context.Context, tx *wpdb.DB) error {
	_, err := lockPosition(ctx, tx)
	if errors.Is(err, errNotPrepared) {
		return nil
	}
	if err == nil {
		err = beginEpoch(ctx, tx)
	}
	return err
}

// isOlder reports whether a position is older than what this process knows: fewer numbers of its epoch were
// assigned, or its row was locked less often. The lock count distinguishes a past epoch, which this process
// may not know, from one that another process has begun since.
func (j *Journal) isOlder(p position) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.maxNumbers[p.epoch] > p.last || p.n < j.locked
}

// sound reports whether the tables of the journal are consistent, and resources have their positions.
// Without a lock, a reader may see half of another process's work, so a false must be checked again.
func (j *Journal) sound(ctx context.Context, searched []Resource) (bool, error) {
	names, err := wpdb.All(ctx, j.db, "read names of positions", sq.Select("name").From(j.db.Name(wpdb.ChangePositions)).OrderBy("name"), wpdb.Value[string])
	if err != nil {
		return false, err
	}
	for _, name := range append(words(searched), searchPosition, sitePosition) {
		if !slices.Contains(names, name) {
			return false, nil
		}
	}
	p, found, err := readPosition(ctx, j.db)
	if err != nil || !found {
		return false, err
	}
	n, err := readNumbers(ctx, j.db)
	if err != nil || !p.fits(n) {
		return false, err
	}
	lost, err := snapshotsLost(ctx, j.db)
	return !lost, err
}

// repair makes the tables of the journal consistent, and returns what was wrong, or "".
func (j *Journal) repair(ctx context.Context) (wrong string, err error) {
	schema, err := j.db.Schema(ctx, "")
	if err != nil {
		return "", err
	}
	err = j.db.Transact(ctx, "repair journal", func(tx *wpdb.DB) (err error) {
		wrong, err = j.repairPosition(ctx, tx, schema)
		if err != nil {
			return err
		}
		lost, err := snapshotsLost(ctx, tx)
		if err != nil {
			return err
		}
		if lost {
			forgotten, err := forgetSnapshots(ctx, tx)
			if err != nil {
				return err
			}
			if forgotten && wrong == "" {
				wrong = "the snapshots of the rows were missing"
			}
		}
		return markSnapshots(ctx, tx)
	})
	return wrong, err
}

// repairPosition repairs the row of the journal, and locks it.
func (j *Journal) repairPosition(ctx context.Context, tx *wpdb.DB, schema *wpdb.Schema) (wrong string, err error) {
	positions := tx.Name(wpdb.ChangePositions)
	own := sq.Insert(positions).Options("IGNORE").Columns("name", "signature").Values(searchPosition, "").Values(sitePosition, rand.Text())
	if _, err := wpdb.Exec(ctx, tx, "create position of the search", own); err != nil {
		return "", err
	}
	created, err := wpdb.Exec(ctx, tx, "create position of the journal", sq.Insert(positions).Options("IGNORE").Columns("name", "signature", "n").Values(journalPosition, newEpoch(), sq.Expr(drawn)))
	if err != nil {
		return "", err
	}
	p, err := lockPosition(ctx, tx)
	if err != nil {
		return "", err
	}
	n, err := readNumbers(ctx, tx)
	if err != nil || created.Rows == 0 && p.fits(n) {
		return "", err
	}
	given, err := numbersOfWebhooks(ctx, tx, schema)
	if err != nil {
		return "", err
	}
	now := p.behind(n, given)
	switch {
	case now == p:
		return "", nil // a new journal
	case created.Rows > 0:
		wrong = "the table of positions was empty"
	default:
		wrong = "entries were missing, or newer than the table of positions"
	}
	_, err = wpdb.Exec(ctx, tx, "repair position", sq.Update(positions).Set("position", now.last).Set("floor", now.floor).Where(sq.Eq{"name": journalPosition}))
	return wrong, err
}

// numbersOfWebhooks returns the largest number of an entry that webhooks have seen. It reads all
// deliveries.
func numbersOfWebhooks(ctx context.Context, tx *wpdb.DB, schema *wpdb.Schema) (largest int64, err error) {
	for table, column := range map[wpdb.Table]string{wpdb.Webhooks: "position", wpdb.WebhookDeliveries: "number"} {
		if !schema.Has(table) {
			continue
		}
		var known int64
		stmt := sq.Select("MAX(" + column + ")").From(tx.Name(table))
		if _, _, err := wpdb.One(ctx, tx, "read numbers of webhooks", stmt, func(row wpdb.Scanner) (struct{}, error) {
			return struct{}{}, row.Scan(wpdb.OrZero(&known))
		}); err != nil {
			return 0, err
		}
		largest = max(largest, known)
	}
	return largest, nil
}

// The table of snapshots has a row without a resource, and the row of the search records that, to
// distinguish lost snapshots from a site without rows.
const (
	snapshotMark = ""
	marked       = "marked"
)

// snapshotsLost reports whether the table of snapshots has no mark.
func snapshotsLost(ctx context.Context, db *wpdb.DB) (bool, error) {
	stmt := sq.Select("span").From(db.Name(wpdb.ChangeSnapshots)).Where(sq.Eq{"resource": snapshotMark})
	_, found, err := wpdb.One(ctx, db, "look for snapshots", stmt, wpdb.Value[int64])
	return !found, err
}

// forgetSnapshots restarts the first pass over all resources if their snapshots are gone. A table of an
// earlier version has no mark yet.
func forgetSnapshots(ctx context.Context, tx *wpdb.DB) (forgotten bool, err error) {
	positions := tx.Name(wpdb.ChangePositions)
	stmt := sq.Select("signature").From(positions).Where(sq.Eq{"name": searchPosition})
	signature, _, err := wpdb.One(ctx, tx, "look for snapshots", stmt, wpdb.Value[string])
	if err != nil || signature != marked {
		return false, err
	}
	_, err = wpdb.Exec(ctx, tx, "forget snapshots", sq.Delete(positions).Where(sq.NotEq{"name": []string{journalPosition, searchPosition, sitePosition}}))
	return err == nil, err
}

// markSnapshots marks the table of snapshots, and the row of the search, which is new if
// positions were lost.
func markSnapshots(ctx context.Context, tx *wpdb.DB) error {
	if _, err := wpdb.Exec(ctx, tx, "mark snapshots", sq.Update(tx.Name(wpdb.ChangePositions)).Set("signature", marked).Where(sq.Eq{"name": searchPosition})); err != nil {
		return err
	}
	mark := sq.Insert(tx.Name(wpdb.ChangeSnapshots)).Options("IGNORE").Columns("resource", "span", "records", "checksum", "content").Values(snapshotMark, 0, 0, 0, "")
	_, err := wpdb.Exec(ctx, tx, "mark snapshots", mark)
	return err
}
