// Command changes makes changes through two servers and by plain SQL, and receives their webhooks, while
// the database and the servers are killed again and again (docker/changes explains what it compares):
//
//	go run ./docker/endurance/changes                   ten minutes
//	go run ./docker/endurance/changes -duration 1m
//
// It needs MariaDB. After a failure the logs are kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/bookside/bookside/docker/changes"
	"github.com/bookside/bookside/docker/load"
	"github.com/bookside/bookside/fixtures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "changes:", err)
		os.Exit(1) //nolint:gocritic // nothing is left for stop to do
	}
}

func run(ctx context.Context) (err error) {
	duration := flag.Duration("duration", 10*time.Minute, "of the changes")
	every := flag.Duration("every", 10*time.Second, "between two kills")
	flag.Parse()
	folder, err := load.NewFolder()
	if err != nil {
		return err
	}
	defer func() { err = folder.Remove(err) }()
	program, err := folder.Build(ctx)
	if err != nil {
		return err
	}
	var tally load.Tally
	ended := func(text string) { tally.Problem("%s", text) }
	database, err := folder.Database(ctx)
	if err != nil {
		return err
	}
	defer database.Kill()
	database.Ended = ended
	dsn, db, err := load.CreateDatabase(ctx, database.DSN(""), "site")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := fixtures.Load(ctx, db, fixtures.Small(time.Now())); err != nil {
		return err
	}
	var servers []*load.Server
	key := ""
	for i := range 2 {
		s, err := load.NewServer(ctx, program, fmt.Sprint("server ", i+1), filepath.Join(string(folder), fmt.Sprintf("server-%d.log", i+1)),
			"BOOKSIDE_DB__DSN="+dsn, "BOOKSIDE_CHANGES__INTERVAL=1s", "BOOKSIDE_DB__CONNECT_WAIT=1m", "BOOKSIDE_LOG__LEVEL=warn")
		if err != nil {
			return err
		}
		if key == "" {
			key, err = s.NewKey(ctx, "changes run", "read,write,delete,read_changes")
		}
		if err := errors.Join(err, s.Launch()); err != nil {
			return err
		}
		defer s.Kill()
		s.Key, s.Ended = key, ended
		if _, err := s.Wait(ctx); err != nil {
			return err
		}
		servers = append(servers, s)
	}
	kills := 0
	summary, err := changes.Run(ctx, servers, db, &tally, *duration, func(until context.Context) error {
		for {
			select {
			case <-until.Done():
				return ctx.Err()
			case <-time.After(*every):
			}
			var err error
			if kills++; kills%3 == 1 {
				database.Kill()
				err = database.Launch()
			} else {
				s := servers[kills%2]
				s.Kill()
				err = s.Launch()
			}
			if err != nil {
				return err
			}
		}
	})
	if err == nil {
		fmt.Println(summary)
		fmt.Printf("killed: %d times, every third time the database\n", kills)
	}
	return errors.Join(err, tally.Err())
}
