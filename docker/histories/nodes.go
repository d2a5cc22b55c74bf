package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// node is a MariaDB server: the only one, or one of a Galera cluster.
type node struct {
	process
	*trial
	number  int
	site    *sql.DB // its connections see what other nodes have committed before
	witness *sql.DB
}

// nodeNames are those of nodes, by their number.
var nodeNames = []string{"a", "b", "c", "d", "e"}

// Where the nodes of a cluster are, each in a network of its own.
func (n *node) space() string        { return n.spaces() + n.name }
func (n *node) address() string      { return fmt.Sprint("10.88.0.", n.number+1) }
func (n *node) path(f string) string { return filepath.Join(n.folder, n.name, f) }
func (n *node) socket() string       { return n.path("socket") }

// within returns a command that runs where the nodes are installed.
func (t *trial) within(command ...string) []string {
	if t.root != "" {
		return append([]string{"chroot", t.root}, command...)
	}
	return command
}

// run runs a command to its end and returns what it prints.
func run(ctx context.Context, command ...string) (string, error) {
	output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, output)
	}
	return string(output), nil
}

// options returns the options of mariadbd.
func (n *node) options() []string {
	options := []string{
		"--no-defaults", "--user=mysql", "--datadir=" + n.path("data"), "--socket=" + n.socket(), "--pid-file=" + n.path("pid"), "--tmpdir=" + n.path(""),
		"--skip-networking", "--skip-log-bin", "--max-connections=300",
		"--innodb-flush-log-at-trx-commit=1", // Galera loses what it has acknowledged otherwise
	}
	if len(n.nodes) == 1 {
		return options
	}
	var all []string
	for _, m := range n.nodes {
		all = append(all, m.address())
	}
	return append(options, "--wsrep-on=ON", "--wsrep-provider="+n.galera, "--wsrep-cluster-name=histories", "--wsrep-cluster-address=gcomm://"+strings.Join(all, ","),
		"--wsrep-node-name="+n.name, "--wsrep-node-address="+n.address(), "--wsrep-sst-method=rsync", "--wsrep-slave-threads=2",
		fmt.Sprintf("--wsrep-provider-options=gmcast.listen_addr=tcp://%s:4567;ist.recv_addr=%s:4568;gcache.size=64M", n.address(), n.address()),
		"--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2")
}

// install creates the data of the only or first node; others copy it.
func (n *node) install(ctx context.Context) error {
	if err := os.Mkdir(n.path(""), 0o755); err != nil { //nolint:gosec // the servers connect to the socket in it
		return err
	}
	if n.number == 0 {
		_, err := run(ctx, n.within("mariadb-install-db", "--no-defaults", "--datadir="+n.path("data"), "--skip-test-db", "--force", "--auth-root-authentication-method=normal")...)
		if err != nil {
			return err
		}
	} else if err := os.Mkdir(n.path("data"), 0o700); err != nil {
		return err
	}
	_, err := run(ctx, n.within("chown", "-R", "mysql:", n.path(""))...)
	return err
}

// launch starts mariadbd with more options.
func (n *node) launch(more ...string) error {
	command := n.within(append(append([]string{"mariadbd"}, n.options()...), more...)...)
	if len(n.nodes) > 1 {
		command = append([]string{"ip", "netns", "exec", n.space()}, command...)
	}
	return n.start(nil, command...)
}

var recoveredAt = regexp.MustCompile(`WSREP: Recovered position: (\S+:(-?\d+))`)

// recovered returns how far a node of a cluster had come when it was killed, as the service's galera_recovery
// finds it out.
func (n *node) recovered(ctx context.Context) (position string, number int, err error) {
	output, err := run(ctx, n.within(append(append([]string{"mariadbd"}, n.options()...), "--wsrep-recover")...)...)
	if err != nil {
		return "", 0, err
	}
	found := recoveredAt.FindStringSubmatch(output)
	if found == nil {
		return "", -1, nil // a copy that was interrupted
	}
	number, err = strconv.Atoi(found[2])
	return found[1], number, err
}

// again starts a node that was killed, and one of a cluster as its service does.
func (n *node) again(ctx context.Context) error {
	if len(n.nodes) == 1 {
		return n.launch()
	}
	position, _, err := n.recovered(ctx)
	if err != nil {
		return err
	}
	if position == "" {
		return n.launch()
	}
	return n.launch("--wsrep-start-position=" + position)
}

// allAgain starts a cluster of which all nodes were killed, with the one that had come farthest.
func (t *trial) allAgain(ctx context.Context) error {
	first, farthest := 0, -2
	for i, n := range t.nodes {
		_, number, err := n.recovered(ctx)
		if err != nil {
			return err
		}
		if number > farthest {
			first, farthest = i, number
		}
	}
	n := t.nodes[first]
	state, err := os.ReadFile(n.path("data/grastate.dat"))
	if err != nil {
		return err
	}
	state = []byte(strings.Replace(string(state), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1))
	if err := os.WriteFile(n.path("data/grastate.dat"), state, 0o600); err != nil {
		return err
	}
	position, _, err := n.recovered(ctx)
	if err != nil {
		return err
	}
	if err := n.launch("--wsrep-new-cluster", "--wsrep-start-position="+position); err != nil {
		return err
	}
	if err := n.wait(ctx); err != nil {
		return err
	}
	for i, m := range t.nodes {
		if i != first {
			if err := m.again(ctx); err != nil {
				return err
			}
			if err := m.wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// ready reports whether a node serves.
func (n *node) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if len(n.nodes) == 1 {
		return n.witness.PingContext(ctx) == nil
	}
	var name, state string
	err := n.witness.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_local_state_comment'").Scan(&name, &state)
	return err == nil && state == "Synced"
}

// wait waits until a node serves, and starts it again if it gives up meanwhile.
func (n *node) wait(ctx context.Context) error {
	for end := time.Now().Add(3 * time.Minute); !n.ready(ctx); time.Sleep(50 * time.Millisecond) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("node %s does not serve:\n%s", n.name, n.tail())
		case !n.alive():
			if err := n.again(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// connect opens the pools of a node.
func (n *node) connect() error {
	open := func(database string, session map[string]string) (*sql.DB, error) {
		config := mysql.NewConfig()
		config.User, config.Net, config.Addr, config.DBName, config.InterpolateParams = "root", "unix", n.socket(), database, true
		config.Timeout, config.ReadTimeout, config.Params = 5*time.Second, 20*time.Second, session
		config.Logger = quiet{}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(connector), nil
	}
	var session map[string]string
	if len(n.nodes) > 1 {
		session = map[string]string{"wsrep_sync_wait": "7"}
	}
	var err, other error
	n.site, err = open("site", session)
	n.witness, other = open("", nil)
	return errors.Join(err, other)
}

// quiet keeps the driver from printing that connections broke.
type quiet struct{}

func (quiet) Print(...any) {}

// spaces is how the names of the cluster's networks begin.
func (t *trial) spaces() string { return fmt.Sprintf("bookside-%d-", os.Getpid()) }

// startNodes starts the nodes with the sample site.
func (t *trial) startNodes(ctx context.Context) error {
	if len(t.nodes) > 1 {
		if err := t.startNetwork(ctx); err != nil {
			return err
		}
	}
	for i, n := range t.nodes {
		if err := errors.Join(n.install(ctx), n.connect()); err != nil {
			return err
		}
		var more []string
		if i == 0 && len(t.nodes) > 1 {
			more = []string{"--wsrep-new-cluster"}
		}
		if err := n.launch(more...); err != nil {
			return err
		}
		if err := n.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startNetwork connects the nodes by a switch.
func (t *trial) startNetwork(ctx context.Context) error {
	hub := t.spaces() + "switch"
	commands := []string{"netns add " + hub, "-n " + hub + " link add hub type bridge", "-n " + hub + " link set hub up"}
	for _, n := range t.nodes {
		commands = append(commands, "netns add "+n.space(), fmt.Sprintf("-n %s link add name %s type veth peer name eth0 netns %s", hub, n.name, n.space()),
			fmt.Sprintf("-n %s link set dev %s master hub up", hub, n.name), fmt.Sprintf("-n %s addr add %s/24 dev eth0", n.space(), n.address()),
			fmt.Sprintf("-n %s link set eth0 up", n.space()), fmt.Sprintf("-n %s link set lo up", n.space()))
	}
	for _, command := range commands {
		if _, err := run(ctx, append([]string{"ip"}, strings.Fields(command)...)...); err != nil {
			return err
		}
	}
	return nil
}

// cut takes a node off the switch for a while; what is sent meanwhile is lost.
func (n *node) cut(ctx context.Context, d time.Duration) error {
	_, err := run(ctx, "ip", "-n", n.spaces()+"switch", "link", "set", "dev", n.name, "nomaster")
	time.Sleep(d)
	_, other := run(ctx, "ip", "-n", n.spaces()+"switch", "link", "set", "dev", n.name, "master", "hub")
	return errors.Join(err, other)
}

// stopNodes kills the nodes and removes their networks.
func (t *trial) stopNodes() {
	for _, n := range t.nodes {
		n.kill()
	}
	if len(t.nodes) > 1 {
		for _, n := range t.nodes {
			_, _ = run(context.Background(), "ip", "netns", "del", n.space())
		}
		_, _ = run(context.Background(), "ip", "netns", "del", t.spaces()+"switch")
	}
}

// freePort finds a port that no outgoing connection takes.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	for range 100 {
		port := 20000 + rand.IntN(10000)
		listener, err := config.Listen(ctx, "tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no port is free")
}
