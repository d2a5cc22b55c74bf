package wpdb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"testing"

	sq "github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures/expect"
)

// preparingConn is a connection that notes what is prepared, executed and sent as a
// text.
type preparingConn struct {
	driverConn
	log       []string
	refuse    error // of preparing
	forgotten error // of executing
}

func (p *preparingConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	p.log = append(p.log, "prepare "+query)
	return &recordingStmt{conn: p, query: query}, p.refuse
}

func (p *preparingConn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	p.log = append(p.log, "text "+query)
	return noRows{}, nil
}

type recordingStmt struct {
	driverStmt
	conn  *preparingConn
	query string
}

func (s *recordingStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	s.conn.log = append(s.conn.log, "execute "+s.query)
	return noRows{}, s.conn.forgotten
}

type noRows struct{ driver.Rows }

func (noRows) Close() error { return nil }

func TestPreparedStatements(t *testing.T) {
	t.Parallel()
	many := make([]string, maxPrepared+1)
	var each []string
	for i := range many {
		many[i] = fmt.Sprint("SELECT ", i)
		if i < maxPrepared {
			each = append(each, "prepare "+many[i], "execute "+many[i])
		}
	}
	for name, c := range map[string]struct {
		inner preparingConn
		send  []string
		want  []string
	}{
		"once on a connection":     {send: []string{"a", "a", "b", "a"}, want: []string{"prepare a", "execute a", "execute a", "prepare b", "execute b", "execute a"}},
		"refused by the server":    {inner: preparingConn{refuse: &mysql.MySQLError{Number: 1461}}, send: []string{"a", "a"}, want: []string{"prepare a", "text a", "text a"}},
		"lost by a proxy":          {inner: preparingConn{forgotten: &mysql.MySQLError{Number: 1243}}, send: []string{"a", "a"}, want: []string{"prepare a", "execute a", "text a", "text a"}},
		"no more than are allowed": {send: many, want: append(each, "text "+many[maxPrepared])},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := c.inner
			tested := &conn{driverConn: &inner}
			for _, query := range c.send {
				rows, err := tested.QueryContext(sentAs(t.Context(), []Query{{stmt: Prepared(sq.Expr(query))}}), query, nil)
				expect.NoError(t, err)
				expect.Succeeded(t, rows.Close())
			}
			if !slices.Equal(inner.log, c.want) {
				t.Errorf("sent %q, want %q", inner.log, c.want)
			}
		})
	}
}
