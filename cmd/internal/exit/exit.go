// Package exit defines the exit codes of the program, and errors that carry one. It imports cmd/internal/printable alone, and
// never exits itself.
package exit

import (
	"errors"
	"fmt"
	"io"

	"github.com/bookside/bookside/cmd/internal/printable"
)

// The exit codes of the program.
const (
	OK          = 0
	Failure     = 1
	Usage       = 2
	Unreachable = 3
	Refused     = 4
	NoTables    = 5
	PortTaken   = 6
	Conflicts   = 7
	Different   = 8
	Incomplete  = 9
)

// Codes documents the exit codes; help and CONFIGURATION.md are made from it.
var Codes = []struct {
	Code    int
	Meaning string
}{
	{OK, "success"},
	{Failure, "failure without a code of its own"},
	{Usage, "invalid command line or configuration"},
	{Unreachable, "the database cannot be reached"},
	{Refused, "the database does not exist, or rejects the user, the password or a needed privilege"},
	{NoTables, "no LatePoint tables with this prefix are visible"},
	{PortTaken, "the port is in use"},
	{Conflicts, "check --conflicts found overlapping bookings"},
	{Different, "compare or verify found differences"},
	{Incomplete, "compare found no difference, but did not compare everything: it was interrupted, a server did not answer, or the keys may not read everything"},
}

// Error is an error with an exit code and a message for the person who runs the program.
type Error struct {
	Code    int
	message string
	cause   error // already part of the message; nil if there is none
}

func (e *Error) Error() string { return e.message }
func (e *Error) Unwrap() error { return e.cause }

// Errorf returns an Error.
func Errorf(code int, cause error, format string, args ...any) error {
	return &Error{Code: code, message: fmt.Sprintf(format, args...), cause: cause}
}

// Report prints an error and returns its exit code.
func Report(stderr io.Writer, err error) int {
	if err == nil {
		return OK
	}
	_, _ = fmt.Fprintf(printable.Writer{To: stderr}, "bookside: %v\n", err) // if this fails, the exit code remains
	var known *Error
	if errors.As(err, &known) {
		return known.Code
	}
	return Failure
}
