package journal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Options configure Run.
type Options struct {
	// Interval is the time between two searches for changes that nobody entered; 0 disables the search.
	Interval time.Duration
	// Sweep is the time within which the search compares all rows. It takes longer if it would otherwise
	// exceed its share of the database.
	Sweep time.Duration
	// Share is the share of one core of the database that the search may use; 0 for 2 %.
	Share float64
	// Keep is how long entries are kept.
	Keep time.Duration
	// Schema returns the schema of the site as it is now.
	Schema func(context.Context) (*wpdb.Schema, error)
	// BookingsOf returns the ids of the bookings that show data of orders, by order.
	BookingsOf func(ctx context.Context, db *wpdb.DB, orders []int64) (map[int64][]int64, error)
	// Owner is the unique name of this process.
	Owner string
}

const (
	pollInterval  = 250 * time.Millisecond // for numbering the changes of other processes, and for noticing their numbers
	leaseInterval = 5 * time.Second        // for taking or renewing the lease
	leaseSeconds  = 20
	pruneInterval = 5 * time.Minute
	pruneSize     = 1000
	failurePause  = 5 * time.Second
	// After it has numbered changes, Run lets others come in: numbering many takes little more than numbering one.
	numberingPause = 50 * time.Millisecond
)

// repaired is the log message about a repair.
const repaired = "the journal of changes was repaired; clients that missed changes are told so by their cursors"

// Run numbers changes and searches for those that nobody entered, until ctx ends. If several processes run
// it on one database, one of them does the work, and another takes over within seconds if it stops.
// Whatever happens, a change is numbered once.
func (j *Journal) Run(ctx context.Context, o Options, log *slog.Logger) {
	w := &worker{Journal: j, Options: o, log: log}
	defer func() { w.release(context.WithoutCancel(ctx)) }()
	failing := false
	domain.Repeat(ctx, pollInterval, j.Waker, func() {
		err := w.work(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			log.Warn("changes of records are not noticed at the moment", "error", err)
		case err == nil && failing:
			log.Info("changes of records are noticed again")
		}
		pause := numberingPause
		if failing = err != nil; failing {
			w.leased, pause = time.Time{}, failurePause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	})
}

// worker is the state of a running Run.
type worker struct {
	*Journal
	Options
	log *slog.Logger

	leader    bool
	leased    time.Time // when the lease was last requested
	search    *search
	searchDue time.Time
	pruneDue  time.Time
	told      string // the epoch of a restored journal that was logged
}

// work does what is due.
func (w *worker) work(ctx context.Context) error {
	now := w.now()
	due := w.leased.IsZero() || !now.Before(w.leased.Add(leaseInterval))
	if due {
		leader, err := w.leadership(ctx)
		if err != nil {
			return err
		}
		if w.leased = now; leader != w.leader {
			w.leader, w.search, w.searchDue = leader, nil, time.Time{}
		}
	}
	defer w.tellRestored()
	// Other processes number, or did until now, and may at any time have restored a backup or confirmed
	// one.
	if due || !w.leader || w.search == nil {
		if err := w.notice(ctx); err != nil {
			return err
		}
	}
	if !w.leader {
		return nil
	}
	return w.lead(ctx)
}

// notice finds out where the journal ends, and whether an older one was restored.
func (w *worker) notice(ctx context.Context) error {
	p, err := w.present(ctx)
	if err != nil {
		return err
	}
	if w.isOlder(p) { // unless this server is a lagging replica
		err = w.db.Transact(ctx, "look for a restored journal", func(tx *wpdb.DB) (err error) {
			p, err = w.lockPresent(ctx, tx)
			return err
		})
	}
	if err != nil {
		return err
	}
	w.announce(p)
	return nil
}

// tellRestored logs once that an older database was restored under this process.
func (w *worker) tellRestored() {
	if !w.RestoredUnder() {
		return
	}
	w.mu.Lock()
	r := w.restored
	w.mu.Unlock()
	if r.epoch != w.told {
		w.told = r.epoch
		w.log.Warn("an older database came back while the server ran: cursors of clients have expired; run bookside restored",
			"the_journal_ended_at", r.was.String(), "ends_at", r.found.String())
	}
}

// leadership takes or renews the lease, and repairs the journal if its tables are inconsistent: without a
// row to lease, no process leads.
func (w *worker) leadership(ctx context.Context) (held bool, err error) {
	if held, err = w.lease(ctx); err != nil {
		return false, err
	}
	var searched []Resource
	if w.search != nil {
		searched = w.search.order
	}
	if sound, err := w.sound(ctx, searched); err != nil || sound {
		return held, err
	}
	wrong, err := w.repair(ctx)
	if err != nil {
		return false, err
	}
	if wrong != "" {
		w.log.Warn(repaired, "reason", wrong)
	}
	w.search, w.searchDue = nil, time.Time{}
	return w.lease(ctx)
}

// lead does the work of the process that has the lease.
func (w *worker) lead(ctx context.Context) error {
	var err error
	if w.search == nil || !w.now().Before(w.searchDue) {
		err = w.pass(ctx)
	}
	if w.search != nil { // even if a table cannot be searched
		err = errors.Join(err, w.number(ctx))
	}
	if err != nil {
		return err
	}
	missed := w.gap.Swap(false)
	if now := w.now(); !now.Before(w.pruneDue) {
		w.pruneDue, missed = now.Add(pruneInterval), true
		if err := w.prune(ctx); err != nil {
			return err
		}
	}
	if missed {
		return w.closeGaps(ctx)
	}
	return nil
}

// pass searches once. The pause before the next pass depends on how long this one took.
func (w *worker) pass(ctx context.Context) error {
	schema, err := w.Schema(ctx)
	if err != nil {
		return err
	}
	if w.search == nil || !w.search.fits(schema) {
		if w.search, err = w.newSearch(ctx, schema, cmp.Or(w.Share, searchShare), w.BookingsOf); err != nil {
			return err
		}
	}
	interval := w.Interval
	if interval > 0 {
		err = w.search.searchOnce(ctx, interval, w.Sweep)
	} else {
		interval = failurePause // to notice changed columns
	}
	w.searchDue = w.now().Add(max(interval, w.search.pause()))
	return err
}

// number numbers the changes in the inbox.
func (w *worker) number(ctx context.Context) error {
	_, waiting, err := oldestPending(ctx, w.db)
	if err != nil || !waiting {
		return err
	}
	for more := true; more; {
		var p position
		if p, more, err = w.assignNumbers(ctx, w.search.targets, w.BookingsOf, nil); err != nil {
			return err
		}
		w.announce(p)
	}
	return nil
}

// lease takes or renews the lease, by the clock of the database.
func (w *worker) lease(ctx context.Context) (held bool, err error) {
	free := sq.Or{sq.Eq{"owner": []string{"", w.Owner}}, sq.Expr("expires_at IS NULL"), sq.Expr("expires_at < UTC_TIMESTAMP()")}
	stmt := sq.Update(w.db.Name(wpdb.ChangePositions)).
		Set("owner", w.Owner).Set("expires_at", sq.Expr("DATE_ADD(UTC_TIMESTAMP(), INTERVAL ? SECOND)", leaseSeconds)).Set("n", sq.Expr("n + 1")).
		Where(sq.Eq{"name": searchPosition}).Where(free)
	result, err := w.db.Change(ctx, "lease the journal", stmt)
	return result.Rows > 0, err
}

// release gives the lease back, so that another process takes over at once.
func (w *worker) release(ctx context.Context) {
	if !w.leader {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, failurePause)
	defer cancel()
	stmt := sq.Update(w.db.Name(wpdb.ChangePositions)).Set("owner", "").Where(sq.Eq{"name": searchPosition, "owner": w.Owner})
	_, _ = w.db.Change(ctx, "release the journal", stmt) // without it, the lease expires
}

// prune deletes entries older than Keep, oldest first. If there are none, it locks nothing.
func (w *worker) prune(ctx context.Context) error {
	oldest, found, err := wpdb.One(ctx, w.db, "find old changes", sq.Select("at").From(w.db.Name(wpdb.Changes)).OrderBy("number").Limit(1), wpdb.Value[string])
	if err != nil || !found || domain.Timestamp(oldest) >= w.cutoff() {
		return err
	}
	for {
		deleted, err := w.pruneSome(ctx)
		if err != nil || deleted < pruneSize {
			return err
		}
	}
}

// cutoff is the time before which entries are deleted.
func (w *worker) cutoff() domain.Timestamp {
	return domain.Timestamp(domain.Stamp(w.now().Add(-w.Keep)))
}

func (w *worker) pruneSome(ctx context.Context) (deleted int, err error) {
	err = w.db.Transact(ctx, "delete old changes", func(tx *wpdb.DB) error {
		p, err := w.lockPresent(ctx, tx)
		if err != nil {
			return err
		}
		type aged struct {
			number int64
			at     domain.Timestamp
		}
		stmt := sq.Select("number", "at").From(tx.Name(wpdb.Changes)).OrderBy("number").Limit(pruneSize)
		oldest, err := wpdb.All(ctx, tx, "find old changes", stmt, wpdb.Into(func(a *aged) []any {
			return []any{&a.number, &a.at}
		}))
		if err != nil {
			return err
		}
		cutoff, floor := w.cutoff(), int64(0)
		for deleted = 0; deleted < len(oldest) && oldest[deleted].at < cutoff; deleted++ {
			floor = oldest[deleted].number
		}
		if deleted == 0 {
			return nil
		}
		if _, err := wpdb.Exec(ctx, tx, "delete old changes", sq.Delete(tx.Name(wpdb.Changes)).Where(sq.LtOrEq{"number": floor})); err != nil {
			return err
		}
		_, err = wpdb.Exec(ctx, tx, "store first number", sq.Update(tx.Name(wpdb.ChangePositions)).Set("floor", max(p.floor, floor)).Where(sq.Eq{"name": journalPosition}))
		return err
	})
	return deleted, err
}

// Stats are figures for metrics.
type Stats struct {
	Last  int64         // the last number that this process knows of
	Sweep time.Duration // how long the last comparison of all rows took; 0 if this process makes none
}

// Stats returns the present figures.
func (j *Journal) Stats() Stats {
	end, _ := j.Changed()
	return Stats{end.Number, time.Duration(j.sweepTook.Load())}
}
