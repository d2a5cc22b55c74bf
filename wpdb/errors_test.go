package wpdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	sq "github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// kinds are the kinds of errors of a failed statement.
var kinds = []error{
	wpdb.ErrUnavailable, wpdb.ErrBusy, wpdb.ErrAccessDenied, wpdb.ErrNoDatabase, wpdb.ErrSchema, wpdb.ErrDuplicate, wpdb.ErrConflict,
	wpdb.ErrReadOnly, wpdb.ErrBadValue, wpdb.ErrRefused, wpdb.ErrTimeout, wpdb.ErrLinkLost, wpdb.ErrTooManyRows, wpdb.ErrTooMuch, wpdb.ErrUnreadable,
	wpdb.ErrNoTLS, wpdb.ErrCertificate, wpdb.ErrTLSDemanded,
}

// wantKind checks that an error is of exactly one kind; a nil want stands for no kind.
func wantKind(t testing.TB, err, want error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, kind := range kinds {
		expect.Equal(t, errors.Is(want, kind), errors.Is(err, kind), err, ": is ", kind)
	}
}

// failure returns the error of a statement that fails with err.
func failure(t testing.TB, cause error) error {
	t.Helper()
	db, mock := wpdbtest.MockExact(t, 1)
	mock.ExpectExec("DO 1").WillReturnError(cause)
	return change(t.Context(), db, "DO 1")
}

func TestErrorNumbers(t *testing.T) {
	t.Parallel()
	const private = "Duplicate entry 'max@example.org' for key"
	for number, want := range map[uint16]error{
		1040: wpdb.ErrUnavailable, 1142: wpdb.ErrAccessDenied, 1049: wpdb.ErrNoDatabase, 3159: wpdb.ErrTLSDemanded, 1146: wpdb.ErrSchema, 1062: wpdb.ErrDuplicate,
		1205: wpdb.ErrConflict, 1290: wpdb.ErrReadOnly, 1366: wpdb.ErrBadValue, 4025: wpdb.ErrRefused, 1969: wpdb.ErrTimeout, 2013: wpdb.ErrLinkLost,
	} {
		err := failure(t, &mysql.MySQLError{Number: number, Message: private})
		wantKind(t, err, want)
		if text := fmt.Sprintf("change: %v (error %d)", want, number); err.Error() != text {
			t.Errorf("%d: %q, want %q", number, err, text)
		}
		var named *wpdb.Error
		var server *mysql.MySQLError
		if !errors.As(err, &named) || named.Number != number || !errors.As(err, &server) || server.Message != private {
			t.Errorf("%d: %+v", number, named)
		}
	}
	err := failure(t, &mysql.MySQLError{Number: 1064, Message: private})
	wantKind(t, err, nil)
	if want := "change: database error 1064"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

func TestErrorsWithoutNumber(t *testing.T) {
	t.Parallel()
	read := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "db.example"}}
	for name, c := range map[string]struct {
		cause, want error
		text        string
	}{
		"invalid connection":      {mysql.ErrInvalidConn, wpdb.ErrLinkLost, "change: connection lost"},
		"end of file":             {io.EOF, wpdb.ErrLinkLost, "change: connection lost"},
		"end amid a packet":       {io.ErrUnexpectedEOF, wpdb.ErrLinkLost, "change: connection lost"},
		"network read":            {read, wpdb.ErrLinkLost, "change: connection lost"},
		"network dial":            {dial, wpdb.ErrUnavailable, "change: database unavailable"},
		"refused":                 {fmt.Errorf("connect: %w", syscall.ECONNREFUSED), wpdb.ErrUnavailable, "change: database unavailable"},
		"deadline":                {context.DeadlineExceeded, wpdb.ErrTimeout, "change: statement took too long"},
		"cancelled":               {context.Canceled, nil, "change: context canceled"},
		"something of the driver": {mysql.ErrPktTooLarge, nil, "change: " + mysql.ErrPktTooLarge.Error()},
	} {
		err := failure(t, c.cause)
		wantKind(t, err, c.want)
		expect.Error(t, c.cause, err, name, ": is")
		expect.Equal(t, c.text, err.Error(), name, ": ", err)
	}
}

// TestErrorsOfTheServer: errors of a real server get the right kind, and their text is
// not quoted.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	database.Execute(t,
		"CREATE TABLE letters (old varchar(20) CHARACTER SET latin1, kind enum('a', 'b'), amount decimal(5,2), size int, CHECK (size < 5), place point, code varchar(20) UNIQUE)",
		"INSERT INTO letters (old, kind, amount, size) VALUES ('a', 'a', 1, 1)",
		"CREATE TABLE mixed (a varchar(20) COLLATE utf8mb4_general_ci, b varchar(20) COLLATE utf8mb4_unicode_ci)",
	)
	db := wpdbtest.OpenConfig(t, configOf(database))
	const email = "max🎁@example.org"
	insert := sq.Insert("letters").Columns("code").Values(email)
	_, err := wpdb.Exec(t.Context(), db, "arrange", insert)
	expect.NoError(t, err)
	for name, c := range map[string]struct {
		stmt sq.Sqlizer
		want error
	}{
		"duplicate":             {insert, wpdb.ErrDuplicate},
		"unknown table":         {sq.Expr("INSERT INTO not_there VALUES (?)", email), wpdb.ErrSchema},
		"unknown column":        {sq.Expr("UPDATE wp_users SET not_there = ? WHERE ID = 1", email), wpdb.ErrSchema},
		"unknown database":      {sq.Expr("USE bookside_not_there"), wpdb.ErrNoDatabase},
		"too long":              {sq.Expr("UPDATE wp_latepoint_bookings SET status = ? WHERE id = 1", email+strings.Repeat("x", 20)), wpdb.ErrBadValue},
		"no number":             {sq.Expr("UPDATE wp_latepoint_bookings SET agent_id = ? WHERE id = 1", email), wpdb.ErrBadValue},
		"no date":               {sq.Expr("UPDATE wp_latepoint_bookings SET start_date = ? WHERE id = 1", email), wpdb.ErrBadValue},
		"out of range":          {sq.Expr("UPDATE letters SET amount = ? WHERE old = 'a'", "123456.7"), wpdb.ErrBadValue},
		"not of the list":       {sq.Expr("UPDATE letters SET kind = ? WHERE old = 'a'", email), wpdb.ErrBadValue},
		"letters not stored":    {sq.Expr("UPDATE letters SET old = ? WHERE old = 'a'", email), wpdb.ErrBadValue},
		"breaks a rule":         {sq.Expr("UPDATE letters SET size = ? WHERE old = 'a'", 7), wpdb.ErrRefused},
		"of another type":       {sq.Expr("UPDATE letters SET place = ? WHERE old = 'a'", 7), wpdb.ErrSchema},
		"mixed collations":      {sq.Expr("SELECT a FROM mixed WHERE a = b"), wpdb.ErrBadValue},
		"three mixed":           {sq.Expr("SELECT a FROM mixed WHERE a BETWEEN b AND ?", email), wpdb.ErrBadValue},
		"not SQL":               {sq.Expr("UPDATE wp_users SET ? ?", email, email), nil},
		"no privilege, as ever": {sq.Expr("UPDATE information_schema.tables SET table_name = ?", email), wpdb.ErrAccessDenied},
		"writes in a read":      {sq.Expr("SELECT 1 FROM not_there WHERE a = ?", email), wpdb.ErrSchema},
	} {
		_, err := wpdb.Exec(t.Context(), db, "change", c.stmt)
		wantKind(t, err, c.want)
		if strings.Contains(err.Error(), "max") || strings.Contains(err.Error(), "example.org") {
			t.Errorf("%s: the error quotes a value: %v", name, err)
		}
	}
}

// TestReadOnlyTransaction uses a read-only transaction in place of a read-only server,
// because the server is shared with other tests. After a failover, the connection would
// still lead to the old server.
func TestReadOnlyTransaction(t *testing.T) {
	t.Parallel()
	config := configOf(fixtures.New(t, fixtures.Legacy()))
	config.MaxOpen = 1
	db := wpdbtest.OpenConfig(t, config)
	connection := func() string {
		ids, err := read(t.Context(), db, "SELECT CONNECTION_ID()")
		expect.NoError(t, err)
		return ids[0]
	}
	before := connection()
	err := db.Transact(t.Context(), "mark", func(tx *wpdb.DB) error {
		if err := change(t.Context(), tx, "COMMIT"); err != nil {
			return err
		}
		if err := change(t.Context(), tx, "START TRANSACTION READ ONLY"); err != nil {
			return err
		}
		return change(t.Context(), tx, mark)
	})
	wantKind(t, err, wpdb.ErrReadOnly)
	if connection() == before {
		t.Error("the connection is used again")
	}
}
