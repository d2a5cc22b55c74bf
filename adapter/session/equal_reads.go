package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// equalReads let requests that wait for the same statement share one execution, which begins after each of
// them has arrived: for example, the service of searches for slots on different days.
type equalReads = ReadQueues[equalRead, func(context.Context) (any, error), equalResult]

// equalRead identifies what is read, by the type of the result and a value that distinguishes reads of that
// type.
type equalRead struct {
	result reflect.Type
	which  any
}

type equalResult struct {
	value  any
	shared bool
}

func newEqualReads() *equalReads {
	return &equalReads{Again: wpdb.IsInterrupted, Run: func(ctx context.Context, reads []func(context.Context) (any, error)) (result equalResult, err error) {
		result.shared = len(reads) > 1
		result.value, err = reads[0](ctx)
		return result, err
	}}
}

// ReadShared returns what read returns, possibly called for another request that reads the same, so the
// result must not be changed. which must be comparable.
func ReadShared[T any](ctx context.Context, s *Session, which any, read func(context.Context) (T, error)) (value T, err error) {
	if s.NoSharing {
		return read(ctx)
	}
	found, err := s.Shared.equal.Do(ctx, equalRead{reflect.TypeFor[T](), which}, func(ctx context.Context) (any, error) { return read(ctx) })
	if found.shared && errors.Is(err, wpdb.ErrTooMuch) {
		return read(ctx) // the other request may be allowed to read less than this one
	}
	if err != nil {
		return value, err
	}
	return found.value.(T), nil
}

// ReadStatement is ReadShared for a statement and the read that runs it.
func ReadStatement[T any](ctx context.Context, s *Session, stmt sq.Sqlizer, read func(context.Context, sq.Sqlizer) (T, error)) (value T, err error) {
	if s.NoSharing {
		return read(ctx, stmt)
	}
	text, args, err := stmt.ToSql()
	if err != nil {
		return value, err
	}
	type statement struct{ text, args string }
	return ReadShared(ctx, s, statement{text, ArgsKey(args)}, func(ctx context.Context) (T, error) { return read(ctx, sq.Expr(text, args...)) })
}

// ArgsKey returns a text that is the same only for equal arguments of a statement.
func ArgsKey(args []any) string {
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
