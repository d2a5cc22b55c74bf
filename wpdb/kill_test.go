package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
)

// scriptedConn is a connection that gives a test's answers and records what it is sent.
type scriptedConn struct {
	driverConn
	sent   []string
	answer func(statement string) error
	gone   bool
}

func (s *scriptedConn) send(statement string) error {
	s.sent = append(s.sent, statement)
	if s.answer == nil {
		return nil
	}
	return s.answer(statement)
}

func (s *scriptedConn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, s.send(query)
}
func (s *scriptedConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return scriptedTx{s}, s.send("BEGIN")
}
func (s *scriptedConn) Ping(context.Context) error { return s.send("PING") }
func (s *scriptedConn) IsValid() bool              { return !s.gone }
func (s *scriptedConn) Close() error               { return s.send("QUIT") }

type scriptedTx struct{ *scriptedConn }

func (s scriptedTx) Commit() error   { return s.send("COMMIT") }
func (s scriptedTx) Rollback() error { return s.send("ROLLBACK") }

// newKillableConn returns a connection whose statements a second connection kills.
func newKillableConn(inner, killing *scriptedConn) *conn {
	socket, _ := net.Pipe()
	return &conn{driverConn: inner, socket: newLink(socket, time.Minute), killer: &killer{conn: killing, era: 1}, thread: thread{7, 1}}
}

var errKilled = &mysql.MySQLError{Number: interrupted}

// TestCommitIsNotKilled: a COMMIT is not killed, however long it takes and even if its context ends.
func TestCommitIsNotKilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		killing := new(scriptedConn)
		inner := &scriptedConn{answer: func(statement string) error {
			if statement == "COMMIT" {
				cancel()
				time.Sleep(time.Hour)
			}
			return nil
		}}
		tx, err := newKillableConn(inner, killing).BeginTx(ctx, driver.TxOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if len(killing.sent) > 0 {
			t.Errorf("killed: %q", killing.sent)
		}
	})
}

// TestCommitFails: a transaction whose COMMIT failed may still be open, and the next
// BEGIN would commit it.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	rejected := &mysql.MySQLError{Number: 1047}
	for name, c := range map[string]struct {
		rollback error
		valid    bool
	}{"rolled back": {nil, true}, "not rolled back": {rejected, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := &scriptedConn{answer: func(statement string) error {
				switch statement {
				case "COMMIT":
					return rejected
				case "ROLLBACK":
					return c.rollback
				}
				return nil
			}}
			conn := newKillableConn(inner, new(scriptedConn))
			tx, err := conn.BeginTx(t.Context(), driver.TxOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); !errors.Is(err, rejected) {
				t.Errorf("error %v, want %v", err, rejected)
			}
			if want := []string{"BEGIN", "COMMIT", "ROLLBACK"}; !slices.Equal(inner.sent, want) || conn.IsValid() != c.valid {
				t.Errorf("sent %q, valid %t", inner.sent, conn.IsValid())
			}
		})
	}
}

// TestKill: the KILL is repeated until the statement ends, and the connection is reused only once every
// KILL has been answered and no more can arrive.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []error // to each KILL
		ends    int     // the number of KILLs after which the statement ends
		killed  bool
		valid   bool
	}{
		"at once":                        {[]error{nil}, 1, true, true},
		"not yet at the server":          {[]error{nil, nil, nil}, 3, true, true},
		"denied":                         {[]error{&mysql.MySQLError{Number: 1095}}, 1, false, true},
		"by a killer that loses its way": {[]error{mysql.ErrInvalidConn}, 1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				killing := new(scriptedConn)
				kills := 0
				killing.answer = func(statement string) error {
					if statement != killStatement {
						return nil
					}
					if kills++; kills == c.ends {
						time.AfterFunc(time.Millisecond, func() { close(ended) })
					}
					time.Sleep(time.Millisecond / 2)
					return c.answers[kills-1]
				}
				inner := &scriptedConn{answer: func(statement string) error {
					if statement != "UPDATE" {
						return nil
					}
					<-ended
					if c.killed {
						return errKilled
					}
					return nil
				}}
				conn := newKillableConn(inner, killing)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				_, err := conn.ExecContext(ctx, "UPDATE", nil)
				if c.killed != errors.Is(err, context.Canceled) || !c.killed && err != nil {
					t.Errorf("error %v", err)
				}
				if kills != c.ends || conn.IsValid() != c.valid {
					t.Errorf("%d KILLs, valid %t", kills, conn.IsValid())
				}
				if want := []string{"UPDATE", "PING"}; !slices.Equal(inner.sent, want) {
					t.Errorf("sent %q, want %q", inner.sent, want)
				}
			})
		})
	}
}

// TestLocate: a thread id is unknown if it does not come from the server itself, or
// belongs to another server.
func TestLocate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  string
		greeted uint32
		want    int64
	}{
		"direct":                    {"db 3306 1 /data/ 7", 7, 7},
		"beyond four bytes":         {"db 3306 1 /data/ 4294967303", 7, 4294967303},
		"shared connections":        {"db 3306 1 /data/ 8", 7, 0},
		"another server":            {"db2 3306 1 /data/ 7", 7, 0},
		"greeting without a number": {"db 3306 1 /data/ 7", 0, 0},
		"no number":                 {"what", 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &killer{conn: new(scriptedConn), era: 1, server: "db 3306 1 /data/"}
			found := k.reach(t.Context(), 1, fixedAnswerConn{answer: c.answer}, &link{thread: c.greeted})
			if found.id != c.want {
				t.Errorf("thread %d, want %d", found.id, c.want)
			}
			if later := k.reach(t.Context(), 0, fixedAnswerConn{answer: c.answer}, &link{thread: c.greeted}); later.id != 0 {
				t.Errorf("thread %d of a connection that was there before the killer", later.id)
			}
		})
	}
}

// TestKillerFollows: the killer reconnects after a failover, but not for every connection that a load
// balancer sends to another server.
func TestKillerFollows(t *testing.T) {
	t.Parallel()
	k := &killer{conn: new(scriptedConn), era: 1, server: "db 3306 1 /data/"}
	strays := func(n int) {
		for range n {
			k.reach(t.Context(), 1, fixedAnswerConn{answer: "db2 3306 1 /data/ 7"}, &link{thread: 7})
		}
	}
	strays(maxStrays - 1)
	k.reach(t.Context(), 1, fixedAnswerConn{answer: "db 3306 1 /data/ 7"}, &link{thread: 7})
	strays(maxStrays - 1)
	if k.conn == nil {
		t.Error("opened anew behind a balancer")
	}
	strays(1)
	if k.conn != nil {
		t.Error("stays where nothing leads")
	}
}

// fixedAnswerConn answers every query with the same text.
type fixedAnswerConn struct {
	driverConn
	driver.Rows
	answer string
}

func (a fixedAnswerConn) Close() error { return nil }
func (a fixedAnswerConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return a, nil
}

func (a fixedAnswerConn) Next(dest []driver.Value) error {
	dest[0] = []byte(a.answer)
	return nil
}

// TestGreeting: the thread id is read from the first packet of a server, however that is
// fragmented.
func TestGreeting(t *testing.T) {
	t.Parallel()
	for packet, want := range map[string]uint32{
		"\x11\x00\x00\x00\x0a8.4.0\x00\x07\x01\x00\x00salt\x00\x00": 263,
		"\x09\x00\x00\x00\x0a8.4.0\x00\x07\x01":                     0,
		"\x06\x00\x00\x00\x0a8.4.0":                                 0,
		"\x17\x00\x00\x00\xff\x10\x04Too many connections":          0,
		"\x4a\x00": 0,
		"\xff\xff\xff\x00\x0a" + strings.Repeat("x", 2000) + "\x00\x07\x01\x00\x00": 0,
	} {
		t.Run(packet, func(t *testing.T) {
			for _, size := range []int{1, 3, len(packet)} {
				l := &link{Conn: dribble{text: strings.NewReader(packet), size: size}}
				if got, err := io.ReadAll(l); err != nil || string(got) != packet {
					t.Errorf("read %q, %v", got, err)
				}
				if l.thread != want {
					t.Errorf("%.30q in pieces of %d: %d, want %d", packet, size, l.thread, want)
				}
			}
		})
	}
}

// dribble is a connection that delivers data in small pieces.
type dribble struct {
	net.Conn
	text *strings.Reader
	size int
}

// Read implements net.Conn.
func (d dribble) Read(p []byte) (int, error) { return d.text.Read(p[:min(len(p), d.size)]) }
