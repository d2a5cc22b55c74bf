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

// killer ends what other connections of the pool run, over a connection of its
// own. An account may always end its own connections.
//
// A number names a thread of one server process only, so a thread is killed
// only over a connection that was there before it, has not been replaced since,
// and leads to the same server. Behind a proxy that shares connections the
// number of the greeting and CONNECTION_ID() differ: nothing is killed there.
type killer struct {
	connect func(context.Context) (driverConn, *link, error)

	failures atomic.Int64 // to connect

	mu     sync.Mutex
	conn   driverConn // nil where there is none
	server string     // that it leads to
	era    int        // counts the connections there were
	strays int        // connections of the pool in a row that led elsewhere
}

// maxStrays is after how many connections to other servers the name is taken to
// lead elsewhere, as after a failover. A balancer leads elsewhere now and then.
const maxStrays = 5

// thread is what a connection is on the server. The zero value cannot be killed.
type thread struct {
	id  int64
	era int
}

// ready opens the killer's connection where there is none. era is 0 where the
// server refuses it, as one does whose connections are used up. Those who wait
// while somebody else fails do not try again.
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
	// It is used seldom, and many servers close what is idle for a minute. Where
	// this is refused, it is opened again when it is missed.
	_, _ = conn.ExecContext(ctx, "SET SESSION wait_timeout = 28800", nil)
	return k.era, nil
}

// reach tells under which number the killer can end a connection that was opened
// after it was ready in that era.
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

// locate tells which server a connection leads to, and its number there: 0 where
// something between us and the server has numbers of its own.
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
	if err != nil || socket.thread == 0 || uint32(id) != socket.thread { //nolint:gosec // the greeting has the lower four bytes
		return text[:space], 0
	}
	return text[:space], id
}

// What a KILL can lead to besides its being done.
var (
	errGone       = errors.New("there is no such thread")
	errNoKill     = errors.New("the thread cannot be killed from here")
	errUnanswered = errors.New("the KILL was not answered")
)

const noSuchThread = 1094

const (
	killStatement  = "KILL QUERY ?"
	killConnection = "KILL ?"
)

// kill sends a KILL and waits for its answer: nil, errGone, errNoKill or
// errUnanswered.
func (k *killer) kill(statement string, t thread) error {
	if k == nil || t.id == 0 {
		return errNoKill
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

// close ends the killer's connection.
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
		_ = k.conn.Close() // nobody is waiting for it
		k.conn = nil
	}
}
