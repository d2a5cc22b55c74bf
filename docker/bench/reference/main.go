// Command reference serves the yardstick of the load recipe: a handler that
// checks the key as every route does and then reads one row by primary key.
//
// It takes BOOKSIDE_DB__DSN, BOOKSIDE_DB__PREFIX and BOOKSIDE_SERVER__LISTEN
// from the environment, as the program itself does.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"bookside/adapter"
	"bookside/handlers"
	"bookside/wpdb"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	db, err := wpdb.Open(ctx, wpdb.Config{DSN: os.Getenv("BOOKSIDE_DB__DSN"), Prefix: os.Getenv("BOOKSIDE_DB__PREFIX")})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	one := statement("SELECT name FROM " + db.Name(wpdb.Services) + " WHERE id = 1")
	handler := handlers.Reference(adapter.NewKeys(db, time.Now, rand.Reader), time.Now, slog.New(slog.NewJSONHandler(io.Discard, nil)),
		handlers.Options{QueryParameter: "api_key", RequestTimeout: 15 * time.Second},
		func(ctx context.Context) (any, error) {
			name, _, err := wpdb.One(ctx, db, "read service", one, wpdb.Value[string])
			return map[string]string{"name": name}, err
		})
	server := http.Server{Addr: os.Getenv("BOOKSIDE_SERVER__LISTEN"), Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// statement is SQL text as it is.
type statement string

// ToSql gives the text; there are no parameters.
func (s statement) ToSql() (string, []any, error) { return string(s), nil, nil }
