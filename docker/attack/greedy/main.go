// Command greedy measures an ordinary client of a server, alone and beside a key that sends expensive
// requests, many at a time:
//
//	greedy URL ORDINARY-KEY GREEDY-KEY COUNT DURATION < PATHS
//
// The ordinary client asks for one booking after the other. The lines of the standard input are the
// paths of the expensive requests.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("usage: greedy URL ORDINARY-KEY GREEDY-KEY COUNT DURATION")
	}
	count, err := strconv.Atoi(args[3])
	if err != nil {
		return fmt.Errorf("COUNT: %w", err)
	}
	duration, err := time.ParseDuration(args[4])
	if err != nil {
		return fmt.Errorf("DURATION: %w", err)
	}
	var paths []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		paths = append(paths, lines.Text())
	}
	if len(paths) == 0 {
		return fmt.Errorf("no paths")
	}
	ordinary := client{args[0], args[1], http.DefaultClient}
	alone, err := ordinary.latencies(ctx, duration)
	if err != nil {
		return err
	}
	greedy := client{args[0], args[2], &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count}}}
	attack, stop := context.WithCancel(ctx)
	var requests sync.WaitGroup
	for n := range count {
		requests.Go(func() {
			for i := n; attack.Err() == nil; i++ {
				// Equal ones would share their statements.
				_, _ = greedy.get(attack, fmt.Sprintf("%s&per_page=%d", paths[i%len(paths)], 1+i%100))
			}
		})
	}
	time.Sleep(time.Second)
	beside, err := ordinary.latencies(ctx, duration)
	stop()
	requests.Wait()
	if err != nil {
		return err
	}
	fmt.Printf("a booking, alone and beside %d requests of another key: p50 %v and %v, p99 %v and %v (%.1f times), %d and %d requests\n", count,
		quantile(alone, 50), quantile(beside, 50), quantile(alone, 99), quantile(beside, 99),
		float64(quantile(beside, 99))/float64(quantile(alone, 99)), len(alone), len(beside))
	return nil
}

// client sends requests with a key.
type client struct {
	url, key string
	http     *http.Client
}

// latencies asks for bookings, one after the other, and returns how long each took, in ascending order.
func (c client) latencies(ctx context.Context, duration time.Duration) ([]time.Duration, error) {
	var all []time.Duration
	for end := time.Now().Add(duration); time.Now().Before(end); {
		began := time.Now()
		status, err := c.get(ctx, fmt.Sprintf("/v1/bookings/%d", 1001+len(all)%1000))
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("the ordinary client got the status %d", status)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all, nil
}

func (c client) get(ctx context.Context, path string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	request.Header.Set("X-API-Key", c.key)
	response, err := c.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// quantile returns one of sorted durations.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)].Round(10 * time.Microsecond)
}
