package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestResultsAreNeverOlderThanTheirRequest runs readers and a writer in random orders, on a fake clock. An
// execution sees what was written when it began; a reader must see at least what was written when it asked.
func TestResultsAreNeverOlderThanTheirRequest(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { interleave(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func interleave(t *testing.T, random *rand.Rand) {
	var written, executions atomic.Int64
	pauses := make([]time.Duration, 64)
	for i := range pauses {
		pauses[i] = time.Duration(random.IntN(12)) * time.Millisecond
	}
	pause := func(i int) { time.Sleep(pauses[i%len(pauses)]) }
	queues := &ReadQueues[string, int, int64]{Most: 2 + random.IntN(11), Run: func(ctx context.Context, inputs []int) (int64, error) {
		n := int(executions.Add(1))
		seen := written.Load()
		pause(n) // the answer is on its way
		return seen, ctx.Err()
	}}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 50 {
			pause(3 * i)
			written.Add(1)
		}
	})
	for reader := range 12 {
		all.Go(func() {
			key := fmt.Sprint(reader % 2)
			for i := range 10 {
				pause(reader + 5*i)
				ctx, cancel := context.WithTimeout(t.Context(), 3*pauses[(reader*i)%len(pauses)]+time.Microsecond)
				asked := written.Load()
				seen, err := queues.Do(ctx, key, i)
				if err == nil && seen < asked {
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
	if len(queues.queues) != 0 {
		t.Errorf("%d queues are left", len(queues.queues))
	}
	if executions.Load() >= 120 {
		t.Errorf("%d executions for 120 readers: nothing was shared", executions.Load())
	}
}

func TestCallersShareTheNextExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var inputs [][]string
		q := ReadQueue[string, int]{Run: func(_ context.Context, in []string) (int, error) {
			inputs = append(inputs, in)
			time.Sleep(patience / 2)
			return len(inputs), nil
		}}
		var all sync.WaitGroup
		got := make([]string, 5)
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i))
				n, err := q.Do(t.Context(), string(rune('a'+i)))
				got[i] = fmt.Sprint(n, err)
			})
		}
		all.Wait()
		if want := "[[a] [b c d e]]"; fmt.Sprint(inputs) != want {
			t.Errorf("executions with %v, want %s", inputs, want)
		}
		if want := "1 <nil>,2 <nil>,2 <nil>,2 <nil>,2 <nil>"; strings.Join(got, ",") != want {
			t.Errorf("results %s, want %s", strings.Join(got, ","), want)
		}
	})
}

func TestExecutionsHaveNoMoreInputsThanAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // a full execution begins although another one is running
		var sizes []int
		q := ReadQueue[int, int]{MaxInputs: 3, Run: func(_ context.Context, in []int) (int, error) {
			mu.Lock()
			sizes = append(sizes, len(in))
			mu.Unlock()
			time.Sleep(patience / 2)
			return 0, nil
		}}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				time.Sleep(time.Duration(i))
				_, err := q.Do(t.Context(), i)
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := "[1 3 3 1]"; fmt.Sprint(sizes) != want {
			t.Errorf("executions with %v inputs, want %s", sizes, want)
		}
	})
}

func TestSlowExecutionDelaysOthersByNoMoreThanPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := true
		q := ReadQueue[int, int]{Run: func(context.Context, []int) (int, error) {
			if first {
				first = false
				time.Sleep(time.Hour)
			}
			return 0, nil
		}}
		go func() { _, _ = q.Do(t.Context(), 0) }()
		synctest.Wait()
		start := time.Now()
		_, err := q.Do(t.Context(), 0)
		if waited := time.Since(start); waited != patience || err != nil {
			t.Errorf("waited %v (error %v), want %v", waited, err, patience)
		}
		time.Sleep(time.Hour)
	})
}

func TestAbandonedExecutions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		leave     time.Duration // after which both callers leave
		cancelled bool          // whether the execution had begun by then
	}{
		{"before it begins", patience / 4, false},
		{"while it runs", patience, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs, cancelled := 0, false
				q := ReadQueue[int, int]{Run: func(ctx context.Context, _ []int) (int, error) {
					runs++
					if runs == 1 {
						time.Sleep(patience / 2)
						return 0, nil
					}
					<-ctx.Done()
					cancelled = true
					return 0, ctx.Err()
				}}
				ctx, cancel := context.WithTimeout(t.Context(), c.leave)
				defer cancel()
				go func() { _, _ = q.Do(t.Context(), 0) }()
				synctest.Wait()
				var all sync.WaitGroup
				for range 2 {
					all.Go(func() {
						_, err := q.Do(ctx, 0)
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("error %v, want that of the caller's context", err)
						}
					})
				}
				all.Wait()
				time.Sleep(time.Second)
				synctest.Wait()
				if cancelled != c.cancelled || q.running != 0 || q.next != nil {
					t.Errorf("cancelled %t, want %t; %d running, next %v", cancelled, c.cancelled, q.running, q.next)
				}
			})
		})
	}
}

func TestPanicsReachTheCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		q := ReadQueue[int, int]{Run: func(context.Context, []int) (int, error) {
			runs++
			time.Sleep(time.Millisecond)
			if runs == 2 {
				panic("broken")
			}
			return 0, nil
		}}
		go func() { _, _ = q.Do(t.Context(), 0) }()
		synctest.Wait()
		_, err := q.Do(t.Context(), 0)
		if err == nil || !strings.HasPrefix(err.Error(), "panic: broken") {
			t.Errorf("error %v, want the panic", err)
		}
		if _, err := q.Do(t.Context(), 0); err != nil {
			t.Errorf("the queue does not work after a panic: %v", err)
		}
	})
}

// TestSpoiledExecution: an error due to sharing reaches no caller that has time left; each runs the work
// once more.
func TestSpoiledExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		killed, wrong := errors.New("killed"), errors.New("wrong")
		var executions atomic.Int64
		fails := killed
		q := &ReadQueue[int, int]{
			Again: func(err error) bool { return errors.Is(err, killed) },
			Run: func(_ context.Context, inputs []int) (int, error) {
				time.Sleep(time.Second)
				executions.Add(1)
				if len(inputs) > 1 {
					return 0, fails
				}
				return inputs[0], nil
			},
		}
		for _, c := range []struct {
			fails error
			want  []error
			runs  int64 // including the first, which all others wait for
		}{
			{killed, []error{nil, nil, nil, context.DeadlineExceeded}, 1 + 1 + 3},
			{wrong, []error{wrong, wrong, wrong, wrong}, 1 + 1},
		} {
			executions.Store(0)
			fails = c.fails
			go func() { _, _ = q.Do(t.Context(), 0) }()
			synctest.Wait()
			var callers sync.WaitGroup
			for i, want := range c.want {
				callers.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if errors.Is(want, context.DeadlineExceeded) { // while the shared execution runs
						ctx, cancel = context.WithTimeout(ctx, time.Second/2)
						defer cancel()
					}
					out, err := q.Do(ctx, i+1)
					if want == nil && (err != nil || out != i+1) || want != nil && !errors.Is(err, want) {
						t.Errorf("caller %d: %d, %v, want %v", i, out, err, want)
					}
				})
			}
			callers.Wait()
			synctest.Wait()
			if n := executions.Load(); n != c.runs {
				t.Errorf("%v: %d executions, want %d", c.fails, n, c.runs)
			}
		}
	})
}
