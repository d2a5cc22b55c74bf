package wpdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// maxRows limits every result, so that no statement can exhaust the memory. A
// page has at most 100 records and their associations.
const maxRows = 100_000

// Scanner is a row: the part of *sql.Rows without the loop.
type Scanner interface {
	Scan(dest ...any) error
}

// connection takes a connection out of the pool. The error is ErrBusy if none becomes free in time.
func (db *DB) connection(ctx context.Context) (*sql.Conn, error) {
	if db.silent != nil && db.silent.Load() {
		return nil, ErrSilent
	}
	defer addTime(&usage(ctx).waited, time.Now())
	waiting, cancel := context.WithTimeout(context.WithValue(ctx, requestKey{}, ctx), db.limits.acquire)
	defer cancel()
	conn, err := db.pool.Conn(waiting)
	switch {
	case errors.Is(err, ErrSilent):
		db.noteSilence()
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, ErrBusy
	}
	return conn, err
}

// noteSilence remembers that the server has not answered, if further statements shall not wait for it.
func (db *DB) noteSilence() {
	if db.silent != nil {
		db.silent.Store(true)
	}
}

// untilDeadline returns a context with the deadline of another, at most a limit away, that does not end when the
// client hangs up: a statement would go on at the server while its connection here is free for the next one.
// If it ends at the limit, its cause is ErrSilent.
func untilDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end, cause := time.Now().Add(limit), ErrSilent
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end, cause = deadline, context.DeadlineExceeded
	}
	return context.WithDeadlineCause(context.WithoutCancel(ctx), end, cause)
}

// send runs a statement, with what its answer takes, on the connection of the session or on one of the pool.
func (db *DB) send(ctx context.Context, run func(ctx context.Context, on runner) error) error {
	on := db.on
	if on == nil {
		conn, err := db.connection(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // it goes back to the pool
		on = conn
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	within, cancel := untilDeadline(ctx, db.limits.statement)
	defer cancel()
	u := usage(ctx)
	defer addTime(&u.busy, time.Now())
	u.queries.Add(1)
	err := run(within, on)
	if err != nil && errors.Is(context.Cause(within), ErrSilent) {
		db.noteSilence()
		return ErrSilent // the server did not even say that it took too long
	}
	return err
}

// All runs a SELECT and scans each row into a T. A read whose connection was
// lost is repeated once.
func All[T any](ctx context.Context, db *DB, op string, stmt sq.Sqlizer, scan func(Scanner) (T, error)) (found []T, err error) {
	err = db.read(ctx, Rows(&found, op, stmt, scan))
	return found, err
}

// First is like All, for a SELECT that scans no more than limit rows. more reports whether there are
// others.
func First[T any](ctx context.Context, db *DB, op string, stmt sq.Sqlizer, limit int64, scan func(Scanner) (T, error)) (found []T, more bool, err error) {
	err = db.read(ctx, Query{op, stmt, func(ctx context.Context, rows *sql.Rows) (err error) {
		found, more, err = collect(ctx, rows, limit, scan)
		return err
	}})
	if err != nil {
		return nil, false, err
	}
	return found, more, nil
}

// Query is a SELECT that Together sends.
type Query struct {
	op      string
	stmt    sq.Sqlizer
	collect func(ctx context.Context, rows *sql.Rows) error
}

// Rows returns a query that scans each row into a T, like All.
func Rows[T any](into *[]T, op string, stmt sq.Sqlizer, scan func(Scanner) (T, error)) Query {
	return Query{op, stmt, func(ctx context.Context, rows *sql.Rows) error {
		found, more, err := collect(ctx, rows, maxRows, scan)
		if err == nil && more {
			err = ErrTooManyRows
		}
		if err == nil {
			*into = found
		}
		return err
	}}
}

// Together runs queries that do not depend on each other, in one round trip where statements can be sent together, see
// Later. Otherwise it is All for each.
func Together(ctx context.Context, db *DB, queries ...Query) error {
	if db.sendsTogether() && len(queries) > 0 {
		return db.read(ctx, queries...)
	}
	for _, q := range queries {
		if err := db.read(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// read sends queries in one text and collects their rows.
func (db *DB) read(ctx context.Context, queries ...Query) error {
	text, args, err := db.textOf(queries)
	if err != nil {
		return err
	}
	if err := db.sendWaiting(ctx); err != nil {
		return err
	}
	ctx = sentAs(ctx, queries)
	for repeated := false; ; repeated = true {
		op := queries[0].op
		err := db.send(ctx, func(ctx context.Context, on runner) (err error) {
			rows, err := on.QueryContext(ctx, text, args...)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, rows.Close()) }()
			for i, q := range queries {
				op = q.op
				if i > 0 && !rows.NextResultSet() {
					return cmp.Or(rows.Err(), errNoResult)
				}
				if err := q.collect(ctx, rows); err != nil {
					return err
				}
			}
			return nil
		})
		// A connection of a session is lost with its transaction and its locks: repeating the last statement
		// would run it alone.
		if err = wrap(op, err); db.session != nil || repeated || !errors.Is(err, ErrLinkLost) {
			return err
		}
	}
}

// textOf returns the text of queries, restricted to the views, and its arguments.
func (db *DB) textOf(queries []Query) (text string, args []any, err error) {
	texts := make([]string, len(queries))
	for i, q := range queries {
		text, own, err := q.stmt.ToSql()
		if err != nil {
			return "", nil, fmt.Errorf("%s: build statement: %w", q.op, err)
		}
		text, own = db.addViews(text, own)
		texts[i], args = text, append(args, own...)
	}
	return strings.Join(texts, ";\n"), args, nil
}

// sentAs returns the context in which to send queries: several in one text, or one that may be prepared.
func sentAs(ctx context.Context, queries []Query) context.Context {
	if len(queries) > 1 {
		return context.WithValue(ctx, severalKey{}, new(severalResults))
	}
	if _, prepared := queries[0].stmt.(preparedStatement); prepared {
		return context.WithValue(ctx, preparedKey{}, true)
	}
	return ctx
}

// collect has the only loop over rows.
func collect[T any](ctx context.Context, rows *sql.Rows, limit int64, scan func(Scanner) (T, error)) (found []T, more bool, err error) {
	row, u := weighedRow{Scanner: rows}, usage(ctx)
	size := recordSize(reflect.TypeFor[T]())
	for rows.Next() {
		if int64(len(found)) == limit {
			more = true
			break
		}
		row.texts = 0
		record, err := scan(&row)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if err := u.weigh(size + row.texts); err != nil {
			return nil, false, err
		}
		found = append(found, record)
	}
	u.rows.Add(int64(len(found)))
	return found, more, rows.Err()
}

// recordSize returns the bytes of a record; for a pointer, those of the record that it points to.
func recordSize(record reflect.Type) int64 {
	if record.Kind() == reflect.Pointer {
		return int64(record.Size() + record.Elem().Size())
	}
	return int64(record.Size())
}

// One runs a SELECT for at most one row; ok is false if there is none.
func One[T any](ctx context.Context, db *DB, op string, stmt sq.Sqlizer, scan func(Scanner) (T, error)) (record T, ok bool, err error) {
	found, err := All(ctx, db, op, stmt, scan)
	if err != nil || len(found) == 0 {
		return record, false, err
	}
	return found[0], true, nil
}

// weighedRow is a row whose texts count towards the limit of Allow.
type weighedRow struct {
	Scanner
	texts int64
}

// Scan implements Scanner.
func (r *weighedRow) Scan(dest ...any) error {
	if err := r.Scanner.Scan(dest...); err != nil {
		return err
	}
	for _, d := range dest {
		switch d := d.(type) {
		case *string:
			r.texts += weightOf(*d)
		case **string:
			if *d != nil {
				r.texts += weightOf(**d)
			}
		case *[]byte:
			r.texts += weightOf(string(*d))
		case orZero[string]:
			r.texts += weightOf(*d.dest)
		}
	}
	return nil
}

// weightOf estimates the length of a text in JSON, where control characters
// take six bytes. Short texts are not inspected: a row has few of them.
func weightOf(text string) int64 {
	weight := int64(len(text))
	if len(text) <= 64 {
		return weight
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ':
			weight += 5
		case c == '"', c == '\\':
			weight++
		}
	}
	return weight
}

// Into returns a function that scans a row into the variables of a record, for All and One.
func Into[T any](variables func(record *T) []any) func(Scanner) (T, error) {
	return func(row Scanner) (T, error) {
		var record T
		err := row.Scan(variables(&record)...)
		return record, err
	}
}

// Value scans a row with one column.
func Value[T any](row Scanner) (T, error) {
	var value T
	err := row.Scan(&value)
	return value, err
}

// Map runs a SELECT of a key and a value. If a key occurs twice, the first row counts; NULL is the zero
// value.
func Map[K comparable, V any](ctx context.Context, db *DB, op string, stmt sq.Sqlizer) (map[K]V, error) {
	return MapBy(ctx, db, op, stmt, func(row Scanner) (key K, value V, err error) {
		err = row.Scan(&key, OrZero(&value))
		return key, value, err
	})
}

// MapBy is Map for rows that are scanned into a key and a value.
func MapBy[K comparable, V any](ctx context.Context, db *DB, op string, stmt sq.Sqlizer, scan func(Scanner) (K, V, error)) (map[K]V, error) {
	type pair struct {
		key   K
		value V
	}
	found, err := All(ctx, db, op, stmt, func(row Scanner) (p pair, err error) {
		p.key, p.value, err = scan(row)
		return p, err
	})
	if err != nil {
		return nil, err
	}
	values := make(map[K]V, len(found))
	for _, p := range found {
		if _, seen := values[p.key]; !seen {
			values[p.key] = p.value
		}
	}
	return values, nil
}

// Result is the effect of a statement.
type Result struct {
	Rows int64 // number of matched rows, changed or not
	ID   int64 // of the first inserted row
}

// Exec runs a statement that changes rows. An UPDATE or DELETE without a condition is an error; squirrel
// builds one without WHERE, or with WHERE (1=1). So is a statement on a table whose values PHP
// unserialises: use UpdateUserMeta and AddUserMeta.
func Exec(ctx context.Context, db *DB, op string, stmt sq.Sqlizer) (Result, error) {
	c, err := buildChange(op, stmt)
	if err == nil {
		err = c.refusePHPTables()
	}
	if err != nil {
		return Result{}, err
	}
	return c.apply(ctx, db)
}

// change is a statement that changes rows.
type change struct {
	op, text string
	args     []any
}

func buildChange(op string, stmt sq.Sqlizer) (change, error) {
	text, args, err := stmt.ToSql()
	if err != nil {
		return change{}, fmt.Errorf("%s: build statement: %w", op, err)
	}
	if changesRows(stmt) && (!strings.Contains(outside(text), " WHERE ") || strings.Contains(text, "(1=1)")) {
		return change{}, fmt.Errorf("%s: not allowed: the statement would change every row", op)
	}
	return change{op, text, args}, nil
}

// apply runs the statement, after any that Later has collected.
func (c change) apply(ctx context.Context, db *DB) (Result, error) {
	w := waitingChange{c, new(Result)}
	err := db.sendWaiting(ctx, w)
	return *w.result, err
}

func (c change) run(ctx context.Context, db *DB) (Result, error) {
	var done Result
	err := db.send(ctx, func(ctx context.Context, on runner) error {
		result, err := on.ExecContext(ctx, c.text, c.args...)
		if err != nil {
			return err
		}
		done.Rows, err = result.RowsAffected()
		if err == nil {
			done.ID, err = result.LastInsertId()
		}
		return err
	})
	return done, db.wrapWrite(c.op, err)
}

func changesRows(stmt sq.Sqlizer) bool {
	switch stmt.(type) {
	case sq.UpdateBuilder, sq.DeleteBuilder:
		return true
	default:
		return false
	}
}

var innermost = regexp.MustCompile(`\([^()]*\)`)

// outside returns a statement without its text in parentheses, where a subquery may have its own WHERE.
func outside(text string) string {
	for innermost.MatchString(text) {
		text = innermost.ReplaceAllString(text, "")
	}
	return text
}

// Contains returns a LIKE pattern that matches texts containing text; % and _ in it are escaped.
func Contains(text string) string {
	return "%" + likeEscaper.Replace(text) + "%"
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Usage counts the database work of one request, and how long it waits for WordPress.
type Usage struct {
	queries, rows       atomic.Int64
	busy, waited, asked atomic.Int64 // nanoseconds
	weight, maxWeight   atomic.Int64 // bytes read since Allow
}

// Busy returns how long statements took so far, and Waited how long the request waited for
// connections.
func (u *Usage) Busy() time.Duration { return time.Duration(u.busy.Load()) }

// Waited is described at Busy.
func (u *Usage) Waited() time.Duration { return time.Duration(u.waited.Load()) }

// Asked returns how long the request waited for answers of WordPress; see Asking.
func (u *Usage) Asked() time.Duration { return time.Duration(u.asked.Load()) }

// Queries returns the number of statements so far.
func (u *Usage) Queries() int64 { return u.queries.Load() }

// Rows returns the number of rows read so far.
func (u *Usage) Rows() int64 { return u.rows.Load() }

// Allow limits how much may be read from now on under a context of WithUsage, in bytes: records in memory
// plus their texts as JSON. Reading more is an ErrTooMuch.
func Allow(ctx context.Context, maxWeight int64) {
	u := usage(ctx)
	u.weight.Store(0)
	u.maxWeight.Store(maxWeight)
}

// Weigh adds bytes to what was read under a context of WithUsage, for data derived from it. It returns an
// ErrTooMuch beyond the limit of Allow.
func Weigh(ctx context.Context, bytes int64) error { return usage(ctx).weigh(bytes) }

func (u *Usage) weigh(bytes int64) error {
	maxWeight := u.maxWeight.Load()
	if u.weight.Add(bytes) > maxWeight && maxWeight > 0 {
		return ErrTooMuch
	}
	return nil
}

type usageKey struct{}

// WithUsage returns a context that counts statements and rows.
func WithUsage(ctx context.Context) (context.Context, *Usage) {
	u := new(Usage)
	return context.WithValue(ctx, usageKey{}, u), u
}

// usage returns what a context of WithUsage counts with; under any other context, it is forgotten.
func usage(ctx context.Context) *Usage {
	if u, ok := ctx.Value(usageKey{}).(*Usage); ok {
		return u
	}
	return new(Usage)
}

// addTime adds the time since a moment.
func addTime(to *atomic.Int64, since time.Time) { to.Add(int64(time.Since(since))) }

// Asking measures how long a request under a context of WithUsage waits for WordPress, until the returned
// function is called.
func Asking(ctx context.Context) (answered func()) {
	u, began := usage(ctx), time.Now()
	return func() { addTime(&u.asked, began) }
}

// OrZero scans a column into dest, with NULL as the zero value.
func OrZero[T any](dest *T) sql.Scanner { return orZero[T]{dest} }

type orZero[T any] struct{ dest *T }

func (z orZero[T]) Scan(src any) error {
	// The usual types avoid the reflection of the general case.
	switch src := src.(type) {
	case nil:
		var zero T
		*z.dest = zero
		return nil
	case int64:
		switch dest := any(z.dest).(type) {
		case *int64:
			*dest = src
			return nil
		case *int:
			*dest = int(src)
			return nil
		}
	case []byte:
		switch dest := any(z.dest).(type) {
		case *string:
			if *dest != string(src) { // rows of a list often repeat the previous one's, which needs no other copy
				*dest = string(src)
			}
			return nil
		case *int64:
			if number, err := strconv.ParseInt(string(src), 10, 64); err == nil {
				*dest = number
				return nil
			}
		}
	}
	var value sql.Null[T]
	err := value.Scan(src)
	*z.dest = value.V
	return err
}

// NullIfZero returns the value to store in a column that has NULL for the zero
// value.
func NullIfZero[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}
