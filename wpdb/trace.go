package wpdb

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// Statement is a SELECT as it was sent.
type Statement struct {
	Op   string // what it was for
	Text string
	Args []any
	Took time.Duration // including reading its rows
	Rows int
	Err  error
}

// Trace holds the SELECTs that were sent under a context of WithTrace, in the order in which they ended.
type Trace struct {
	mu         sync.Mutex
	statements []Statement
}

// Statements returns the statements recorded so far.
func (t *Trace) Statements() []Statement {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Statement(nil), t.statements...)
}

type traceKey struct{}

// WithTrace returns a context under which SELECTs are recorded, with their arguments. It is for inspecting
// a single request, not for clients' requests.
func WithTrace(ctx context.Context) (context.Context, *Trace) {
	t := new(Trace)
	return context.WithValue(ctx, traceKey{}, t), t
}

func trace(ctx context.Context, s Statement) {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.statements = append(t.statements, s)
	}
}

// Step is a line of EXPLAIN: how the rows of one table of a statement are found.
type Step struct {
	Table  string // or its alias
	Access string // the server's word, such as ref, range or ALL for the whole table
	Index  string // "" for none
	Rows   int64  // to be examined for each row of the steps before, as the optimiser estimates
	Extra  string // the server's words
}

// Steps asks the server for its plan of a statement, without running it.
func (db *DB) Steps(ctx context.Context, s Statement) ([]Step, error) {
	return All(ctx, db, "explain: "+s.Op, sq.Expr("EXPLAIN FORMAT=TRADITIONAL "+s.Text, s.Args...), func(row Scanner) (step Step, err error) {
		err = db.scanExplained(row, map[string]any{
			"table": OrZero(&step.Table), "type": OrZero(&step.Access), "key": OrZero(&step.Index), "rows": (*estimate)(&step.Rows), "Extra": OrZero(&step.Extra),
		})
		return step, err
	})
}

// estimate is a number of rows in EXPLAIN, 0 for NULL. MariaDB adds a percentage, as in "12 (50%)", where a
// second index filters the rows.
type estimate int64

// Scan implements sql.Scanner.
func (e *estimate) Scan(src any) error {
	var text string
	if err := OrZero(&text).Scan(src); err != nil || text == "" {
		*e = 0
		return err
	}
	number, _, _ := strings.Cut(text, " ")
	rows, err := strconv.ParseInt(number, 10, 64)
	*e = estimate(rows)
	return err
}

// scanExplained scans some columns of a row of EXPLAIN. MySQL has two that MariaDB lacks.
func (db *DB) scanExplained(row Scanner, columns map[string]any) error {
	names := "id select_type table type possible_keys key key_len ref rows Extra"
	if !db.mariaDB() {
		names = "id select_type table partitions type possible_keys key key_len ref rows filtered Extra"
	}
	var into []any
	for name := range strings.FieldsSeq(names) {
		dest, wanted := columns[name]
		if !wanted {
			dest = new(any)
		}
		into = append(into, dest)
	}
	return row.Scan(into...)
}
