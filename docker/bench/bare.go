package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/wpdb"
)

const (
	sampled     = 40 // requests whose statements are recorded
	connections = 10 // as many as the server opens
)

// statement is one that the server runs for a request.
type statement struct {
	text  string
	args  []any
	write bool
}

// bare returns a function that runs the server's statements for the n-th request, without the server: in
// one transaction if some of them write.
func bare(ctx context.Context, dsn, key string, next draw) (run func(context.Context, int) error, end func() error, err error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, nil, err
	}
	config.InterpolateParams = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, nil, err
	}
	requests, err := record(ctx, connector, key, next)
	if err != nil {
		return nil, nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return func(ctx context.Context, n int) error { return replay(ctx, pool, requests[n%len(requests)]) }, pool.Close, nil
}

// record serves some requests in this process, and returns the statements of each.
func record(ctx context.Context, connector driver.Connector, key string, next draw) (requests [][]statement, err error) {
	var seen []statement
	pool := sql.OpenDB(fixtures.Tap{Connector: connector, See: func(text string, args []any) error {
		verb, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		seen = append(seen, statement{text, args, verb == "INSERT" || verb == "UPDATE" || verb == "DELETE" || verb == "REPLACE"})
		return nil
	}})
	defer func() { err = errors.Join(err, pool.Close()) }()
	db := wpdb.New(pool, "wp_")
	handler := handlers.New(session.NewPlatform(db, time.Now), keys.NewStore(db, time.Now, rand.Reader), time.Now, slog.New(slog.DiscardHandler),
		handlers.Options{BasePaths: []string{"/v1"}, QueryParameter: "api_key", RequestTimeout: time.Minute})
	if _, err := serve(ctx, handler, key, get("/status")); err != nil { // reads the schema
		return nil, err
	}
	for n := range sampled {
		r, err := next(n)
		if errors.Is(err, errNoMore) {
			break
		}
		if err != nil {
			return nil, err
		}
		seen = nil
		if taken, err := serve(ctx, handler, key, r); err != nil {
			return nil, err
		} else if !taken {
			requests = append(requests, seen)
		}
	}
	if len(requests) == 0 {
		return nil, errors.New("no request succeeded whose statements could be recorded")
	}
	return requests, nil
}

// serve serves a request, and reports whether the requested slot was taken.
func serve(ctx context.Context, handler http.Handler, key string, r request) (taken bool, err error) {
	content, err := r.content()
	if err != nil {
		return false, err
	}
	request := httptest.NewRequestWithContext(ctx, r.method, "/v1"+r.path, bytes.NewReader(content))
	request.Header.Set("X-Api-Key", key)
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return judge(r, answer{status: recorder.Code, body: recorder.Body.Bytes()})
}

// replay runs the statements of a request.
func replay(ctx context.Context, pool *sql.DB, statements []statement) error {
	var in interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	} = pool
	commit := func() error { return nil }
	for _, s := range statements {
		if s.write {
			tx, err := pool.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // after COMMIT it does nothing
			in, commit = tx, tx.Commit
			break
		}
	}
	for _, s := range statements {
		if s.write {
			if _, err := in.ExecContext(ctx, s.text, fresh(s.args)...); err != nil {
				return fmt.Errorf("%.200s: %w", s.text, err)
			}
			continue
		}
		rows, err := in.QueryContext(ctx, s.text, s.args...)
		if err != nil {
			return fmt.Errorf("%.200s: %w", s.text, err)
		}
		if err := drain(rows); err != nil {
			return err
		}
	}
	return commit()
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// fresh returns arguments with new UUIDs, which must be unique.
func fresh(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		if text, ok := arg.(string); ok && uuid.MatchString(text) {
			args[i] = fmt.Sprintf("%s-%012x", text[:23], mathrand.Int64N(1<<48))
		}
	}
	return args
}

// drain reads rows to their end.
func drain(rows *sql.Rows) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, targets := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
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
