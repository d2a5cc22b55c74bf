// Command attack has the attacking clients of docker/attack/run:
//
//	attack unfinished ADDRESS COUNT DURATION
//	attack greedy URL ORDINARY-KEY GREEDY-KEY COUNT DURATION < PATHS
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bookside/bookside/docker/load"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return errors.New("usage: attack unfinished ADDRESS COUNT DURATION, or attack greedy URL ORDINARY-KEY GREEDY-KEY COUNT DURATION")
	}
	count, err := strconv.Atoi(args[len(args)-2])
	if err != nil {
		return fmt.Errorf("COUNT: %w", err)
	}
	duration, err := time.ParseDuration(args[len(args)-1])
	if err != nil {
		return fmt.Errorf("DURATION: %w", err)
	}
	switch {
	case args[0] == "unfinished" && len(args) == 4:
		return unfinished(ctx, args[1], count, duration)
	case args[0] == "greedy" && len(args) == 6:
		return greedy(ctx, args[1], args[2], args[3], count, duration)
	}
	return fmt.Errorf("there is no attack %q with so many arguments", args[0])
}

// maxOpen is below the usual limit of open files per process.
const maxOpen = 10_000

// unfinished opens connections and sends header lines on each without ever completing the header.
func unfinished(ctx context.Context, address string, count int, duration time.Duration) error {
	sent := "GET /v1/status HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("a:\r\n", 4_500)
	conns := make([]net.Conn, count)
	for i := range conns {
		if i >= maxOpen {
			_ = conns[i-maxOpen].Close() // closed by the server, or about to be
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		conns[i] = conn
		_, _ = io.WriteString(conn, sent) // the server may have closed it
	}
	time.Sleep(duration)
	for _, conn := range conns {
		_ = conn.Close() // many are closed already
	}
	return nil
}

// greedy measures an ordinary client, which requests one booking after the other, alone and beside a key
// that sends many expensive requests at a time.
func greedy(ctx context.Context, url, ordinaryKey, greedyKey string, count int, duration time.Duration) error {
	var paths []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		paths = append(paths, lines.Text())
	}
	if len(paths) == 0 {
		return errors.New("no paths")
	}
	client := load.NewClient(url, ordinaryKey, 1)
	ordinary := func(ctx context.Context, n int) error {
		a, err := client.Send(ctx, load.Get(fmt.Sprintf("/v1/bookings/%d", 1001+n%1000)))
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("the ordinary client got %s", a)
		}
		return err
	}
	alone, err := load.Measure(ctx, 1, duration, ordinary)
	if err != nil {
		return err
	}
	attacker := load.NewClient(url, greedyKey, count)
	attack, stop := context.WithCancel(ctx)
	var requests sync.WaitGroup
	for n := range count {
		requests.Go(func() {
			for i := n; attack.Err() == nil; i++ {
				// Equal requests would share their statements. Any response will do.
				_, _ = attacker.Send(attack, load.Get(fmt.Sprintf("%s&per_page=%d", paths[i%len(paths)], 1+i%100)))
			}
		})
	}
	time.Sleep(time.Second)
	beside, err := load.Measure(ctx, 1, duration, ordinary)
	stop()
	requests.Wait()
	if err != nil {
		return err
	}
	fmt.Printf("a booking, alone and beside %d requests of another key: p50 %v and %v, p99 %v and %v (%.1f times), %d and %d requests\n", count,
		alone.Median, beside.Median, alone.P99, beside.P99, float64(beside.P99)/float64(alone.P99), alone.Requests, beside.Requests)
	return nil
}
