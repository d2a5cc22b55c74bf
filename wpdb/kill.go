package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// killer kills statements and threads of the pool's connections over a separate
// connection. An account may always kill its own threads.
//
// A thread's number is valid within one server process only. So the killer's
// connection must have been opened before the thread's, must not have been
// replaced since, and must lead to the same server. Behind a proxy that
// multiplexes connections, the number in the greeting and CONNECTION_ID()
// differ; nothing is killed there.
type killer struct {
	connect func(context.Context) (driverConn, *link, error)
	silent  *atomic.Bool // set when a KILL would get no answer either, see Config.GiveUp; nil for never

	failures atomic.Int64 // to connect

	mu     sync.Mutex
	conn   driverConn // nil if there is none
	server string     // that conn leads to
	era    int        // counts the connections so far
	strays int        // successive connections of the pool that led elsewhere
}

// maxStrays is how many connections in a row may lead to other servers before
// the killer reconnects: then the name leads elsewhere, as after a failover.
// Behind a load balancer only single connections do.
const maxStrays = 5

// thread is the server's thread of a connection. The zero value cannot be
// killed.
type thread struct {
	id  int64
	era int
}

// ready opens the killer's connection if there is none. era is 0 if the server
// rejects it, for example because its connections are used up. Callers that
// wait while another attempt fails do not retry.
func (k *killer) ready(ctx context.Context) (era int, err error) {
	if k == nil {
		return 0, nil
	}
	seen := k.failures.Load()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil && k.conn.ResetSession(ctx) == nil {
		return k.era, nil
	}
	if k.failures.Load() != seen {
		return 0, nil
	}
	k.drop()
	conn, socket, err := k.connect(ctx)
	if err != nil {
		k.failures.Add(1)
		var refusal *mysql.MySQLError
		if errors.As(err, &refusal) {
			err = nil
		}
		return 0, err
	}
	k.era++
	k.strays = 0
	k.conn = conn
	k.server, _ = locate(ctx, conn, socket)
	// The connection is rarely used, and many servers close connections that
	// are idle for a minute. If the setting is rejected, the connection is
	// reopened when needed.
	_, _ = conn.ExecContext(ctx, "SET SESSION wait_timeout = 28800", nil)
	return k.era, nil
}

// reach returns the thread by which the killer can end a connection that was
// opened while it was ready in that era.
func (k *killer) reach(ctx context.Context, era int, conn driverConn, socket *link) thread {
	if era == 0 {
		return thread{}
	}
	server, id := locate(ctx, conn, socket)
	k.mu.Lock()
	defer k.mu.Unlock()
	if era != k.era || id == 0 {
		return thread{}
	}
	if server != k.server {
		if k.strays++; k.strays == maxStrays {
			k.drop()
		}
		return thread{}
	}
	k.strays = 0
	return thread{id: id, era: era}
}

// locate returns which server a connection leads to and its number there, or 0
// if something between us and the server uses other numbers.
func locate(ctx context.Context, conn driverConn, socket *link) (server string, id int64) {
	const query = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir, CONNECTION_ID())"
	rows, err := conn.QueryContext(ctx, query, nil)
	if err != nil {
		return "", 0
	}
	value := make([]driver.Value, 1)
	err = rows.Next(value)
	text := fmt.Sprintf("%s", value[0])
	if err := errors.Join(err, rows.Close()); err != nil {
		return "", 0
	}
	space := strings.LastIndexByte(text, ' ')
	if space < 0 {
		return "", 0
	}
	id, err = strconv.ParseInt(text[space+1:], 10, 64)
	if err != nil || socket.thread == 0 || uint32(id) != socket.thread { //nolint:gosec // the greeting contains the lower four bytes
		return text[:space], 0
	}
	return text[:space], id
}

// The outcomes of a KILL other than success.
var (
	errGone       = errors.New("no such thread")
	errNoKill     = errors.New("the thread cannot be killed from here")
	errUnanswered = errors.New("the KILL was not answered")
)

const noSuchThread = 1094

const (
	killStatement  = "KILL QUERY ?"
	killConnection = "KILL ?"
)

// kill sends a KILL and waits for its answer. It returns nil, errGone,
// errNoKill or errUnanswered.
func (k *killer) kill(statement string, t thread) error {
	if k == nil || t.id == 0 {
		return errNoKill
	}
	if k.silent != nil && k.silent.Load() {
		return errUnanswered
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn == nil || t.era != k.era {
		return errNoKill
	}
	_, err := k.conn.ExecContext(context.Background(), statement, []driver.NamedValue{{Ordinal: 1, Value: t.id}})
	var server *mysql.MySQLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &server) && server.Number == noSuchThread:
		return errGone
	case errors.As(err, &server):
		return errNoKill
	default:
		k.drop()
		return errUnanswered
	}
}

// close closes the killer's connection.
func (k *killer) close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop()
}

func (k *killer) drop() {
	if k.conn != nil {
		_ = k.conn.Close() // an error is harmless
		k.conn = nil
	}
}
