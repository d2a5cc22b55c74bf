package session

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"strconv"
	"sync"

	sq "github.com/Masterminds/squirrel"
)

// sharedReads let requests that wait for the same statement share one execution, which begins after each of them has
// arrived, so that each sees at least what its own would have seen. Nothing is cached.
type sharedReads struct {
	mu      sync.Mutex
	running map[any]*execution // by what is read: the execution that follows the running one; nil for none yet
}

// execution is a read for all requests that arrived while the same read was running.
type execution struct {
	read  func() (any, error)
	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

// ReadStatement returns what read returns of a statement, perhaps called for another request that waits for the same
// one, so the result must not be changed.
func ReadStatement[T any](ctx context.Context, s *Session, stmt sq.Sqlizer, read func(context.Context, sq.Sqlizer) (T, error)) (value T, err error) {
	if s.NoSharing {
		return read(ctx, stmt)
	}
	text, args, err := stmt.ToSql()
	if err != nil {
		return value, err
	}
	type statement struct {
		result     reflect.Type
		text, args string
	}
	what := statement{reflect.TypeFor[T](), text, argsKey(args)}
	found, err := s.Platform.reads.do(ctx, what, func(ctx context.Context) (any, error) { return read(ctx, sq.Expr(text, args...)) })
	if err != nil {
		return value, err
	}
	return found.(T), nil
}

// do returns the result of an execution that begins now or later. An error that another request may have caused, such as
// by its deadline or its limits, reaches nobody: the request then reads for itself.
func (r *sharedReads) do(ctx context.Context, what any, read func(context.Context) (any, error)) (any, error) {
	next := r.join(ctx, what, read)
	if next == nil {
		defer r.ended(what)
		return read(ctx)
	}
	select {
	case <-next.done:
		if next.err != nil {
			return read(ctx)
		}
		return next.value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join returns the execution to wait for, or nil if nothing is running, so that the caller reads at once.
func (r *sharedReads) join(ctx context.Context, what any, read func(context.Context) (any, error)) *execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, running := r.running[what]
	if running && next == nil {
		next = &execution{read: func() (any, error) { return readOutliving(ctx, read) }, done: make(chan struct{})}
		r.running[what] = next
	}
	if !running {
		if r.running == nil {
			r.running = map[any]*execution{}
		}
		r.running[what] = nil
	}
	return next
}

// ended begins the execution that waits for the one that has ended.
func (r *sharedReads) ended(what any) {
	r.mu.Lock()
	next := r.running[what]
	if next == nil {
		delete(r.running, what)
	} else {
		r.running[what] = nil
	}
	r.mu.Unlock()
	if next != nil {
		go r.execute(what, next)
	}
}

// execute turns a panic into an error, because no middleware protects its goroutine.
func (r *sharedReads) execute(what any, e *execution) {
	defer r.ended(what)
	defer close(e.done)
	defer func() {
		if value := recover(); value != nil {
			e.err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	e.value, e.err = e.read()
}

// readOutliving reads by the deadline of a request, also if its client has hung up: others wait for the result.
func readOutliving(ctx context.Context, read func(context.Context) (any, error)) (any, error) {
	outliving := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		outliving, cancel = context.WithDeadline(outliving, deadline)
		defer cancel()
	}
	return read(outliving)
}

// argsKey returns a text that is the same only for equal arguments of a statement.
func argsKey(args []any) string {
	var text []byte
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			text = strconv.AppendQuote(text, arg)
		case int:
			text = strconv.AppendInt(text, int64(arg), 10)
		case int64:
			text = strconv.AppendInt(text, arg, 10)
		default:
			text = fmt.Appendf(text, "%T", arg)
			text = strconv.AppendQuote(text, fmt.Sprint(arg))
		}
		text = append(text, ',')
	}
	return string(text)
}
