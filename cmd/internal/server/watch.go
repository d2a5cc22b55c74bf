package server

import (
	"context"
	"fmt"
	"time"

	"github.com/bookside/bookside/wpdb"
)

// watchInterval is how often to check for changes under a running server.
const watchInterval = 5 * time.Second

// every calls look at each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, look func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			look()
		}
	}
}

// addLostColumns adds columns that our own tables lose while the program serves, for example when a dump of
// an earlier version is loaded, until ctx ends. It waits for a second check, so that a table is not changed
// between its definition and its rows in a dump being loaded. Lost tables are different: an empty table of
// keys would hide the loss.
func (s *Server) addLostColumns(ctx context.Context, db *wpdb.DB) {
	lacked, told := false, ""
	every(ctx, watchInterval, func() {
		u, err := db.Unreadable(ctx, wpdb.OwnTables())
		if err != nil {
			return // the code that needs the database reports it
		}
		lacking := len(u.Lacking) > 0
		if !lacking {
			told = ""
		}
		if lacking && lacked {
			db.ForgetSchema() // it may be outdated
			done, err := db.MigrateOwnTables(ctx)
			s.logMigration(done)
			if text := fmt.Sprint(err); err != nil && ctx.Err() == nil && text != told {
				told = text
				s.Log.Error("tables of Bookside lack columns, and requests get 503: run bookside migrate as a user of the database who may add them", "error", err)
			}
		}
		lacked = lacking
	})
}

func (s *Server) logMigration(done []string) {
	for _, statement := range done {
		s.Log.Info("a table of Bookside was brought to this version", "statement", statement)
	}
}

// watchWrites checks for write privileges that the database user has lost, until ctx ends: every minute,
// and every few seconds from a refused statement until none would be refused. The report shows the result.
func (s *Server) watchWrites(ctx context.Context, db *wpdb.DB) {
	told, since := "", schemaAge
	every(ctx, watchInterval, func() {
		if since += watchInterval; since < schemaAge && !db.WriteRefused() {
			return
		}
		if since = 0; db.LookForRefusedWrites(ctx) != nil {
			return // the code that needs the database reports it
		}
		text := db.RefusedWrites().In(db)
		switch text {
		case told:
		case "":
			s.Log.Info("the database user may write again")
		default:
			s.Log.Warn("requests that write are refused: the database user lacks privileges; see bookside check", "lacking", text)
		}
		told = text
	})
}
