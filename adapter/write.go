package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/wpdb"
)

// exec runs a statement that writes to a table.
func (tx *Tx) exec(ctx context.Context, table wpdb.Table, op string, stmt sq.Sqlizer) (wpdb.Result, error) {
	if err := tx.requireTransactions(table); err != nil {
		return wpdb.Result{}, err
	}
	tx.touch(table)
	tx.wrote = tx.wrote || !table.Own()
	result, err := wpdb.Exec(ctx, tx.db, op, stmt)
	return result, tx.writeError(table, err)
}

// execLater is exec, but the statement is sent together with the next one, see wpdb.Later.
func (tx *Tx) execLater(ctx context.Context, table wpdb.Table, op string, stmt sq.Sqlizer) (*wpdb.Result, error) {
	if err := tx.requireTransactions(table); err != nil {
		return nil, err
	}
	tx.touch(table)
	tx.wrote = tx.wrote || !table.Own()
	result, err := wpdb.Later(ctx, tx.db, op, stmt)
	return result, tx.writeError(table, err)
}

// writeError returns the error of a write. If a CHECK constraint of the table rejects our
// rows, the error names the table.
func (s *Site) writeError(table wpdb.Table, err error) error {
	if errors.Is(err, wpdb.ErrRefused) {
		return s.notWritable(table, "a CHECK refuses the row", err)
	}
	return err
}

// notWritable returns the error for a table that does not accept our rows.
func (s *Site) notWritable(table wpdb.Table, reason string, cause error) error {
	return domain.Unavailable("Nothing is written: "+s.db.FullName(table)+": "+reason, cause)
}

// requireTransactions returns an error for a table whose engine can neither roll back nor
// lock a row. The transaction then rolls back what it did before.
func (s *Site) requireTransactions(table wpdb.Table) error {
	engine := s.schema.Engine(table)
	if engine == "" || strings.EqualFold(engine, "InnoDB") {
		return nil
	}
	return domain.Unavailable("The site's tables do not support transactions: nothing is written", fmt.Errorf("engine of %s is %s", table, engine))
}

// writable returns an error for a table in which rows would not be stored correctly, for
// example after an update of the plugin changed it. Rows can still be deleted.
func (s *Site) writable(table wpdb.Table) error {
	if err := s.requireTransactions(table); err != nil {
		return err
	}
	reason := s.schema.Unwritable(table)
	if reason == "" {
		return nil
	}
	return s.notWritable(table, reason, nil)
}

// CheckWritable returns a CodeUnavailable that names the tables to which requests cannot
// write, as far as the last look of wpdb.LookForRefusedWrites knows, or nil. Reads are served all the
// same. It makes no query.
func (s *Site) CheckWritable() error {
	var reasons []string
	for _, u := range s.schema.Unwritables() {
		reasons = append(reasons, s.db.FullName(u.Table)+": "+u.Reason)
	}
	if len(reasons) > 0 {
		reasons[0] = "LatePoint tables cannot be written: " + reasons[0]
	}
	for _, r := range s.db.RefusedWrites() {
		reasons = append(reasons, fmt.Sprintf("The database user lacks %s on %s: requests that write there are refused", r.Privilege, strings.Join(s.db.FullNames(r.Tables), ", ")))
	}
	if len(reasons) == 0 {
		return nil
	}
	return domain.Unavailable(strings.Join(reasons, "; "), nil)
}

// column is a column and the value to store in it.
type column struct {
	name  string
	value any
}

// row is what an INSERT or UPDATE stores. Columns that this site's table lacks are left
// out.
type row []column

// knownColumns returns the columns of a row that this site's table has.
func (s *Site) knownColumns(table wpdb.Table, r row) row {
	return slices.DeleteFunc(slices.Clone(r), func(c column) bool {
		_, ok := s.schema.Column(table, c.name)
		return !ok
	})
}

// insert stores rows with the same columns in a table, in one statement, and returns the
// id of the first. Other required columns, which PHP would leave to the server's lenient
// mode, get their zero value.
func (tx *Tx) insert(ctx context.Context, table wpdb.Table, rows ...row) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	stmt, err := tx.insertion(table, rows)
	if err != nil {
		return 0, err
	}
	result, err := tx.exec(ctx, table, "insert into "+string(table), stmt)
	if err != nil {
		return 0, err
	}
	return result.ID, tx.changes.insert(table, result.ID, rows)
}

// inserted are rows that insertLater stores.
type inserted struct {
	table  wpdb.Table
	rows   []row
	result *wpdb.Result
}

// insertLater is insert, but the rows are sent together with the next statement. Whoever stores a
// record of the journal calls settle after that.
func (tx *Tx) insertLater(ctx context.Context, table wpdb.Table, rows ...row) (inserted, error) {
	stored := inserted{table: table, rows: rows, result: new(wpdb.Result)}
	if len(rows) == 0 {
		return stored, nil
	}
	stmt, err := tx.insertion(table, rows)
	if err == nil {
		stored.result, err = tx.execLater(ctx, table, "insert into "+string(table), stmt)
	}
	return stored, err
}

// settle returns the id of the first row, which was sent meanwhile, and enters it into the journal.
func (tx *Tx) settle(stored inserted) (int64, error) {
	if len(stored.rows) == 0 {
		return 0, nil
	}
	return stored.result.ID, tx.changes.insert(stored.table, stored.result.ID, stored.rows)
}

// insertion returns the statement of insert.
func (tx *Tx) insertion(table wpdb.Table, rows []row) (sq.InsertBuilder, error) {
	if err := tx.writable(table); err != nil {
		return sq.InsertBuilder{}, err
	}
	var names []string
	for _, c := range tx.knownColumns(table, rows[0]) {
		names = append(names, c.name)
	}
	zeros := tx.schema.Zeros(table, names)
	stmt := sq.Insert(tx.db.Name(table)).Columns(names...)
	for _, zero := range zeros {
		stmt = stmt.Columns(zero.Name)
	}
	for _, r := range rows {
		values := make([]any, 0, len(names)+len(zeros))
		for _, c := range tx.knownColumns(table, r) {
			values = append(values, c.value)
		}
		for _, zero := range zeros {
			values = append(values, zero.Value)
		}
		stmt = stmt.Values(values...)
	}
	return stmt, nil
}

// update changes columns of one row, and no others: PHP may have just written them.
func (tx *Tx) update(ctx context.Context, table wpdb.Table, id int64, changes row) error {
	changes = tx.knownColumns(table, changes)
	if len(changes) == 0 {
		return nil
	}
	if err := tx.writable(table); err != nil {
		return err
	}
	stmt := sq.Update(tx.db.Name(table)).Where(sq.Eq{"id": id})
	for _, c := range changes {
		stmt = stmt.Set(c.name, c.value)
	}
	var before *journal.Assignment
	if moves(table, changes) {
		found, err := tx.assignments(ctx, id)
		if err != nil {
			return err
		}
		before = new(found[id])
	}
	result, err := tx.exec(ctx, table, "update "+string(table), stmt)
	if err != nil {
		return err
	}
	if result.Rows == 0 {
		return fmt.Errorf("update %s %d: %w", table, id, errRowGone)
	}
	tx.changes.update(table, id, changes, before)
	return nil
}

// updateLater is update, but is sent together with the next statement. Whether the row was there is
// known then. It moves no booking.
func (tx *Tx) updateLater(ctx context.Context, table wpdb.Table, id int64, changes row) (*wpdb.Result, error) {
	changes = tx.knownColumns(table, changes)
	if err := tx.writable(table); err != nil {
		return nil, err
	}
	stmt := sq.Update(tx.db.Name(table)).Where(sq.Eq{"id": id})
	for _, c := range changes {
		stmt = stmt.Set(c.name, c.value)
	}
	tx.changes.update(table, id, changes, nil)
	return tx.execLater(ctx, table, "update "+string(table), stmt)
}

// delete deletes rows by their ids.
func (tx *Tx) delete(ctx context.Context, table wpdb.Table, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	before, err := tx.belonged(ctx, table, ids)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, table, "delete from "+string(table), sq.Delete(tx.db.Name(table)).Where(sq.Eq{"id": ids}))
	if err == nil {
		tx.changes.delete(table, ids, before)
	}
	return err
}

// deleteWhere finds rows first and deletes them by id: a DELETE that searches a table
// without an index would lock all of it.
func (tx *Tx) deleteWhere(ctx context.Context, table wpdb.Table, which sq.Eq) error {
	stmt := sq.Select("id").From(tx.db.Name(table)).Where(which)
	ids, err := wpdb.All(ctx, tx.db, "find in "+string(table), stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	return tx.delete(ctx, table, ids...)
}

// errRowGone means that a row has been deleted concurrently.
var errRowGone = errors.New("the row is gone")

// newTimestamps returns the timestamps of a new row, in UTC as the plugin stores them.
func (s *Site) newTimestamps() row {
	return row{{"created_at", domain.Stamp(s.Now)}, {"updated_at", domain.Stamp(s.Now)}}
}

// updateTimestamp returns the timestamp of a changed row.
func (s *Site) updateTimestamp() column { return column{"updated_at", domain.Stamp(s.Now)} }

// laterTimestamp returns the timestamp of a changed booking, which never falls, because the
// sequence of calendars follows it. Now is when the request arrived: who waited for a lock is
// behind the one who held it.
func (s *Site) laterTimestamp() column {
	now := domain.Stamp(s.Now)
	return column{"updated_at", sq.Expr("CASE WHEN updated_at > ? THEN updated_at ELSE ? END", now, now)}
}

// lockRows keeps PHP from changing rows until the transaction ends. It locks them in the
// order of their ids, so that no two writers wait for each other. Other writers of ours
// are kept out by locks, see locks.go, which are taken first.
func (tx *Tx) lockRows(ctx context.Context, table wpdb.Table, ids []int64) error {
	if err := tx.requireTransactions(table); err != nil {
		return err
	}
	tx.touch(table)
	stmt := sq.Select("id").From(tx.db.Name(table)).Where(sq.Eq{"id": ids}).OrderBy("id").Suffix("FOR UPDATE")
	_, err := wpdb.All(ctx, tx.db, "lock "+string(table), stmt, wpdb.Value[int64])
	return err
}

// checkText rejects a text that its column cannot hold.
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
