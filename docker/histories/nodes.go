package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/docker/load"
)

// node is a MariaDB server: the only one, or one of a Galera cluster.
type node struct {
	load.MariaDB
	*trial
	number  int
	site    *sql.DB // its connections see earlier commits of other nodes
	witness *sql.DB
}

// nodeNames are those of nodes, by their number.
var nodeNames = []string{"a", "b", "c", "d", "e"}

// space is the network of the node of a cluster, in which it has the address.
func (n *node) space() string   { return n.spaces() + n.Name }
func (n *node) address() string { return fmt.Sprint("10.88.0.", n.number+1) }

// newNodes returns nodes that startNodes starts.
func (t *trial) newNodes(number int) {
	var addresses []string
	for i := range number {
		n := &node{trial: t, number: i}
		n.Name, n.Log, n.Ended = nodeNames[i], filepath.Join(t.folder, "node-"+nodeNames[i]+".log"), t.nodeEnded
		n.Folder = filepath.Join(t.folder, n.Name)
		n.Options = []string{"--innodb-flush-log-at-trx-commit=1"} // otherwise Galera loses acknowledged commits
		if t.root != "" {
			n.Prefix = []string{"chroot", t.root}
		}
		addresses = append(addresses, n.address())
		t.nodes = append(t.nodes, n)
	}
	if number == 1 {
		return
	}
	for _, n := range t.nodes {
		n.Namespace = []string{"ip", "netns", "exec", n.space()}
		n.Options = append(n.Options, "--wsrep-on=ON", "--wsrep-provider="+t.galera, "--wsrep-cluster-name=histories", "--wsrep-cluster-address=gcomm://"+strings.Join(addresses, ","),
			"--wsrep-node-name="+n.Name, "--wsrep-node-address="+n.address(), "--wsrep-sst-method=rsync", "--wsrep-slave-threads=2",
			fmt.Sprintf("--wsrep-provider-options=gmcast.listen_addr=tcp://%s:4567;ist.recv_addr=%s:4568;gcache.size=64M", n.address(), n.address()),
			"--binlog-format=ROW", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2")
	}
}

var recoveredAt = regexp.MustCompile(`WSREP: Recovered position: (\S+:(-?\d+))`)

// recovered returns the position of a killed cluster node, found as the service's galera_recovery does.
func (n *node) recovered(ctx context.Context) (position string, number int, err error) {
	output, err := load.Run(ctx, n.Command("--wsrep-recover")...)
	if err != nil {
		return "", 0, err
	}
	found := recoveredAt.FindStringSubmatch(output)
	if found == nil {
		return "", -1, nil // an interrupted copy
	}
	number, err = strconv.Atoi(found[2])
	return found[1], number, err
}

// again restarts a killed node; a cluster's node as its service does.
func (n *node) again(ctx context.Context) error {
	if len(n.nodes) == 1 {
		return n.Launch()
	}
	position, _, err := n.recovered(ctx)
	if err != nil {
		return err
	}
	if position == "" {
		return n.Launch()
	}
	return n.Launch("--wsrep-start-position=" + position)
}

// allAgain starts a cluster whose nodes were all killed, beginning with the most advanced one.
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
	state, err := os.ReadFile(n.Path("data/grastate.dat"))
	if err != nil {
		return err
	}
	state = []byte(strings.Replace(string(state), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1))
	if err := os.WriteFile(n.Path("data/grastate.dat"), state, 0o600); err != nil {
		return err
	}
	position, _, err := n.recovered(ctx)
	if err != nil {
		return err
	}
	if err := n.Launch("--wsrep-new-cluster", "--wsrep-start-position="+position); err != nil {
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

// wait waits until a node serves, and restarts it if it gives up meanwhile.
func (n *node) wait(ctx context.Context) error {
	for end := time.Now().Add(3 * time.Minute); !n.ready(ctx); time.Sleep(50 * time.Millisecond) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("node %s does not serve:\n%s", n.Name, n.Tail())
		case !n.Alive():
			if err := n.again(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// connect opens the pools of a node.
func (n *node) connect() (err error) {
	var session map[string]string
	if len(n.nodes) > 1 {
		session = map[string]string{"wsrep_sync_wait": "7"}
	}
	var other error
	n.site, err = load.Open(n.DSN("site"), session)
	n.witness, other = load.Open(n.DSN(""), nil)
	return errors.Join(err, other)
}

// spaces is the prefix of the names of the cluster's networks.
func (t *trial) spaces() string { return fmt.Sprintf("bookside-%d-", os.Getpid()) }

// startNodes starts the nodes with the sample site.
func (t *trial) startNodes(ctx context.Context) error {
	if len(t.nodes) > 1 {
		if err := t.startNetwork(ctx); err != nil {
			return err
		}
	}
	for i, n := range t.nodes {
		if err := errors.Join(n.Install(ctx, i > 0), n.connect()); err != nil {
			return err
		}
		var more []string
		if i == 0 && len(t.nodes) > 1 {
			more = []string{"--wsrep-new-cluster"}
		}
		if err := n.Launch(more...); err != nil {
			return err
		}
		if err := n.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startNetwork connects the nodes with a switch.
func (t *trial) startNetwork(ctx context.Context) error {
	hub := t.spaces() + "switch"
	commands := []string{"netns add " + hub, "-n " + hub + " link add hub type bridge", "-n " + hub + " link set hub up"}
	for _, n := range t.nodes {
		commands = append(commands, "netns add "+n.space(), fmt.Sprintf("-n %s link add name %s type veth peer name eth0 netns %s", hub, n.Name, n.space()),
			fmt.Sprintf("-n %s link set dev %s master hub up", hub, n.Name), fmt.Sprintf("-n %s addr add %s/24 dev eth0", n.space(), n.address()),
			fmt.Sprintf("-n %s link set eth0 up", n.space()), fmt.Sprintf("-n %s link set lo up", n.space()))
	}
	for _, command := range commands {
		if _, err := load.Run(ctx, append([]string{"ip"}, strings.Fields(command)...)...); err != nil {
			return err
		}
	}
	return nil
}

// cut disconnects a node for a while; traffic meanwhile is lost.
func (n *node) cut(ctx context.Context, d time.Duration) error {
	_, err := load.Run(ctx, "ip", "-n", n.spaces()+"switch", "link", "set", "dev", n.Name, "nomaster")
	time.Sleep(d)
	_, other := load.Run(ctx, "ip", "-n", n.spaces()+"switch", "link", "set", "dev", n.Name, "master", "hub")
	return errors.Join(err, other)
}

// stopNodes kills the nodes and removes their networks.
func (t *trial) stopNodes() {
	for _, n := range t.nodes {
		n.Kill()
	}
	if len(t.nodes) > 1 {
		for _, n := range t.nodes {
			_, _ = load.Run(context.Background(), "ip", "netns", "del", n.space())
		}
		_, _ = load.Run(context.Background(), "ip", "netns", "del", t.spaces()+"switch")
	}
}
