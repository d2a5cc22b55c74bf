package main

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// cluster is the nodes of a database cluster and their sidecars.
type cluster struct {
	database string
	galera   bool // otherwise MySQL Group Replication, if there are several nodes
	nodes    []*node
	proxy    *proxy
	sidecars []*sidecar // one per node, then the one behind the proxy
	key      string
	program  string // under test
}

// node is a database server, reached by its socket.
type node struct {
	name, socket string
	db           *sql.DB
}

// sidecar is a running program under test.
type sidecar struct {
	name, url string
	process   *exec.Cmd
}

func openCluster(ctx context.Context, sockets []string, database string) (*cluster, error) {
	c := &cluster{database: database}
	var version string
	first := sql.OpenDB(connector(sockets[0], database, nil))
	if err := errors.Join(first.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version), first.Close()); err != nil {
		return nil, err
	}
	c.galera = strings.Contains(version, "MariaDB")
	for _, socket := range sockets {
		n := &node{name: strings.TrimSuffix(filepath.Base(socket), ".sock"), socket: socket}
		// Reads wait until the node has applied all commits of the others.
		switch {
		case len(sockets) == 1:
			n.db = sql.OpenDB(connector(socket, database, nil))
		case c.galera:
			n.db = sql.OpenDB(connector(socket, database, map[string]string{"wsrep_sync_wait": "7"}))
		default:
			n.db = sql.OpenDB(connector(socket, database, map[string]string{"group_replication_consistency": "'BEFORE'"}))
		}
		var flush int
		if err := n.db.QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit").Scan(&flush); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.name, err)
		}
		if flush != 1 && len(sockets) > 1 {
			return nil, fmt.Errorf("node %s loses what it has acknowledged: innodb_flush_log_at_trx_commit is %d, not 1", n.name, flush)
		}
		c.nodes = append(c.nodes, n)
	}
	var err error
	c.proxy, err = newProxy(ctx, sockets)
	return c, err
}

// connector connects to a node as root, without a password.
func connector(socket, database string, session map[string]string) driver.Connector {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName, config.InterpolateParams, config.Params = "root", "unix", socket, database, true, session
	c, err := mysql.NewConnector(config)
	if err != nil {
		panic(err) // only the names come from outside
	}
	return c
}

// dsn returns the environment variable for a sidecar with the DSN of an address.
func (c *cluster) dsn(network, address string) string {
	return "BOOKSIDE_DB__DSN=root@" + network + "(" + address + ")/" + c.database
}

// startSidecars creates a key and starts the sidecars. A single node has only one.
func (c *cluster) startSidecars(ctx context.Context, program, folder string) error {
	c.program = program
	key, err := c.run(ctx, "keys", "create", "--name", "cluster run", "--permissions", "read,write,delete,read_changes", "--expires", "1d", "--quiet")
	if err != nil {
		return err
	}
	c.key = key
	for _, n := range c.nodes {
		if err := c.startSidecar(ctx, program, folder, n.name, c.dsn("unix", n.socket)); err != nil {
			return err
		}
	}
	if len(c.nodes) == 1 {
		return nil
	}
	return c.startSidecar(ctx, program, folder, "proxy", c.dsn("tcp", c.proxy.address()))
}

// run runs a command of the program on the first node and returns what it prints.
func (c *cluster) run(ctx context.Context, args ...string) (output string, err error) {
	command := exec.CommandContext(ctx, c.program, args...)
	command.Env, command.Stderr = append(os.Environ(), c.dsn("unix", c.nodes[0].socket)), os.Stderr
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("bookside %s: %w", strings.Join(args[:2], " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (c *cluster) startSidecar(ctx context.Context, program, folder, name, dsn string) (err error) {
	log, err := os.Create(filepath.Join(folder, name+".sidecar.log")) //nolint:gosec // the folder is the caller's
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	command := exec.CommandContext(ctx, program, "serve")
	command.Env, command.Stderr = append(os.Environ(), dsn), log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			c.sidecars = append(c.sidecars, &sidecar{name: name, url: url, process: command})
			return nil
		}
	}
	return fmt.Errorf("the sidecar %s exited: %w; see %s", name, errors.Join(lines.Err(), command.Wait()), log.Name())
}

// stopSidecars kills the sidecars.
func (c *cluster) stopSidecars() error {
	var problems []error
	for _, s := range c.sidecars {
		problems = append(problems, s.process.Process.Kill())
		_ = s.process.Wait() // it was killed
	}
	c.sidecars = nil
	return errors.Join(problems...)
}

// close stops everything that was started.
func (c *cluster) close() error {
	problems := []error{c.stopSidecars(), c.proxy.close()}
	for _, n := range c.nodes {
		problems = append(problems, n.db.Close())
	}
	return errors.Join(problems...)
}

// counters are the servers' counters of conflicts, summed over the nodes.
type counters struct{ rejected, aborted, deadlocks int }

func (a counters) minus(b counters) counters {
	return counters{a.rejected - b.rejected, a.aborted - b.aborted, a.deadlocks - b.deadlocks}
}

func (c *cluster) counters(ctx context.Context) (sum counters, err error) {
	query := groupCounts
	if c.galera {
		query = galeraCounts
	}
	for _, n := range c.nodes {
		if err := n.add(ctx, query, &sum); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// Queries for the counters, as names and values.
const (
	galeraCounts = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_local_cert_failures', 'wsrep_local_bf_aborts', 'Innodb_deadlocks')"
	groupCounts  = "SELECT 'conflicts', COUNT_CONFLICTS_DETECTED FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid"
)

// add adds the node's counters to sum.
func (n *node) add(ctx context.Context, query string, sum *counters) error {
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
		switch strings.ToLower(name) {
		case "wsrep_local_bf_aborts":
			sum.aborted += value
		case "innodb_deadlocks":
			sum.deadlocks += value
		default:
			sum.rejected += value
		}
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
