package keys

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// LogEntry is a request to the API, or all requests of a minute that had no valid key and got the same status.
type LogEntry struct {
	ID        int64 // of the entry
	At        time.Time
	RequestID string
	KeyID     int64 // 0 for none
	UserID    int64 // of the WordPress user for whom WordPress asked; 0 for none
	// FromConsole is set for a request that an administrator made on the console.
	FromConsole bool
	Method      string // such as GET
	Route       string // below the base path, such as /bookings/:id; NoRoute if there is none
	RecordID    int64  // the id in the path; 0 for none
	Tool        string // for AI agents, of a request to /mcp
	Status      int
	Code        string // of the error; "" for none
	Took        time.Duration
	// Statements is the number of statements that were sent to the database.
	Statements int64
	Fields     []string // names of fields or parameters that were refused
	// Refused is the number of requests without a valid key that the entry, the first of them, stands for;
	// 0 for a request with a key.
	Refused int64
}

// Caller is the kind of those who send requests.
type Caller string

// The kinds of callers.
const (
	KeyCaller      Caller = "key"
	CalendarCaller Caller = "calendar" // a program that subscribes to a calendar
	ConsoleCaller  Caller = "console"  // an administrator on the console
	UserCaller     Caller = "user"     // WordPress for one of its users
	VisitorCaller  Caller = "visitor"  // WordPress for nobody it knows
	NoCaller       Caller = "none"     // without a valid key
)

// Caller returns who sent the request.
func (e LogEntry) Caller() Caller {
	switch {
	case e.Refused > 0:
		return NoCaller
	case strings.HasSuffix(e.Route, "/calendar.ics"):
		return CalendarCaller
	case e.KeyID > 0:
		return KeyCaller
	case e.FromConsole:
		return ConsoleCaller
	case e.UserID > 0:
		return UserCaller
	default:
		return VisitorCaller
	}
}

// NoRoute is the route of requests to paths that the API does not have.
const NoRoute = "none"

// Path returns the path of the request below the base path, without other parameters than an id.
func (e LogEntry) Path() string {
	if e.RecordID == 0 {
		return e.Route
	}
	return strings.Replace(e.Route, ":id", fmt.Sprint(e.RecordID), 1)
}

// The sizes of the columns, in bytes.
const (
	requestIDSize = 128
	methodSize    = 10
	routeSize     = 100
	toolSize      = 40
	codeSize      = 60
	fieldsSize    = 1000
)

// cut shortens a text to a size in bytes, with … in place of what is missing.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	end := size - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
