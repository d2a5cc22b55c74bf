package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bookside/bookside/docker/load"
)

// cluster is the nodes of a database cluster and their sidecars.
type cluster struct {
	database string
	galera   bool // otherwise MySQL Group Replication, if there are several nodes
	nodes    []*node
	proxy    *proxy
	sidecars []*load.Server // one per node, then the one behind the proxy
}

// node is a database server, reached by its socket.
type node struct {
	name, dsn string
	db        *sql.DB
}

func openCluster(ctx context.Context, sockets []string, database string) (*cluster, error) {
	c := &cluster{database: database}
	for _, socket := range sockets {
		n := &node{name: strings.TrimSuffix(filepath.Base(socket), ".sock"), dsn: "root@unix(" + socket + ")/" + database}
		first, err := load.Open(n.dsn, nil)
		if err != nil {
			return nil, err
		}
		var version string
		var flush int
		err = first.QueryRowContext(ctx, "SELECT VERSION(), @@GLOBAL.innodb_flush_log_at_trx_commit").Scan(&version, &flush)
		if err := errors.Join(err, first.Close()); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.name, err)
		}
		if flush != 1 && len(sockets) > 1 {
			return nil, fmt.Errorf("node %s loses what it has acknowledged: innodb_flush_log_at_trx_commit is %d, not 1", n.name, flush)
		}
		c.galera = strings.Contains(version, "MariaDB")
		// Reads wait until the node has applied all commits of the others.
		var session map[string]string
		switch {
		case len(sockets) == 1:
		case c.galera:
			session = map[string]string{"wsrep_sync_wait": "7"}
		default:
			session = map[string]string{"group_replication_consistency": "'BEFORE'"}
		}
		if n.db, err = load.Open(n.dsn, session); err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, n)
	}
	var err error
	c.proxy, err = newProxy(ctx, sockets)
	return c, err
}

// startSidecars creates a key and starts the sidecars. A single node has only one.
func (c *cluster) startSidecars(ctx context.Context, program, folder string) error {
	nodes := c.nodes
	if len(nodes) > 1 {
		nodes = append(slices.Clone(nodes), &node{name: "proxy", dsn: "root@tcp(" + c.proxy.Addr().String() + ")/" + c.database})
	}
	key := ""
	for _, n := range nodes {
		s, err := load.NewServer(ctx, program, n.name, filepath.Join(folder, n.name+".sidecar.log"), "BOOKSIDE_DB__DSN="+n.dsn, "BOOKSIDE_LOG__LEVEL=warn", "BOOKSIDE_CHANGES__INTERVAL=1s")
		if err != nil {
			return err
		}
		if key == "" {
			if key, err = s.NewKey(ctx, "cluster run", "read,write,delete,read_changes"); err != nil {
				return err
			}
		}
		s.Key = key
		if err := s.Launch(); err != nil {
			return err
		}
		c.sidecars = append(c.sidecars, s)
		if _, err := s.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stopSidecars kills the sidecars.
func (c *cluster) stopSidecars() {
	for _, s := range c.sidecars {
		s.Kill()
	}
}

// close stops everything that was started.
func (c *cluster) close() error {
	c.stopSidecars()
	problems := []error{c.proxy.close()}
	for _, n := range c.nodes {
		problems = append(problems, n.db.Close())
	}
	return errors.Join(problems...)
}

// conflicts adds up the servers' conflict counters over the nodes, by the columns of the report.
func (c *cluster) conflicts(ctx context.Context) (sums map[string]int, err error) {
	query := "SELECT 'conflicts', COUNT_CONFLICTS_DETECTED FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid"
	if c.galera {
		query = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_local_cert_failures', 'wsrep_local_bf_aborts', 'Innodb_deadlocks')"
	}
	columns := map[string]string{"conflicts": "certification", "wsrep_local_cert_failures": "certification", "wsrep_local_bf_aborts": "aborts", "innodb_deadlocks": "deadlocks"}
	sums = map[string]int{}
	for _, n := range c.nodes {
		err := n.each(ctx, query, func(name string, value int) { sums[columns[strings.ToLower(name)]] += value })
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// each reads rows of a name and a number.
func (n *node) each(ctx context.Context, query string, do func(name string, value int)) error {
	rows, err := n.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		var name string
		var value int
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		do(name, value)
	}
	return rows.Err()
}

// execute runs statements on the first node, as the site's PHP would.
func (c *cluster) execute(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := c.nodes[0].db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return c.sync(ctx)
}

// sync waits until every node has applied all commits.
func (c *cluster) sync(ctx context.Context) error {
	_, err := c.counts(ctx, "SELECT COUNT(*) FROM wp_latepoint_settings")
	return err
}

// counts returns the number that a query returns on each node.
func (c *cluster) counts(ctx context.Context, query string, args ...any) ([]int, error) {
	numbers := make([]int, len(c.nodes))
	for i, n := range c.nodes {
		if err := n.db.QueryRowContext(ctx, query, args...).Scan(&numbers[i]); err != nil {
			return nil, fmt.Errorf("node %s: %s: %w", n.name, query, err)
		}
	}
	return numbers, nil
}
