package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"
)

// Later runs a statement that changes rows, like Exec, but sends it together with the transaction's next
// statement, so that both take one round trip. A SELECT or a COMMIT is sent after the waiting ones have
// run. The result is valid, and an error known, once the next statement has run. Where statements cannot be
// sent together, Later is Exec.
//
// That is so on clusters in which several servers accept writes. When another Galera node aborts a
// transaction between two statements of one text, MariaDB (seen with 10.11.19 and 11.8.9) rolls back what
// came before, runs and commits the rest as separate statements, and reports no error, not even for COMMIT.
func Later(ctx context.Context, tx *DB, op string, stmt sq.Sqlizer) (*Result, error) {
	c, err := buildChange(op, stmt)
	if err == nil {
		err = c.refusePHPTables()
	}
	if err != nil {
		return nil, err
	}
	if tx.waiting == nil || !tx.sendsTogether() {
		result, err := c.apply(ctx, tx)
		return &result, err
	}
	w := waitingChange{c, new(Result)}
	*tx.waiting = append(*tx.waiting, w)
	return w.result, nil
}

// sendsTogether reports whether several statements may be sent in one text.
func (db *DB) sendsTogether() bool { return db.together && !db.server.rivals.Load() }

// OneByOne returns the same database, which sends every statement by itself.
func (db *DB) OneByOne() *DB {
	separate := *db
	separate.together = false
	return &separate
}

// waitingChange is a statement that Later has accepted and not yet sent.
type waitingChange struct {
	change
	result *Result
}

// maxTogether bounds the bytes of statements that are sent together. It is well below what servers accept.
const maxTogether = 256 << 10

// sendWaiting runs the statements that Later has collected, and optionally one more after them.
func (db *DB) sendWaiting(ctx context.Context, more ...waitingChange) error {
	if db.waiting == nil || len(*db.waiting) == 0 {
		return db.runEach(ctx, more)
	}
	all := append(*db.waiting, more...)
	*db.waiting = nil
	var texts []string
	var args []any
	size := 0
	for _, w := range all {
		texts, args = append(texts, w.text), append(args, w.args...)
		size += len(w.text)
		for _, arg := range w.args {
			if text, ok := arg.(string); ok {
				size += len(text)
			}
		}
	}
	if len(all) == 1 || size > maxTogether {
		return db.runEach(ctx, all)
	}
	found := new(severalResults)
	err := db.send(context.WithValue(ctx, severalKey{}, found), func(ctx context.Context, on runner) error {
		_, err := on.ExecContext(ctx, strings.Join(texts, ";\n"), args...)
		return err
	})
	if err != nil {
		return db.wrapWrite(all[len(all)-1].op, err)
	}
	if len(found.list) != len(all) {
		return wrap(all[len(all)-1].op, errNoResult)
	}
	for i, w := range all {
		*w.result = found.list[i]
	}
	return nil
}

// allSucceed sends statements that change nothing in one text, and reports whether all of them succeeded. It sends none
// where statements cannot be sent together.
func (db *DB) allSucceed(ctx context.Context, statements []string) bool {
	if !db.together {
		return false
	}
	return nil == db.send(context.WithValue(ctx, severalKey{}, new(severalResults)), func(ctx context.Context, on runner) error {
		_, err := on.ExecContext(ctx, strings.Join(statements, ";\n"))
		return err
	})
}

func (db *DB) runEach(ctx context.Context, changes []waitingChange) error {
	for _, w := range changes {
		result, err := w.run(ctx, db)
		if err != nil {
			return err
		}
		*w.result = result
	}
	return nil
}

// severalKey marks the context of a text with several statements.
type severalKey struct{}

// severalResults holds the results of the statements of one text.
type severalResults struct{ list []Result }

var (
	errSeveral  = errors.New("several statements where one is expected")
	errNoResult = errors.New("the driver does not tell the result of each statement")
)

// oneStatement returns an error for a text with several statements that was not made here. Such texts
// contain no values.
func oneStatement(ctx context.Context, text string) error {
	if _, several := ctx.Value(severalKey{}).(*severalResults); !several && strings.Contains(text, ";") {
		return errSeveral
	}
	return nil
}

// keepResults stores the results of a text with several statements where sendWaiting finds them.
func keepResults(ctx context.Context, result driver.Result) error {
	several, ok := ctx.Value(severalKey{}).(*severalResults)
	if !ok {
		return nil
	}
	each, ok := result.(mysql.Result)
	if !ok {
		return errNoResult
	}
	ids := each.AllLastInsertIds()
	for i, rows := range each.AllRowsAffected() {
		several.list = append(several.list, Result{Rows: rows, ID: ids[i]})
	}
	return nil
}
