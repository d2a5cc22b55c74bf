// Command load proves what several sidecars on one cluster promise: a slot, an
// e-mail address and an Idempotency-Key are given away once, whichever nodes the
// requests reach.
//
//	load -bookside PATH -folder PATH -nodes /tmp/x/a.sock,/tmp/x/b.sock
//
// It starts a sidecar on each node and one behind a proxy that takes turns
// between the nodes, sends rival requests to them at the same time, and compares
// the answers and the rows on every node with what there was to give away. With
// one node it only measures how many bookings a second are made. Nodes are of
// MariaDB Galera Cluster, or of MySQL Group Replication with several primaries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
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
	program := flag.String("bookside", "", "the program under test")
	folder := flag.String("folder", ".", "where the sidecars' logs are written")
	sockets := flag.String("nodes", "", "sockets of the nodes, separated by commas")
	database := flag.String("database", "site", "name of the site's database")
	pairs := flag.Int("pairs", 200, "contests of two requests")
	storms := flag.Int("storms", 20, "contests of many requests")
	size := flag.Int("size", 60, "requests in each storm")
	creates := flag.Int("creates", 300, "bookings made for each measurement")
	flag.Parse()

	c, err := openCluster(ctx, strings.Split(*sockets, ","), *database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.startSidecars(ctx, *program, *folder); err != nil {
		return err
	}
	l, err := newLoad(ctx, c)
	if err != nil {
		return err
	}
	if len(c.nodes) > 1 {
		if err := l.contests(ctx, *pairs, *storms, *size); err != nil {
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
	fmt.Print(l.report())
	if l.problems > 0 {
		return fmt.Errorf("%d problems", l.problems)
	}
	return nil
}
