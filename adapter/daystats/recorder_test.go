package daystats_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

var now = time.Date(2026, 11, 21, 9, 30, 20, 0, time.UTC)

// server is a server of a site that counts its requests.
type server struct {
	*daystats.Recorder
	*fixtures.Clock
	t   *testing.T
	log *fixtures.Buffer
}

func newServer(t *testing.T, database *fixtures.Database, clock *fixtures.Clock) server {
	t.Helper()
	s := server{Clock: clock, t: t, log: &fixtures.Buffer{}}
	s.Recorder = daystats.NewRecorder(wpdbtest.Open(t, database, 2), clock.Now, slog.New(slog.NewTextHandler(s.log, nil)))
	return s
}

// answer counts requests of a key.
func (s server) answer(n int, key int64, outcome daystats.Outcome) {
	for range n {
		s.Add(daystats.Request{Outcome: outcome, Took: 20 * time.Millisecond, KeyID: key})
	}
}

// shows fails the test unless the day has this many requests of key 7 and in total, with one outcome.
func (s server) shows(what string, key7, total int64) daystats.Day {
	s.t.Helper()
	day, err := s.Day(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	all := day.Total()
	if day.Keys[7] != key7 || all.Total() != total {
		s.t.Errorf("%s: %d of key 7, %d in all; want %d and %d", what, day.Keys[7], all.Total(), key7, total)
	}
	return day
}

// TestFiguresAddUpAndSurviveARestart: every server sees the counts, before and after they are written,
// until they are a day old.
func TestFiguresAddUpAndSurviveARestart(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	clock := fixtures.NewClock(now)
	first, second := newServer(t, database, clock), newServer(t, database, clock)
	first.answer(3, 7, daystats.Succeeded)
	first.answer(1, 0, daystats.Throttled)
	second.answer(2, 7, daystats.Failed)
	day := first.shows("the present minute is in memory", 3, 4)
	last := day.Slots[len(day.Slots)-1]
	if took, ok := last.Durations.Percentile(.95); !ok || took < 15*time.Millisecond || took > 25*time.Millisecond {
		t.Errorf("95 %% took %v", took)
	}
	if last.Of(daystats.Throttled) != 1 || last.Of(daystats.Succeeded, daystats.Failed) != 3 || len(day.Slots) != 96 || day.Alone {
		t.Errorf("%+v", last)
	}
	first.Stop(t.Context())
	first.shows("its own are written", 3, 4)
	second.shows("and those of the other", 5, 6)
	second.Stop(t.Context())
	first.Stop(t.Context()) // nothing is left

	clock.Pass(23 * time.Hour)
	again := newServer(t, database, clock)
	again.answer(10, 8, daystats.Limited)
	again.shows("after a restart", 5, 16)
	clock.Pass(time.Hour)
	again.shows("a day later", 0, 10)
	again.Stop(t.Context())

	sweeper := upkeep.NewSweeper(wpdbtest.Open(t, database, 1), clock.Now, slog.New(slog.DiscardHandler))
	if _, err := sweeper.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := database.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_bookside_figures").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if log := first.log.String() + second.log.String() + again.log.String(); log != "" {
		t.Error(log)
	}
}

// TestFiguresAreBounded: if a server restarts again and again, the newest rows are shown and kept.
func TestFiguresAreBounded(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t) // the embedded engine takes half a minute for this many rows and serves no other test meanwhile
	database := fixtures.New(t, fixtures.Legacy())
	s := newServer(t, database, fixtures.NewClock(now))
	const extra, kept, perMinute = 1500, 14_400, 60
	// Servers in the minutes up to the present one, oldest first.
	const digit = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
	if _, err := database.SQL.ExecContext(t.Context(), `INSERT INTO wp_bookside_figures
			(minute, server, succeeded, rejected, failed, limited, throttled, overloaded, disconnected, connections, connection_limit, durations, keys_used)
		SELECT ? + i DIV ?, CONCAT('server', i), 1, 0, 0, 0, 0, 0, 0, 1, 10, '5:1', '7:1'
		FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS i FROM `+
		digit+" a, "+digit+" b, "+digit+" c, "+digit+" d, "+digit+" e) numbers WHERE i < ?",
		now.Unix()/60+1-(kept+extra)/perMinute, perMinute, kept+extra); err != nil {
		t.Fatal(err)
	}
	s.shows("all", kept, kept)
	if _, err := upkeep.NewSweeper(wpdbtest.Open(t, database, 1), s.Now, slog.New(slog.DiscardHandler)).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows, oldest int64
	if err := database.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*), MIN(minute) FROM wp_bookside_figures").Scan(&rows, &oldest); err != nil {
		t.Fatal(err)
	}
	if want := now.Unix()/60 + 1 - kept/perMinute; rows != kept || oldest != want {
		t.Errorf("%d rows from the minute %d on, want %d from %d on", rows, oldest, kept, want)
	}
	s.shows("those that are kept", kept, kept)
}

// TestFiguresWithoutTable: a server that may not write keeps its figures, and writes them once it may. It
// logs the error once.
func TestFiguresWithoutTable(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t) // after a table was renamed, the embedded engine does not return rows in index order
	database := fixtures.New(t, fixtures.Legacy())
	clock := fixtures.NewClock(now)
	s, other := newServer(t, database, clock), newServer(t, database, clock)
	rename := func(from, to string) {
		t.Helper()
		database.Execute(t, "RENAME TABLE wp_bookside_"+from+" TO wp_bookside_"+to)
	}
	rename("figures", "away")
	for range 3 {
		s.answer(2, 7, daystats.Succeeded)
		clock.Pass(time.Minute)
		s.Stop(t.Context())
	}
	if day := s.shows("in memory", 6, 6); !day.Alone {
		t.Error("the figures seem to be those of all servers")
	}
	if n := strings.Count(s.log.String(), "cannot be written"); n != 1 {
		t.Errorf("%d complaints: %s", n, s.log)
	}
	rename("away", "figures")
	s.Stop(t.Context())
	s.shows("written", 6, 6)
	other.shows("written", 6, 6)
}

// TestRunWritesAtTheEnd: the last counts are not lost when the server stops.
func TestRunWritesAtTheEnd(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	clock := fixtures.NewClock(now)
	s := newServer(t, database, clock)
	s.answer(5, 7, daystats.Succeeded)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Run(ctx)
	newServer(t, database, clock).shows("after a restart", 5, 5)
	var nobody *daystats.Recorder
	nobody.Add(daystats.Request{})
}

// BenchmarkAdd measures the cost per request.
func BenchmarkAdd(b *testing.B) {
	db, _ := wpdbtest.Mock(b)
	r := daystats.NewRecorder(db, time.Now, slog.New(slog.DiscardHandler))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Add(daystats.Request{Took: 3 * time.Millisecond, KeyID: 7})
		}
	})
}
