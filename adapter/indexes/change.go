package indexes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Changer creates and drops indexes one by one, while others read and write their tables. An interruption
// leaves only whole indexes; another run does the rest.
type Changer struct {
	DB        *wpdb.DB // for reading
	Unhurried *wpdb.DB // for changing: opened with wpdb.Config.WithoutTimeouts
	Cluster   bool     // works on a cluster too, which stands still meanwhile
	Now       domain.Clock
	// Report is called with each Event, never concurrently.
	Report func(Event)
	// Pauses are the pauses before further attempts if others use the table.
	Pauses []time.Duration
	// Interval is the time between progress reports.
	Interval time.Duration
}

// Pauses are the default pauses of a Changer.
var Pauses = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second}

// Event is a step of a Changer.
type Event struct {
	Index    wpdb.Index
	Phase    Phase
	Elapsed  time.Duration // since the index was started
	Progress *float64      // in percent; nil if the server does not report it
	Err      error         // of the phases Waiting and Failed
	Pause    time.Duration // of the phase Waiting
}

// Phase is what an Event is about.
type Phase int

// The phases of an index.
const (
	Started Phase = iota
	Running       // still
	Waiting       // others use the table; another attempt follows
	Queued        // another Changer is at work; concerns no index
	Done
	Failed // this index; the next one follows
)

// ErrCluster is the error for a change on a cluster without Changer.Cluster.
var ErrCluster = errors.New("a change of a table stops all writes on all nodes of a cluster until it is done")

// ErrNameTaken is the error for an index whose place is taken by one that does not serve.
var ErrNameTaken = errors.New("another index has this name, or the database was told to ignore it: drop it, rename it or make it visible again")

// Add creates indexes. It stops at an error that the others would share; an error of a single index is
// reported and joined to the returned error.
func (c Changer) Add(ctx context.Context, list []wpdb.Index) error {
	return c.each(ctx, list, func(i wpdb.Index) error {
		err := c.Unhurried.AddIndex(ctx, i)
		if errors.Is(err, wpdb.ErrDuplicate) {
			return c.madeByOthers(ctx, i)
		}
		return err
	})
}

// madeByOthers returns nil if another process created the index first, and otherwise ErrNameTaken.
func (c Changer) madeByOthers(ctx context.Context, wanted wpdb.Index) error {
	existing, err := c.DB.Indexes(ctx)
	if err != nil || slices.ContainsFunc(existing, func(i wpdb.Index) bool { return i.Serves(wanted) }) {
		return err
	}
	return ErrNameTaken
}

// Drop drops indexes; errors are as in Add.
func (c Changer) Drop(ctx context.Context, list []wpdb.Index) error {
	return c.each(ctx, list, func(i wpdb.Index) error {
		err := c.Unhurried.DropIndex(ctx, i)
		if errors.Is(err, wpdb.ErrNoIndex) {
			return nil // another process was faster
		}
		return err
	})
}

// each changes the indexes when no other Changer is at work.
func (c Changer) each(ctx context.Context, list []wpdb.Index, change func(wpdb.Index) error) error {
	if len(list) == 0 {
		return nil
	}
	cluster, err := c.DB.Cluster(ctx)
	if err != nil {
		return err
	}
	if cluster.MultiPrimary() && !c.Cluster {
		return ErrCluster
	}
	// Two at once would only make each other wait for the tables.
	queued := func() { c.Report(Event{Phase: Queued}) }
	return c.DB.InTurn(ctx, "indexes", queued, func() error { return c.all(ctx, list, change) })
}

// all changes the indexes one by one.
func (c Changer) all(ctx context.Context, list []wpdb.Index, change func(wpdb.Index) error) error {
	var failed []error
	for _, i := range list {
		err := c.one(ctx, i, change)
		if err != nil {
			err = fmt.Errorf("%s on %s: %w", i.Name, c.DB.FullName(i.Table), err)
		}
		switch {
		case err == nil:
		case concernsOne(err):
			failed = append(failed, err)
		default:
			return errors.Join(append(failed, err)...)
		}
	}
	return errors.Join(failed...)
}

// concernsOne reports whether other indexes may succeed after the error of one.
func concernsOne(err error) bool {
	for _, kind := range []error{wpdb.ErrConflict, wpdb.ErrCopies, wpdb.ErrKeyTooLong, wpdb.ErrTooManyEdits, wpdb.ErrSchema, ErrNameTaken} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// one changes one index, in several attempts if others use the table.
func (c Changer) one(ctx context.Context, i wpdb.Index, change func(wpdb.Index) error) error {
	start := c.Now()
	report := func(e Event) {
		e.Index, e.Elapsed = i, c.Now().Sub(start)
		c.Report(e)
	}
	report(Event{Phase: Started})
	for attempt := 0; ; attempt++ {
		err := c.reportProgress(ctx, report, func() error { return change(i) })
		switch {
		case err == nil:
			report(Event{Phase: Done})
			return nil
		case !errors.Is(err, wpdb.ErrConflict) || attempt == len(c.Pauses):
			report(Event{Phase: Failed, Err: err})
			return err
		}
		report(Event{Phase: Waiting, Err: err, Pause: c.Pauses[attempt]})
		select {
		case <-time.After(c.Pauses[attempt]):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reportProgress runs a change and reports its progress until it ends.
func (c Changer) reportProgress(ctx context.Context, report func(Event), change func() error) error {
	done := make(chan error, 1)
	go func() { done <- change() }()
	ticker := time.NewTicker(c.Interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			e := Event{Phase: Running}
			// An error here must not end the change; the change's own error is the one to report.
			if percent, ok, err := c.DB.Progress(ctx); ok && err == nil {
				e.Progress = &percent
			}
			report(e)
		}
	}
}
