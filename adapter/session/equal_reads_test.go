package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// TestEqualStatementsAreShared: requests that wait at the same time for equal statements share an
// execution, and others do not.
func TestEqualStatementsAreShared(t *testing.T) {
	t.Parallel()
	const text = "SELECT ? + ?"
	same := sq.Expr(text, "a", 1)
	cases := []struct {
		name string
		// The statements of requests that arrive while the first of them is being executed.
		statements []sq.Sqlizer
		alone      bool
		fails      []error // of each execution in turn
		executions int
		errs       []error // of the requests
	}{
		{"equal ones", []sq.Sqlizer{same, same, same, same}, false, nil, 2, nil},
		{"inside a transaction", []sq.Sqlizer{same, same, same, same}, true, nil, 4, nil},
		{"of other texts", []sq.Sqlizer{same, same, sq.Expr("SELECT ? - ?", "a", 1)}, false, nil, 3, nil},
		{"of other arguments", []sq.Sqlizer{same, same, sq.Expr(text, "a", 2), sq.Expr(text, "a", "1")}, false, nil, 4, nil},
		{"of arguments that look alike", []sq.Sqlizer{sq.Expr(text, "a b", "c"), sq.Expr(text, "a b", "c"), sq.Expr(text, "a", "b c")}, false, nil, 3, nil},
		{
			"that fail", []sq.Sqlizer{same, same, same}, false,
			[]error{wpdb.ErrUnavailable, wpdb.ErrSchema}, 2, []error{wpdb.ErrUnavailable, wpdb.ErrSchema, wpdb.ErrSchema},
		},
		{
			"that are killed for all who share them", []sq.Sqlizer{same, same, same}, false,
			[]error{nil, wpdb.ErrTimeout}, 4, []error{nil, nil, nil},
		},
		{
			"that read too much for one of the requests", []sq.Sqlizer{same, same, same}, false,
			[]error{nil, wpdb.ErrTooMuch}, 4, []error{nil, nil, nil},
		},
		{"that read too much for the only request", []sq.Sqlizer{same}, false, []error{wpdb.ErrTooMuch}, 1, []error{wpdb.ErrTooMuch}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				site := &Session{Shared: &Shared{equal: newEqualReads()}, NoSharing: c.alone}
				var mu sync.Mutex
				executions, errs := 0, make([]error, len(c.statements))
				var all sync.WaitGroup
				for i, stmt := range c.statements {
					all.Go(func() {
						time.Sleep(time.Duration(i))
						got, err := ReadStatement(t.Context(), site, stmt, func(_ context.Context, stmt sq.Sqlizer) ([]any, error) {
							mu.Lock()
							n := executions
							executions++
							mu.Unlock()
							time.Sleep(time.Millisecond)
							if n < len(c.fails) && c.fails[n] != nil {
								return nil, c.fails[n]
							}
							_, args, err := stmt.ToSql()
							return args, err
						})
						errs[i] = err
						_, want, _ := stmt.ToSql()
						if err == nil && !slices.Equal(got, want) {
							t.Errorf("request %d got %v, want %v", i, got, want)
						}
					})
				}
				all.Wait()
				if executions != c.executions {
					t.Errorf("%d executions, want %d", executions, c.executions)
				}
				if c.errs == nil {
					c.errs = make([]error, len(c.statements))
				}
				for i, want := range c.errs {
					if !errors.Is(errs[i], want) {
						t.Errorf("request %d: error %v, want %v", i, errs[i], want)
					}
				}
			})
		})
	}
}
