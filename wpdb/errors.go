package wpdb

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// What a failed statement or connection means to a caller; test with errors.Is. The server's messages quote
// rows, so they are never compared and never part of an error's text.
var (
	ErrUnavailable  = errors.New("database unavailable")                   // no server, or no more connections
	ErrBusy         = errors.New("all connections are in use")             // of the pool, for longer than the timeout
	ErrAccessDenied = errors.New("access denied")                          // user, password or privileges
	ErrNoDatabase   = errors.New("unknown database")                       //
	ErrSchema       = errors.New("unknown table or column")                // or a required value, or another type: the schema changed since the probe
	ErrDuplicate    = errors.New("duplicate key")                          //
	ErrConflict     = errors.New("deadlock or lock wait")                  // the whole transaction may be retried
	ErrReadOnly     = errors.New("database is read-only")                  //
	ErrBadValue     = errors.New("value does not fit column")              // out of range, too long, unsupported characters
	ErrRefused      = errors.New("row violates a constraint of its table") // a CHECK constraint
	ErrTimeout      = errors.New("statement took too long")                //
	ErrLinkLost     = errors.New("connection lost")                        // a write may or may not have happened
	// ErrSilent accompanies the error of a connection that the server accepted, but on which it did not
	// answer in time.
	ErrSilent = errors.New("the server does not answer")
	// ErrOutcomeUnknown accompanies the error of a transaction whose COMMIT was
	// sent and may have succeeded. Without it, a failed transaction wrote
	// nothing.
	ErrOutcomeUnknown = errors.New("outcome of the transaction unknown")
	ErrTooManyRows    = errors.New("more rows than a query may return") //
	ErrTooMuch        = errors.New("more data than a request may read") // see Allow
	ErrUnreadable     = errors.New("row cannot be read")                // a column has another type than expected
)

// errNoLogin is the error of a login that the server did not complete in time.
var errNoLogin = fmt.Errorf("%w: %w", ErrUnavailable, ErrSilent)

// ErrChanged is an ErrConflict of a transaction that finds, behind its locks, other rows than before.
var ErrChanged = fmt.Errorf("%w: rows have changed meanwhile", ErrConflict)

// numbers maps the server's error numbers.
var numbers = map[uint16]error{
	1040: ErrUnavailable, 1203: ErrUnavailable, 1226: ErrUnavailable, 1053: ErrUnavailable, 1129: ErrUnavailable, 1130: ErrAccessDenied,
	1044: ErrAccessDenied, 1045: ErrAccessDenied, 1142: ErrAccessDenied, 1143: ErrAccessDenied, 1698: ErrAccessDenied,
	1049: ErrNoDatabase, secureTransport: ErrTLSDemanded,
	unknownColumn: ErrSchema, 1146: ErrSchema, 1364: ErrSchema, 1416: ErrSchema, 3140: ErrSchema, 4078: ErrSchema, 6136: ErrSchema,
	1072: ErrSchema,                                                                // columns to index
	1062: ErrDuplicate, 1586: ErrDuplicate, 1061: ErrDuplicate, 1060: ErrDuplicate, // rows, indexes and columns
	lockWaitTimeout: ErrConflict, 1213: ErrConflict, 1020: ErrConflict, 1412: ErrConflict,
	3101:     ErrConflict,                                                // Group Replication: another member was first
	notReady: ErrUnavailable, 3032: ErrUnavailable, 3168: ErrUnavailable, // a server that is not ready
	3100: ErrUnavailable, 3797: ErrUnavailable, 3798: ErrUnavailable, // a member that lost its group
	1135: ErrUnavailable, 1206: ErrUnavailable, 1637: ErrUnavailable, // no more threads, locks or transactions
	2002: ErrUnavailable, 2003: ErrUnavailable, 9001: ErrUnavailable, 9002: ErrUnavailable, // proxies without a backend
	9004: ErrUnavailable,
	1290: ErrReadOnly, 1792: ErrReadOnly, 1836: ErrReadOnly, 1665: ErrReadOnly, // the last one as RefusesWrites tells
	1264: ErrBadValue, 1265: ErrBadValue, 1366: ErrBadValue, 1406: ErrBadValue, 1292: ErrBadValue,
	1267: ErrBadValue, 1270: ErrBadValue, 1271: ErrBadValue, 3854: ErrBadValue, 3988: ErrBadValue, // a text outside of the character set it is compared with
	3819: ErrRefused, 4025: ErrRefused,
	1317: ErrTimeout, 1969: ErrTimeout, 3024: ErrTimeout,
	2006: ErrLinkLost, 2013: ErrLinkLost, 1927: ErrLinkLost, 4031: ErrLinkLost, 2055: ErrLinkLost,
	1152: ErrLinkLost, 1158: ErrLinkLost, 1159: ErrLinkLost, 1160: ErrLinkLost, 1161: ErrLinkLost, 1184: ErrLinkLost,
	1180: ErrLinkLost, // an engine failed at COMMIT
}

// hasNumber reports whether the server gave an error one of these numbers.
func hasNumber(err error, numbers ...uint16) bool {
	var failed *Error
	return errors.As(err, &failed) && slices.Contains(numbers, failed.Number)
}

// IsUnknownColumn reports whether an ErrSchema is about a missing column.
func IsUnknownColumn(err error) bool { return hasNumber(err, unknownColumn) }

// IsLockWait reports whether an ErrConflict is a statement that waited too long for a lock and was undone.
func IsLockWait(err error) bool { return hasNumber(err, lockWaitTimeout) }

// Error numbers that matter by themselves.
const (
	failedCommit    = 1180 // ER_ERROR_DURING_COMMIT
	lockWaitTimeout = 1205
	notReady        = 1047 // of every statement on a Galera node that is not part of the primary component
	redefinedColumn = 1060
	redefinedIndex  = 1061
	rejectedLogin   = 1045 // the server does not say whether the password is wrong or the account demands TLS
	secureTransport = 3159 // of a server that accepts no plain text at all
	unknownColumn   = 1054
)

// Error is a failed statement: the operation, what the error means, and the
// server's error number, 0 if there is none.
type Error struct {
	Op     string
	Kind   error // one of the Err values, or nil for a number without a name
	Number uint16
	cause  error
	// unknown is set if a COMMIT was sent and may have succeeded.
	unknown bool
}

// Error omits the messages of the server and of Scan, which may quote personal
// data.
func (e *Error) Error() string {
	switch {
	case e.Kind != nil && e.Number != 0:
		return fmt.Sprintf("%s: %v (error %d)", e.Op, e.Kind, e.Number)
	case e.Kind != nil:
		return fmt.Sprintf("%s: %v", e.Op, e.Kind)
	case e.Number != 0:
		return fmt.Sprintf("%s: database error %d", e.Op, e.Number)
	default:
		return fmt.Sprintf("%s: %v", e.Op, e.cause)
	}
}

// Unwrap returns the meaning for errors.Is and the driver's error for
// errors.As.
func (e *Error) Unwrap() []error {
	chain := []error{e.cause}
	if e.Kind != nil {
		chain = append(chain, e.Kind)
	}
	if e.unknown {
		chain = append(chain, ErrOutcomeUnknown)
	}
	return chain
}

// wrapCommit wraps the error of a COMMIT; nil stays nil. Nothing was written if the server rejected it, or
// if it was never sent because the pool had rolled back or the connection was closed. Any other error
// leaves the outcome unknown.
func wrapCommit(op string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{}
	errors.As(wrap(op+": commit", err), &e)
	e.unknown = true
	for _, refusal := range []error{sql.ErrTxDone, context.Canceled, context.DeadlineExceeded, driver.ErrBadConn, ErrConflict, ErrReadOnly} {
		if errors.Is(e, refusal) {
			e.unknown = false
		}
	}
	e.unknown = e.unknown && e.Number != notReady
	return e
}

// wrap wraps the error of an operation; nil stays nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, cause: err}
	var server *mysql.MySQLError
	var network *net.OpError
	switch {
	case errors.As(err, &server):
		e.Number = server.Number
		e.Kind = numbers[server.Number]
	case errors.Is(err, mysql.ErrNoTLS):
		e.Kind = ErrNoTLS
	case errors.As(err, new(*tls.CertificateVerificationError)):
		e.Kind = ErrCertificate
	case errors.As(err, &network) && network.Op == "dial", errors.Is(err, syscall.ECONNREFUSED):
		e.Kind = ErrUnavailable // including dial timeouts, which are deadlines too
	case errors.Is(err, errNoLogin):
		e.Kind = ErrUnavailable
	case errors.Is(err, ErrBusy):
		e.Kind = ErrBusy
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = ErrTimeout
	case errors.Is(err, ErrSilent), errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.As(err, &network):
		e.Kind = ErrLinkLost
	case errors.Is(err, ErrUnreadable) && !errors.Is(err, context.Canceled):
		e.Kind = ErrUnreadable
	}
	return e
}
