package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// write runs work on the site inside of one transaction: all of it happens, or
// nothing. work may run several times, and must keep nothing from a run that
// failed.
func (s *Site) write(ctx context.Context, op string, work func(tx *Site) error) error {
	err := s.writeOnce(ctx, op, work)
	var missing *missingLocksError
	for tries := 0; errors.As(err, &missing) && tries < maxLockCreations; tries++ {
		if err := s.createLocks(ctx, missing.locks); err != nil {
			return err
		}
		err = s.writeOnce(ctx, op, work)
	}
	if err == nil && s.outbox != nil {
		s.outbox.Nudge()
	}
	return err
}

// maxLockCreations is how often lock rows are created for one write. It may need others
// each time it runs, as for the orders that a customer has by then.
const maxLockCreations = 10

func (s *Site) writeOnce(ctx context.Context, op string, work func(tx *Site) error) error {
	return s.db.Transact(ctx, op, func(tx *wpdb.Tx) error {
		within := *s
		within.db = tx.DB
		within.progress = &lockProgress{}
		return work(&within)
	})
}

// touch notes that the transaction locks or writes rows of a table.
func (s *Site) touch(table wpdb.Table) {
	if s.progress != nil && !table.Own() {
		s.progress.siteRows = true
	}
}

// create is transact for work that makes a record, and for finish, which may be
// nil.
func create[T any](ctx context.Context, s *Site, op string, work func(tx *Site) (T, error), finish func(ctx context.Context, tx *Site, made T) error) (T, error) {
	return transact(ctx, s, op, func(tx *Site) (T, error) {
		made, err := work(tx)
		if err == nil && finish != nil {
			err = finish(ctx, tx, made)
		}
		return made, err
	})
}

// transact is Site.write for work that has a result.
func transact[T any](ctx context.Context, s *Site, op string, work func(tx *Site) (T, error)) (result T, err error) {
	err = s.write(ctx, op, func(tx *Site) (err error) {
		result, err = work(tx)
		return err
	})
	return result, err
}

// exec runs a statement that writes a table.
func (s *Site) exec(ctx context.Context, table wpdb.Table, op string, stmt sq.Sqlizer) (wpdb.Result, error) {
	if err := s.transacted(table); err != nil {
		return wpdb.Result{}, err
	}
	s.touch(table)
	result, err := wpdb.Exec(ctx, s.db, op, stmt)
	return result, s.refusal(table, err)
}

// refusal is the error of a write, which names the table where that takes no row
// of ours.
func (s *Site) refusal(table wpdb.Table, err error) error {
	if errors.Is(err, wpdb.ErrRefused) {
		return s.unwritten(table, "a CHECK refuses the row", err)
	}
	return err
}

// unwritten is the error for a table that takes no row of ours.
func (s *Site) unwritten(table wpdb.Table, reason string, cause error) error {
	return domain.Unavailable("Nothing is written: "+s.db.FullName(table)+": "+reason, cause)
}

// outdated tells whether a statement failed as one does that was made for tables
// which have changed since they were looked at.
func outdated(err error) bool {
	return errors.Is(err, wpdb.ErrSchema) || errors.Is(err, wpdb.ErrBadValue) || errors.Is(err, wpdb.ErrRefused)
}

// transacted refuses a table whose engine could neither take a write back nor
// lock a row. What the transaction did before is taken back with it.
func (s *Site) transacted(table wpdb.Table) error {
	engine := s.schema.Engine(table)
	if engine == "" || strings.EqualFold(engine, "InnoDB") {
		return nil
	}
	return domain.Unavailable("The site's tables know no transactions: nothing is written", fmt.Errorf("engine of %s is %s", table, engine))
}

// writable refuses a table whose rows we would not store as they should be, as
// after an update of the plugin that changed it. Rows can still be deleted.
func (s *Site) writable(table wpdb.Table) error {
	if err := s.transacted(table); err != nil {
		return err
	}
	reason := s.schema.Unwritable(table)
	if reason == "" {
		return nil
	}
	return s.unwritten(table, reason, nil)
}

// Writable is nil where requests can write all that they may have to. Else it is
// a CodeUnavailable that says what they cannot; reads are served all the same.
func (s *Site) Writable() error {
	var reasons []string
	for _, u := range s.schema.Unwritables() {
		reasons = append(reasons, s.db.FullName(u.Table)+": "+u.Reason)
	}
	if len(reasons) == 0 {
		return nil
	}
	return domain.Unavailable("LatePoint tables cannot be written: "+strings.Join(reasons, "; "), nil)
}

// column is a column and what to store in it.
type column struct {
	name  string
	value any
}

// row is what an INSERT or UPDATE stores, without the columns that this site's
// table lacks.
type row []column

// known are the columns of a row that this site's table has.
func (s *Site) known(table wpdb.Table, r row) row {
	return slices.DeleteFunc(slices.Clone(r), func(c column) bool {
		_, ok := s.schema.Column(table, c.name)
		return !ok
	})
}

// insert stores rows of one shape in a table, in one statement, and returns the
// id of the first. Columns of others, which PHP would leave to the server's
// lenient mode, get their zero value.
func (s *Site) insert(ctx context.Context, table wpdb.Table, rows ...row) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	if err := s.writable(table); err != nil {
		return 0, err
	}
	var names []string
	for _, c := range s.known(table, rows[0]) {
		names = append(names, c.name)
	}
	zeros := s.schema.Zeros(table, names)
	stmt := sq.Insert(s.db.Name(table)).Columns(names...)
	for _, zero := range zeros {
		stmt = stmt.Columns(zero.Name)
	}
	for _, r := range rows {
		values := make([]any, 0, len(names)+len(zeros))
		for _, c := range s.known(table, r) {
			values = append(values, c.value)
		}
		for _, zero := range zeros {
			values = append(values, zero.Value)
		}
		stmt = stmt.Values(values...)
	}
	result, err := s.exec(ctx, table, "insert into "+string(table), stmt)
	return result.ID, err
}

// update changes columns of one row, and no others: PHP may have written them a
// moment ago.
func (s *Site) update(ctx context.Context, table wpdb.Table, id int64, changes row) error {
	changes = s.known(table, changes)
	if len(changes) == 0 {
		return nil
	}
	if err := s.writable(table); err != nil {
		return err
	}
	stmt := sq.Update(s.db.Name(table)).Where(sq.Eq{"id": id})
	for _, c := range changes {
		stmt = stmt.Set(c.name, c.value)
	}
	result, err := s.exec(ctx, table, "update "+string(table), stmt)
	if err != nil {
		return err
	}
	if result.Rows == 0 {
		return fmt.Errorf("update %s %d: %w", table, id, errVanished)
	}
	return nil
}

// delete deletes rows by their ids.
func (s *Site) delete(ctx context.Context, table wpdb.Table, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := s.exec(ctx, table, "delete from "+string(table), sq.Delete(s.db.Name(table)).Where(sq.Eq{"id": ids}))
	return err
}

// deleteWhere deletes rows that are looked for first: a DELETE that searches a
// table without an index would lock all of it.
func (s *Site) deleteWhere(ctx context.Context, table wpdb.Table, which sq.Eq) error {
	stmt := sq.Select("id").From(s.db.Name(table)).Where(which)
	ids, err := wpdb.All(ctx, s.db, "find in "+string(table), stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	return s.delete(ctx, table, ids...)
}

// errVanished is a row that somebody deleted a moment ago.
var errVanished = errors.New("the row is gone")

// createdNow are the timestamps of a new row, in UTC as the plugin stores them.
func (s *Site) createdNow() row {
	return row{{"created_at", domain.Stamp(s.Now)}, {"updated_at", domain.Stamp(s.Now)}}
}

// updatedNow is the timestamp of a changed row.
func (s *Site) updatedNow() column { return column{"updated_at", domain.Stamp(s.Now)} }

// lockRows keeps PHP from changing these rows until the transaction ends: in the
// order of their ids, so that no two writers wait for each other. Writers of ours
// are kept out by locks, see locks.go, which come before.
func (s *Site) lockRows(ctx context.Context, table wpdb.Table, ids []int64) error {
	if err := s.transacted(table); err != nil {
		return err
	}
	s.touch(table)
	stmt := sq.Select("id").From(s.db.Name(table)).Where(sq.Eq{"id": ids}).OrderBy("id").Suffix("FOR UPDATE")
	_, err := wpdb.All(ctx, s.db, "lock "+string(table), stmt, wpdb.Value[int64])
	return err
}

// checkText notes a text that its column cannot hold.
func (s *Site) checkText(p *domain.Validation, field string, table wpdb.Table, name, text string) {
	c, ok := s.schema.Column(table, name)
	if !ok {
		return
	}
	if first, unknown := c.Unknown(text); unknown {
		p.Reject(field, fmt.Sprintf("Has characters that the site's database cannot store, such as %q", first))
		return
	}
	if !c.Fits(text) {
		p.Reject(field, "Too long")
	}
}
