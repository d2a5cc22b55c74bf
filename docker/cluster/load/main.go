// Command load checks that several sidecars on one cluster assign a slot, an e-mail address and an
// Idempotency-Key only once, whichever nodes requests reach.
//
//	load -bookside PATH -folder PATH -nodes /tmp/x/a.sock,/tmp/x/b.sock
//
// It starts a sidecar on each node and one behind a round-robin proxy, sends competing requests to them at
// the same time, and compares the responses and the rows on every node with what was available. It also
// follows the changes at each sidecar, and receives their webhooks. With one node it only measures how many
// bookings are created per second. The nodes belong to a MariaDB Galera Cluster, or to MySQL Group
// Replication with several primaries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/bookside/bookside/docker/changes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1) //nolint:gocritic // nothing is left for stop to do
	}
}

func run(ctx context.Context) (err error) {
	program := flag.String("bookside", "", "path of the program to test")
	folder := flag.String("folder", ".", "directory for the sidecars' logs")
	sockets := flag.String("nodes", "", "sockets of the nodes, separated by commas")
	database := flag.String("database", "site", "name of the site's database")
	pairs := flag.Int("pairs", 200, "contests of two requests")
	storms := flag.Int("storms", 20, "contests of many requests")
	size := flag.Int("size", 60, "requests in each storm")
	changing := flag.Duration("changes", 20*time.Second, "how long changes are made that are followed")
	creates := flag.Int("creates", 300, "bookings to create for each measurement")
	flag.Parse()

	c, err := openCluster(ctx, strings.Split(*sockets, ","), *database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.startSidecars(ctx, *program, *folder); err != nil {
		return err
	}
	l, err := newTrial(ctx, c)
	if err != nil {
		return err
	}
	if len(c.nodes) > 1 {
		if err := l.contests(ctx, *pairs, *storms, *size); err != nil {
			return err
		}
		if err := l.measure(ctx, "changes and webhooks", func() error { return l.changes(ctx, *changing) }); err != nil {
			return err
		}
	}
	if err := l.throughput(ctx, *creates); err != nil {
		return err
	}
	if len(c.nodes) > 1 {
		if err := l.compareNodes(ctx); err != nil {
			return err
		}
	}
	return l.report()
}

// changes makes changes that are followed at each sidecar.
func (l *trial) changes(ctx context.Context, duration time.Duration) (err error) {
	l.now().facts, err = changes.Run(ctx, l.sidecars, l.nodes[0].db, &l.now().Tally, duration, func(context.Context) error { return nil })
	return err
}
