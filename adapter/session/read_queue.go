package session

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// patience is how long callers wait for an execution that began before they arrived. After that the next
// one begins alongside it, so that a slow execution delays others no longer than that.
const patience = 5 * time.Millisecond

// ReadQueue runs work for callers, each of which adds an input. A caller that finds nothing running is served
// at once. The others wait until the running execution has ended and then share the next. The zero Queue is
// not usable; set Run.
type ReadQueue[In, Out any] struct {
	// Run executes the work for the inputs of all callers that share it. Its context has the values of one
	// of them and ends when all have left.
	Run func(ctx context.Context, inputs []In) (Out, error)
	// Again reports whether an error, such as that of a killed statement, may be due to sharing alone; each
	// caller then runs the work once for itself. nil for never.
	Again func(error) bool
	// MaxInputs is how many inputs an execution may have; 0 for any number.
	MaxInputs int

	mu      sync.Mutex
	running int                 // executions
	next    *execution[In, Out] // that has not begun; nil for none
}

// execution is a shared execution.
type execution[In, Out any] struct {
	inputs []In
	users  int // callers that wait for the result
	ctx    context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	done   chan struct{} // closed when out and err are set
	out    Out
	err    error
}

// Do returns the result of an execution that begins after Do was called.
func (q *ReadQueue[In, Out]) Do(ctx context.Context, input In) (out Out, err error) {
	e := q.join(ctx, input)
	if e == nil {
		defer q.ended()
		return q.Run(ctx, []In{input})
	}
	select {
	case <-e.done:
		if e.err != nil && q.Again != nil && q.Again(e.err) && ctx.Err() == nil {
			return q.Run(ctx, []In{input})
		}
		return e.out, e.err
	case <-ctx.Done():
		q.leave(e)
		return out, ctx.Err()
	}
}

// join adds the caller to the next execution, or returns nil if it need not wait.
func (q *ReadQueue[In, Out]) join(ctx context.Context, input In) *execution[In, Out] {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == nil {
		if q.running == 0 {
			q.running++
			return nil
		}
		e := &execution[In, Out]{done: make(chan struct{})}
		e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
		e.timer = time.AfterFunc(patience, func() { q.begin(e) })
		q.next = e
	}
	e := q.next
	e.inputs = append(e.inputs, input)
	e.users++
	if len(e.inputs) == q.MaxInputs {
		q.beginNext()
	}
	return e
}

// begin starts an execution, unless it has begun. After that, no caller can join it.
func (q *ReadQueue[In, Out]) begin(e *execution[In, Out]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == e {
		q.beginNext()
	}
}

// ended records the end of an execution and starts the next.
func (q *ReadQueue[In, Out]) ended() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if q.next != nil {
		q.beginNext()
	}
}

func (q *ReadQueue[In, Out]) beginNext() {
	e := q.next
	q.next = nil
	q.running++
	e.timer.Stop()
	go q.execute(e)
}

func (q *ReadQueue[In, Out]) execute(e *execution[In, Out]) {
	defer q.ended()
	defer e.cancel()
	e.out, e.err = q.callWork(e)
	close(e.done)
}

// callWork runs the work and turns a panic into an error, because it happens on
// a goroutine that no middleware protects.
func (q *ReadQueue[In, Out]) callWork(e *execution[In, Out]) (out Out, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return q.Run(e.ctx, e.inputs)
}

// leave removes a caller who waits no longer. The last one to leave ends the execution.
func (q *ReadQueue[In, Out]) leave(e *execution[In, Out]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	e.cancel()
	if q.next == e { // it need not begin
		q.next = nil
		e.timer.Stop()
	}
}

// ReadQueues are a Queue for each key that callers currently wait for. The zero Queues
// are not usable; set Run.
type ReadQueues[Key comparable, In, Out any] struct {
	// Run, Again and Most are set on each Queue.
	Run   func(ctx context.Context, inputs []In) (Out, error)
	Again func(error) bool
	Most  int

	mu     sync.Mutex
	queues map[Key]*counted[In, Out]
}

type counted[In, Out any] struct {
	ReadQueue[In, Out]
	callers int
}

// Do is Queue.Do for the queue of a key.
func (s *ReadQueues[Key, In, Out]) Do(ctx context.Context, key Key, input In) (Out, error) {
	q := s.enter(key)
	defer s.exit(key, q)
	return q.Do(ctx, input)
}

func (s *ReadQueues[Key, In, Out]) enter(key Key) *counted[In, Out] {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	if q == nil {
		if s.queues == nil {
			s.queues = make(map[Key]*counted[In, Out])
		}
		q = &counted[In, Out]{ReadQueue: ReadQueue[In, Out]{Run: s.Run, Again: s.Again, MaxInputs: s.Most}}
		s.queues[key] = q
	}
	q.callers++
	return q
}

func (s *ReadQueues[Key, In, Out]) exit(key Key, q *counted[In, Out]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.callers--
	if q.callers == 0 {
		delete(s.queues, key)
	}
}
