package facts

import (
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/requestlog"
)

// Request is a request to the API. The key is the name of a key or a calendar.
type Request struct {
	ID        int64             `json:"id"`
	At        domain.Timestamp  `json:"at"`
	RequestID string            `json:"request_id"`
	Caller    requestlog.Caller `json:"caller"`
	KeyID     int64             `json:"key_id"`
	Key       string            `json:"key"`
	UserID    int64             `json:"user_id"`
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Route     string            `json:"route"`
	Tool      string            `json:"tool"`
	Status    int               `json:"status"`
	Code      string            `json:"code"`
	TookMS    float64           `json:"took_ms"`
	Query     string            `json:"query"`   // masked
	Body      string            `json:"body"`    // masked; "" unless the server keeps bodies
	Fields    map[string]string `json:"fields"`  // why fields were refused
	Ignored   []string          `json:"ignored"` // parameters that nothing reads
	Refused   int64             `json:"refused"` // requests without a valid key that it stands for
	DryRun    bool              `json:"dry_run,omitempty"`
}

// RequestOf returns a request, with the names of keys.
func RequestOf(e requestlog.Entry, names map[int64]string) Request {
	return Request{
		ID: e.ID, At: domain.Timestamp(e.At.Format(time.DateTime)), RequestID: e.RequestID, Caller: e.Caller(), KeyID: e.KeyID, Key: names[e.KeyID], UserID: e.UserID,
		Method: e.Method, Path: e.Path(), Route: e.Route, Tool: e.Tool, Status: e.Status, Code: e.Code, TookMS: float64(e.Took.Microseconds()) / 1000,
		Query: e.Query, Body: e.Body, Fields: e.Fields, Ignored: e.Ignored, Refused: e.Refused, DryRun: e.DryRun,
	}
}

// Requests is a list of requests, with what it can be filtered by.
type Requests struct {
	Requests []Request        `json:"requests"`
	Keys     map[int64]string `json:"keys"`     // names by id; null for none
	Statuses []string         `json:"statuses"` // one digit stands for all that begin with it
	More     bool             `json:"more"`
	Off      bool             `json:"off"`     // the server keeps no requests
	Dropped  int64            `json:"dropped"` // requests that the server could not keep
}
