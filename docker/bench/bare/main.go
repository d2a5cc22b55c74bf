// Command bare measures the database alone: it finds out which statements the
// server runs for the paths in a file, and runs them by the driver, without a
// server, as often as 16 clients can. It prints requests per second, and the median
// and 99th percentile in microseconds.
//
// It takes BOOKSIDE_DB__DSN and BOOKSIDE_DB__PREFIX from the environment:
//
//	go run ./docker/bench/bare -duration 5s FILE KEY
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"bookside/adapter/keys"
	"bookside/adapter/session"
	"bookside/fixtures"
	"bookside/handlers"
	"bookside/wpdb"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

const (
	clients     = 16
	connections = 10 // as many as the server opens
)

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("bare", flag.ContinueOnError)
	duration := flags.Duration("duration", 5*time.Second, "how long to measure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return fmt.Errorf("name a file with paths, and a key")
	}
	paths, err := lines(flags.Arg(0))
	if err != nil {
		return err
	}
	config, err := mysql.ParseDSN(os.Getenv("BOOKSIDE_DB__DSN"))
	if err != nil {
		return err
	}
	config.InterpolateParams = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	requests, err := record(ctx, connector, paths, flags.Arg(1))
	if err != nil {
		return err
	}
	pool := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	took, err := measure(ctx, pool, requests, *duration)
	if err != nil {
		return err
	}
	slices.Sort(took)
	at := func(percent int) int64 { return took[len(took)*percent/100].Microseconds() }
	fmt.Printf("%.1f %d %d\n", float64(len(took))/duration.Seconds(), at(50), at(99))
	return nil
}

func lines(path string) (found []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		found = append(found, scanner.Text())
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no paths", path)
	}
	return found, scanner.Err()
}

// statement is one that the server ran for a request.
type statement struct {
	text string
	args []any
}

// record serves each path once and returns the statements of each.
func record(ctx context.Context, connector driver.Connector, paths []string, key string) (requests [][]statement, err error) {
	var seen []statement
	pool := sql.OpenDB(fixtures.Tap{Connector: connector, See: func(text string, args []any) error {
		seen = append(seen, statement{text, args})
		return nil
	}})
	defer func() { err = errors.Join(err, pool.Close()) }()
	db := wpdb.New(pool, os.Getenv("BOOKSIDE_DB__PREFIX"))
	handler := handlers.New(session.NewPlatform(db, time.Now), keys.NewStore(db, time.Now, rand.Reader), time.Now, slog.New(slog.DiscardHandler),
		handlers.Options{BasePaths: []string{"/v1"}, QueryParameter: "api_key", RequestTimeout: time.Minute})
	serve := func(path string) error {
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		request.Header.Set("X-Api-Key", key)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusOK {
			return fmt.Errorf("%s is answered with %d", path, recorder.Code)
		}
		return nil
	}
	if err := serve(paths[0]); err != nil { // reads the schema
		return nil, err
	}
	requests = make([][]statement, len(paths))
	for i, path := range paths {
		seen = nil
		if err := serve(path); err != nil {
			return nil, err
		}
		requests[i] = seen
	}
	return requests, nil
}

// measure runs the statements of one request after the other with many clients,
// and returns how long each request took.
func measure(ctx context.Context, pool *sql.DB, requests [][]statement, duration time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := time.Now().Add(duration)
	var next atomic.Int64
	var all sync.WaitGroup
	took := make([][]time.Duration, clients)
	for client := range clients {
		all.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				begin := time.Now()
				for _, s := range requests[next.Add(1)%int64(len(requests))] {
					if err := drain(ctx, pool, s); err != nil {
						cancel(err)
						return
					}
				}
				took[client] = append(took[client], time.Since(begin))
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return slices.Concat(took...), nil
}

// drain runs a statement and reads its rows.
func drain(ctx context.Context, pool *sql.DB, s statement) (err error) {
	rows, err := pool.QueryContext(ctx, s.text, s.args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]sql.RawBytes, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
	}
	return rows.Err()
}
