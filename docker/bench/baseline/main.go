// Command baseline serves the route with which the benchmark compares: /bench
// authenticates the key as every route does and then reads one row by primary key.
//
// It takes BOOKSIDE_DB__DSN, BOOKSIDE_DB__PREFIX and BOOKSIDE_SERVER__LISTEN
// from the environment, logs a line per request to standard error and prints its
// address when it listens, as bookside does.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"bookside/adapter/keys"
	"bookside/handlers"
	"bookside/wpdb"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	db, err := wpdb.Open(ctx, wpdb.Config{DSN: os.Getenv("BOOKSIDE_DB__DSN"), Prefix: os.Getenv("BOOKSIDE_DB__PREFIX")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	one := statement("SELECT name FROM " + db.Name(wpdb.Services) + " WHERE id = 1")
	handler := handlers.Bench(keys.NewStore(db, time.Now, rand.Reader), time.Now, slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		handlers.Options{QueryParameter: "api_key", RequestTimeout: 15 * time.Second},
		func(ctx context.Context) (any, error) {
			name, found, err := wpdb.One(ctx, db, "read service", one, wpdb.Value[string])
			if err == nil && !found {
				err = errors.New("read service: there is no service 1")
			}
			return map[string]string{"name": name}, err
		})
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", os.Getenv("BOOKSIDE_SERVER__LISTEN"))
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}

// statement is an SQL statement without parameters.
type statement string

// ToSql returns the statement.
func (s statement) ToSql() (string, []any, error) { return string(s), nil, nil } //nolint:revive // the name is squirrel's
