package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/fixtures/expect"
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
			"that fail for all who share them", []sq.Sqlizer{same, same, same}, false,
			[]error{wpdb.ErrUnavailable, wpdb.ErrTimeout}, 4, []error{wpdb.ErrUnavailable, nil, nil},
		},
		{"that read too much for the only request", []sq.Sqlizer{same}, false, []error{wpdb.ErrTooMuch}, 1, []error{wpdb.ErrTooMuch}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				site := &Session{Platform: new(Platform), NoSharing: c.alone}
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
				expect.Equal(t, c.executions, executions, "executions")
				if c.errs == nil {
					c.errs = make([]error, len(c.statements))
				}
				for i, want := range c.errs {
					expect.Error(t, want, errs[i], "request ", i)
				}
			})
		})
	}
}

// TestSharedReadsAreNeverOlderThanTheirRequest runs readers and a writer in random orders, on a fake clock. An
// execution sees what was written when it began; a reader must see at least what was written when it asked, or the end
// of its own context.
func TestSharedReadsAreNeverOlderThanTheirRequest(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { readAndWrite(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func readAndWrite(t *testing.T, random *rand.Rand) {
	var written, executions atomic.Int64
	pauses := make([]time.Duration, 64)
	for i := range pauses {
		pauses[i] = time.Duration(random.IntN(12)) * time.Millisecond
	}
	pause := func(i int) { time.Sleep(pauses[i%len(pauses)]) }
	var reads sharedReads
	read := func(ctx context.Context) (any, error) {
		n := int(executions.Add(1))
		seen := written.Load()
		pause(n) // the answer is on its way
		return seen, ctx.Err()
	}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 50 {
			pause(3 * i)
			written.Add(1)
		}
	})
	for reader := range 12 {
		all.Go(func() {
			for i := range 10 {
				pause(reader + 5*i)
				ctx, cancel := context.WithTimeout(t.Context(), 3*pauses[(reader*i)%len(pauses)]+time.Microsecond)
				asked := written.Load()
				seen, err := reads.do(ctx, reader%2, read)
				if err == nil && seen.(int64) < asked {
					t.Errorf("a reader saw write %d, but %d had happened when it asked", seen, asked)
				}
				if err != nil && !errors.Is(err, ctx.Err()) {
					t.Errorf("error %v, want that of the context", err)
				}
				pause(i)
				cancel()
			}
		})
	}
	all.Wait()
	synctest.Wait()
	expect.Equal(t, 0, len(reads.running), "reads left")
	if executions.Load() >= 120 {
		t.Errorf("%d executions for 120 readers: nothing was shared", executions.Load())
	}
}

// TestPanicOfASharedRead: it reaches nobody, because each request then reads for itself, and later ones are served.
func TestPanicOfASharedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads sharedReads
		executions := 0
		read := func(ctx context.Context) (any, error) {
			executions++
			if n := executions; n == 2 {
				panic("broken")
			}
			time.Sleep(time.Millisecond)
			return executions, ctx.Err()
		}
		go func() { _, _ = reads.do(t.Context(), "what", read) }()
		synctest.Wait()
		for range 2 {
			if _, err := reads.do(t.Context(), "what", read); err != nil {
				t.Error(err)
			}
		}
		expect.Equal(t, 4, executions, "executions")
	})
}
