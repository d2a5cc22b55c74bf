package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/wpdb"
)

// Exec runs a statement that writes to a table.
func (tx *Tx) Exec(ctx context.Context, table wpdb.Table, op string, stmt sq.Sqlizer) (wpdb.Result, error) {
	if err := RequireTransactions(tx.Session, table); err != nil {
		return wpdb.Result{}, err
	}
	touch(tx, table)
	tx.wrote = tx.wrote || !table.Own()
	result, err := wpdb.Exec(ctx, tx.DB, op, stmt)
	return result, WriteError(tx.Session, table, err)
}

// execLater is like Exec, but sends the statement together with the next one, see wpdb.Later.
func execLater(ctx context.Context, tx *Tx, table wpdb.Table, op string, stmt sq.Sqlizer) (*wpdb.Result, error) {
	if err := RequireTransactions(tx.Session, table); err != nil {
		return nil, err
	}
	touch(tx, table)
	tx.wrote = tx.wrote || !table.Own()
	result, err := wpdb.Later(ctx, tx.DB, op, stmt)
	return result, WriteError(tx.Session, table, err)
}

// WriteError returns the error of a write. If a CHECK constraint of the table rejects our
// rows, the error names the table.
func WriteError(s *Session, table wpdb.Table, err error) error {
	if errors.Is(err, wpdb.ErrRefused) {
		return notWritable(s, table, "a CHECK refuses the row", err)
	}
	return err
}

// notWritable returns the error for a table that does not accept our rows.
func notWritable(s *Session, table wpdb.Table, reason string, cause error) error {
	return domain.Unavailable("Nothing is written: "+s.DB.FullName(table)+": "+reason, cause)
}

// RequireTransactions returns an error for a table whose engine can neither roll back nor lock a row. The
// error makes the transaction roll back what it has done.
func RequireTransactions(s *Session, table wpdb.Table) error {
	engine := s.Schema.Engine(table)
	if engine == "" || strings.EqualFold(engine, "InnoDB") {
		return nil
	}
	return domain.Unavailable("The site's tables do not support transactions: nothing is written", fmt.Errorf("engine of %s is %s", table, engine))
}

// writable returns an error for a table in which rows would not be stored correctly, for
// example after an update of the plugin changed it. Rows can still be deleted.
func writable(s *Session, table wpdb.Table) error {
	if err := RequireTransactions(s, table); err != nil {
		return err
	}
	reason := s.Schema.Unwritable(table)
	if reason == "" {
		return nil
	}
	return notWritable(s, table, reason, nil)
}

// Column is a column and the value to store in it.
type Column struct {
	Name  string
	Value any
}

// Row is what an INSERT or UPDATE stores. Columns that this site's table lacks are left out.
type Row []Column

// knownColumns returns the columns of a row that this site's table has.
func knownColumns(s *Session, table wpdb.Table, r Row) Row {
	return slices.DeleteFunc(slices.Clone(r), func(c Column) bool {
		_, ok := s.Schema.Column(table, c.Name)
		return !ok
	})
}

// Insert stores rows with the same columns in a table, in one statement, and returns the id of the first.
// Other required columns get their zero value; PHP leaves these to the server's lenient mode.
func (tx *Tx) Insert(ctx context.Context, table wpdb.Table, rows ...Row) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	stmt, err := insertion(tx, table, rows)
	if err != nil {
		return 0, err
	}
	result, err := tx.Exec(ctx, table, "insert into "+string(table), stmt)
	if err != nil {
		return 0, err
	}
	return result.ID, tx.Changes.Insert(table, result.ID, rows)
}

// Inserted are rows that InsertLater has accepted.
type Inserted struct {
	table  wpdb.Table
	rows   []Row
	result *wpdb.Result
}

// InsertLater is like Insert, but the rows are sent together with the next statement. For a record that the
// journal covers, call Settle after that.
func (tx *Tx) InsertLater(ctx context.Context, table wpdb.Table, rows ...Row) (Inserted, error) {
	stored := Inserted{table: table, rows: rows, result: new(wpdb.Result)}
	if len(rows) == 0 {
		return stored, nil
	}
	stmt, err := insertion(tx, table, rows)
	if err == nil {
		stored.result, err = execLater(ctx, tx, table, "insert into "+string(table), stmt)
	}
	return stored, err
}

// Settle returns the id of the first row, which has been sent meanwhile, and enters it into the journal.
func (tx *Tx) Settle(stored Inserted) (int64, error) {
	if len(stored.rows) == 0 {
		return 0, nil
	}
	return stored.result.ID, tx.Changes.Insert(stored.table, stored.result.ID, stored.rows)
}

// insertion returns the INSERT statement for rows.
func insertion(tx *Tx, table wpdb.Table, rows []Row) (sq.InsertBuilder, error) {
	if err := writable(tx.Session, table); err != nil {
		return sq.InsertBuilder{}, err
	}
	var names []string
	for _, c := range knownColumns(tx.Session, table, rows[0]) {
		names = append(names, c.Name)
	}
	zeros := tx.Schema.Zeros(table, names)
	stmt := sq.Insert(tx.DB.Name(table)).Columns(names...)
	for _, zero := range zeros {
		stmt = stmt.Columns(zero.Name)
	}
	for _, r := range rows {
		values := make([]any, 0, len(names)+len(zeros))
		for _, c := range knownColumns(tx.Session, table, r) {
			values = append(values, c.Value)
		}
		for _, zero := range zeros {
			values = append(values, zero.Value)
		}
		stmt = stmt.Values(values...)
	}
	return stmt, nil
}

// Update changes columns of one row and leaves the others alone: PHP may just have written them.
func (tx *Tx) Update(ctx context.Context, table wpdb.Table, id int64, changes Row) error {
	changes = knownColumns(tx.Session, table, changes)
	if len(changes) == 0 {
		return nil
	}
	if err := writable(tx.Session, table); err != nil {
		return err
	}
	stmt := sq.Update(tx.DB.Name(table)).Where(sq.Eq{"id": id})
	for _, c := range changes {
		stmt = stmt.Set(c.Name, c.Value)
	}
	if err := keepOld(ctx, tx, table, id); err != nil {
		return err
	}
	var before *journal.Assignment
	if moves(table, changes) {
		found, err := assignments(ctx, tx, id)
		if err != nil {
			return err
		}
		before = new(found[id])
	}
	result, err := tx.Exec(ctx, table, "update "+string(table), stmt)
	if err != nil {
		return err
	}
	if result.Rows == 0 {
		return fmt.Errorf("update %s %d: %w", table, id, ErrRowGone)
	}
	tx.Changes.Update(table, id, changes, before)
	return nil
}

// UpdateLater is like Update, but the statement is sent together with the next one, which reveals whether
// the row existed. It cannot move a booking.
func (tx *Tx) UpdateLater(ctx context.Context, table wpdb.Table, id int64, changes Row) (*wpdb.Result, error) {
	changes = knownColumns(tx.Session, table, changes)
	if err := writable(tx.Session, table); err != nil {
		return nil, err
	}
	stmt := sq.Update(tx.DB.Name(table)).Where(sq.Eq{"id": id})
	for _, c := range changes {
		stmt = stmt.Set(c.Name, c.Value)
	}
	tx.Changes.Update(table, id, changes, nil)
	return execLater(ctx, tx, table, "update "+string(table), stmt)
}

// Delete deletes rows by their ids.
func (tx *Tx) Delete(ctx context.Context, table wpdb.Table, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	var before map[int64]journal.Assignment
	if table == wpdb.Bookings {
		var err error
		if before, err = assignments(ctx, tx, ids...); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, table, "delete from "+string(table), sq.Delete(tx.DB.Name(table)).Where(sq.Eq{"id": ids}))
	if err == nil {
		tx.Changes.Delete(table, ids, before)
	}
	return err
}

// DeleteWhere finds rows first and deletes them by id: a DELETE that searches a table
// without an index would lock all of it.
func (tx *Tx) DeleteWhere(ctx context.Context, table wpdb.Table, which sq.Eq) error {
	stmt := sq.Select("id").From(tx.DB.Name(table)).Where(which)
	ids, err := wpdb.All(ctx, tx.DB, "find in "+string(table), stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	return tx.Delete(ctx, table, ids...)
}

// ErrRowGone means that the row was deleted concurrently.
var ErrRowGone = errors.New("the row is gone")

// NewTimestamps returns the timestamps of a new row, in UTC as the plugin stores them.
func (s *Session) NewTimestamps() Row {
	return Row{{"created_at", domain.Stamp(s.Now)}, {"updated_at", domain.Stamp(s.Now)}}
}

// UpdateTimestamp returns the timestamp of a changed row.
func (s *Session) UpdateTimestamp() Column { return Column{"updated_at", domain.Stamp(s.Now)} }

// LaterTimestamp returns the timestamp of a changed booking. It never decreases, because the sequence
// numbers of calendars follow it. Now is when the request arrived, so after waiting for a lock it may lie
// before the lock holder's timestamp.
func (s *Session) LaterTimestamp() Column {
	now := domain.Stamp(s.Now)
	return Column{"updated_at", sq.Expr("CASE WHEN updated_at > ? THEN updated_at ELSE ? END", now, now)}
}

// LockRows keeps PHP from changing rows until the transaction ends. It locks them in the order of their
// ids, so that no two writers deadlock. Our own writers are kept out by locks, see locks.go, which are
// taken first.
func (tx *Tx) LockRows(ctx context.Context, table wpdb.Table, ids []int64) error {
	if err := RequireTransactions(tx.Session, table); err != nil {
		return err
	}
	touch(tx, table)
	stmt := sq.Select("id").From(tx.DB.Name(table)).Where(sq.Eq{"id": ids}).OrderBy("id").Suffix("FOR UPDATE")
	_, err := wpdb.All(ctx, tx.DB, "lock "+string(table), stmt, wpdb.Value[int64])
	return err
}

// CheckText rejects a text that does not fit its column.
func (s *Session) CheckText(p *domain.Validation, field string, table wpdb.Table, name, text string) {
	c, ok := s.Schema.Column(table, name)
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
