package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// Caller calls the operations of the API for the holder of a request's key.
type Caller interface {
	// Lacks returns the permission that an operation needs and the key lacks, or "".
	Lacks(operation string) string
	// Call calls an operation. An error is a CallError.
	Call(Call) (Answer, error)
	// Clock returns the name of the site's time zone and the time there. An error is a CallError.
	Clock() (zone string, now time.Time, err error)
	// Report logs an internal error or a panic, and returns the CallError for it.
	Report(fault any) error
	// Called counts a call of a tool.
	Called(tool string, failed bool)
}

// Call is a call of an operation.
type Call struct {
	Operation      string     // its operationId in the OpenAPI document
	ID             int64      // in its path; 0 for none
	Query          url.Values // its parameters
	Body           any        // to be sent as JSON; nil for none
	IdempotencyKey string     // "" for none
}

// Answer is the answer to a Call that succeeded.
type Answer struct {
	Body     []byte // JSON
	Replayed bool   // whether it repeats the response to an earlier call with the same IdempotencyKey
	Warnings []string
}

// CallError is the reason why a Call failed.
type CallError struct {
	Code       string // as in the API's errors
	Message    string
	Details    json.RawMessage // as in the API's errors; nil for none
	RetryAfter string          // seconds; "" if waiting does not help
	RequestID  string          // of an internal error
	Unknown    bool            // whether a write may have taken effect nevertheless
}

func (f *CallError) Error() string { return fmt.Sprintf("%s: %s", f.Code, f.Message) }

// callerEntry is the key of the Caller in a context.
type callerEntry struct{}

// WithCaller returns a context for a request of a caller.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerEntry{}, caller)
}

func callerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerEntry{}).(Caller)
	return caller
}
