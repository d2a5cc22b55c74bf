package main

import (
	"errors"
	"fmt"
	"io"
)

// The program's exit codes; the overview of help explains them to people.
const (
	exitOK          = 0
	exitFailure     = 1 // anything that has no code of its own
	exitUsage       = 2 // command line or configuration
	exitUnreachable = 3 // no database answers
	exitRefused     = 4 // the database does not let us in or read, or does not exist
	exitNoTables    = 5 // no LatePoint tables to be seen under the prefix
	exitPortTaken   = 6
	exitConflicts   = 7 // check --conflicts found some
)

// failure is an error with an exit code, worded for the person who runs the
// program.
type failure struct {
	code    int
	message string
	cause   error // already told in the message; nil where nothing lies beneath
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.cause }

func failf(code int, cause error, format string, args ...any) error {
	return &failure{code: code, message: fmt.Sprintf(format, args...), cause: cause}
}

// report tells an error and returns the exit code it stands for.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "bookside: %v\n", err) // the exit code is all that is left to tell
	var known *failure
	if errors.As(err, &known) {
		return known.code
	}
	return exitFailure
}
