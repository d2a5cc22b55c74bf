package server

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/wpdb"
)

// startWork starts the background work. It runs until ctx ends or stop is called;
// stop waits for work in progress.
func (s *Server) startWork(ctx context.Context, db *wpdb.DB, platform *session.Platform, requests *keys.RequestLog) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { every(ctx, schemaAge, db.ForgetSchema) })
	work.Go(func() { s.addLostColumns(ctx, db) })
	work.Go(func() { s.watchWrites(ctx, db) })
	work.Go(func() { jobs.NewSweeper(db, s.Now, s.Log).Run(ctx) })
	work.Go(func() { platform.RunJournal(ctx, s.journalOptions(), s.Log) })
	work.Go(func() { platform.Events.Run(ctx) })
	work.Go(func() { s.wakeCompanion(ctx, platform) })
	work.Go(func() { notify.RunOverdue(ctx, platform, s.Log) })
	if requests != nil {
		work.Go(func() { requests.Run(ctx) })
	}
	if s.Config.Webhooks.Enabled {
		work.Go(func() { s.sendWebhooks(ctx, db, platform) })
	}
	if s.Config.Limits.ConflictsInterval > 0 {
		work.Go(func() { s.watchConflicts(ctx, platform) })
	}
	return func() {
		cancel()
		s.beforeLast("work in the background", work.Wait)
	}
}

// sendWebhooks sends changes to webhooks until ctx ends.
func (s *Server) sendWebhooks(ctx context.Context, db *wpdb.DB, platform *session.Platform) {
	store := keys.NewStore(db, s.Now, rand.Reader)
	worker := jobs.NewWorker(s.webhooks, store, s.Log, handlers.WebhookOptions(platform, store, s.Config.Compat.Timestamps == "site"))
	s.metrics.ObserveWebhooks(worker)
	worker.Run(ctx, s.Config.Limits.ShutdownTimeout)
}

func (s *Server) journalOptions() journal.Options {
	limits := s.Config.Limits
	return journal.Options{Interval: limits.ChangesInterval, Sweep: limits.ChangesSweep, Keep: s.Config.Changes.Keep, Owner: rand.Text()}
}

// schemaAge limits how long a change to the site's tables may go unnoticed if
// no statement fails because of it, such as a different storage engine.
const schemaAge = time.Minute

// wakeCompanion asks WordPress something, at the start and once an hour until ctx ends, if it has not loaded the
// companion for a day: a companion that is still there notes that it was, although the site has no visitors.
func (s *Server) wakeCompanion(ctx context.Context, platform *session.Platform) {
	look := func() {
		site, err := platform.Session(ctx)
		if err != nil {
			return // the code that serves requests reports it
		}
		if c := site.Companion(); c != nil && site.Now.Sub(c.Seen) > 24*time.Hour {
			_ = NewAsker(s.Config, platform).Try(ctx) // what was noted tells
		}
	}
	look()
	every(ctx, time.Hour, look)
}

// watchConflicts checks regularly for overlapping bookings, until ctx ends.
func (s *Server) watchConflicts(ctx context.Context, platform *session.Platform) {
	watch := slots.NewConflictWatch(platform, s.Log, func(found slots.ConflictReport, fresh int) {
		s.metrics.Overlaps(found, fresh, s.Now())
	})
	watch.Run(ctx, s.Config.Limits.ConflictsInterval)
}
