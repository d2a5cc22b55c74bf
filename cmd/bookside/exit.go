package main

import (
	"errors"
	"fmt"
	"io"
)

// The exit codes of the program.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitRefused     = 4
	exitNoTables    = 5
	exitPortTaken   = 6
	exitConflicts   = 7
	exitDifferent   = 8
	exitIncomplete  = 9
)

// exitCodes documents the exit codes; help and CONFIGURATION.md are made from
// it.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "success"},
	{exitFailure, "failure without a code of its own"},
	{exitUsage, "invalid command line or configuration"},
	{exitUnreachable, "the database cannot be reached"},
	{exitRefused, "the database does not exist, or rejects the user, the password or a needed privilege"},
	{exitNoTables, "no LatePoint tables with this prefix are visible"},
	{exitPortTaken, "the port is in use"},
	{exitConflicts, "check --conflicts found overlapping bookings"},
	{exitDifferent, "compare found differences"},
	{exitIncomplete, "compare found no difference, but did not compare everything: it was interrupted, a server did not answer, or the keys may not read everything"},
}

func exitCodeHelp() string {
	text := "\nExit codes:\n"
	for _, e := range exitCodes {
		text += fmt.Sprintf("  %d   %s\n", e.code, e.meaning)
	}
	return text
}

// failure is an error with an exit code and a message for the person who runs
// the program.
type failure struct {
	code    int
	message string
	cause   error // already part of the message; nil if there is none
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.cause }

func failf(code int, cause error, format string, args ...any) error {
	return &failure{code: code, message: fmt.Sprintf(format, args...), cause: cause}
}

// report prints an error and returns its exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "bookside: %v\n", err) // if this fails, the exit code remains
	var known *failure
	if errors.As(err, &known) {
		return known.code
	}
	return exitFailure
}
