package journal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// How changes are found that nobody entered
//
// A search looks at each resource in three ways:
//
//   - The last two spans of ids and all behind them: new rows.
//   - Rows whose updated_at is not older than the last look, with an overlap, because it
//     has seconds only and clocks differ.
//   - All spans in turn: the database adds up the hashes of each, and where the sum is not
//     that of the snapshot, the rows are compared one by one. This finds what left no
//     trace: deleted rows, and changes by plain SQL.
//
// Rows that differ become candidates of assignNumbers. It looks at them again, because our own
// changes and those that WordPress tells about are in the inbox.

// searchShare is the share of one core of the database that the search may use. Rows by updated_at, which
// take long on a large site without an index on it, get at most half of it; everything else gets the rest.
// As long as the pass over all spans keeps to its period, it uses only idleShare of that, which lets small
// sites compare everything in each search.
const (
	searchShare = 0.02
	idleShare   = 0.1
)

// part returns a part of a time.
func part(interval time.Duration, share float64) time.Duration {
	return time.Duration(float64(interval) * share)
}

// Limits of one statement of the search.
const (
	statementTime  = 30 * time.Millisecond // target for a statement over spans
	maxSpans       = 4096
	maxCandidates  = 500
	updatedOverlap = 2 * time.Minute
)

// search looks for changes. It is used by one goroutine.
type search struct {
	j       *Journal
	share   float64 // of one core of the database
	targets map[Resource]compared
	shows   bookingsOf
	order   []Resource
	states  map[Resource]*tableState

	sweeping   int   // index in order of the resource that is swept
	span       int64 // the next one to sweep
	spans      int64 // how many the next statement covers
	sweepBegan time.Time
	spent      time.Duration // database time of the present search
}

// tableState is the state of a resource between searches.
type tableState struct {
	progress progress
	maxID    int64     // id
	updated  time.Time // rows up to this updated_at were compared
	due      time.Time // when rows may be compared by updated_at again
	used     float64   // the share of a core that comparing by updated_at takes
}

func (j *Journal) newSearch(ctx context.Context, schema *wpdb.Schema, share float64, shows bookingsOf) (*search, error) {
	s := &search{j: j, share: share, shows: shows, targets: map[Resource]compared{}, states: map[Resource]*tableState{}, spans: 16, sweepBegan: j.now()}
	for _, r := range Resources {
		if target, ok := compare(j.db, schema, r); ok {
			s.targets[r] = target
			s.order = append(s.order, r)
		}
	}
	if err := j.prepare(ctx, s.targets); err != nil {
		return nil, err
	}
	for r, target := range s.targets {
		p, err := target.progress(ctx, j.db)
		if err != nil {
			return nil, err
		}
		largest, err := target.maxID(ctx, j.db)
		if err != nil {
			return nil, err
		}
		// The last search of another server is not known; the sweep finds older changes.
		s.states[r] = &tableState{progress: p, maxID: max(largest, p.floor), updated: j.now().Add(-updatedOverlap)}
	}
	return s, nil
}

// fits reports whether the site's columns are still the compared ones.
func (s *search) fits(schema *wpdb.Schema) bool {
	for _, r := range Resources {
		if target, _ := compare(s.j.db, schema, r); target.signature != s.targets[r].signature {
			return false
		}
	}
	return true
}

// measured returns how long a statement took.
func (s *search) measured(work func() error) (took time.Duration, err error) {
	start := s.j.now()
	err = work()
	return s.j.now().Sub(start), err
}

// timed adds the duration of a statement to what this search has used.
func (s *search) timed(work func() error) error {
	took, err := s.measured(work)
	s.spent += took
	return err
}

// searchOnce compares everything once, as far as the share of the interval allows.
func (s *search) searchOnce(ctx context.Context, interval, sweep time.Duration) error {
	s.spent = 0
	for _, r := range s.order {
		if err := s.scanNewRows(ctx, r); err != nil {
			return err
		}
		if err := s.scanUpdatedRows(ctx, r, interval); err != nil {
			return err
		}
	}
	return s.sweep(ctx, interval, sweep)
}

// scanNewRows compares the last spans.
func (s *search) scanNewRows(ctx context.Context, r Resource) error {
	l := s.states[r]
	if !l.progress.complete() && l.maxID <= l.progress.floor {
		// The last spans have no snapshots yet, so only rows after them are new.
		return s.scanRowsBehind(ctx, r)
	}
	first := max(spanOf(l.maxID)-1, 0)
	return s.compareSpans(ctx, r, first, first+maxSpans)
}

// scanRowsBehind finds rows above the largest id. Uses the primary key.
func (s *search) scanRowsBehind(ctx context.Context, r Resource) error {
	target, l := s.targets[r], s.states[r]
	stmt := sq.Select("id").From(target.table).Where(sq.Gt{"id": l.maxID}).OrderBy("id").Limit(maxCandidates)
	return s.scanRows(ctx, r, stmt)
}

// scanRows numbers the rows that a SELECT of ids finds.
func (s *search) scanRows(ctx context.Context, r Resource, stmt sq.SelectBuilder) error {
	var ids []int64
	err := s.timed(func() (err error) {
		ids, err = wpdb.All(ctx, s.j.db, "search changes", stmt, wpdb.Value[int64])
		return err
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	s.states[r].maxID = max(s.states[r].maxID, slices.Max(ids))
	return s.assignNumbers(ctx, r, ids)
}

// scanUpdatedRows compares rows by updated_at. Without an index on it this takes long on a large site, and
// is then done less often.
func (s *search) scanUpdatedRows(ctx context.Context, r Resource, interval time.Duration) error {
	target, l := s.targets[r], s.states[r]
	now := s.j.now()
	if !target.updated || !l.progress.complete() || now.Before(l.due) {
		return nil
	}
	since := l.updated.Add(-updatedOverlap)
	var changed snapshot
	took, err := s.measured(func() error {
		stmt := sq.Select("id").From(target.table).Where(sq.GtOrEq{"updated_at": domain.Stamp(since)}).OrderBy("updated_at DESC").Limit(maxCandidates)
		ids, err := wpdb.All(ctx, s.j.db, "search changes", stmt, wpdb.Value[int64])
		if err != nil || len(ids) == 0 {
			return err
		}
		changed, err = target.rows(ctx, s.j.db, ids)
		return err
	})
	if err != nil {
		return err
	}
	l.used = 0
	pause := part(took, 1/max(s.left()-s.share/2, s.share/2/float64(len(s.states)))) // what other resources leave of the half
	l.updated, l.due, l.used = now, now.Add(pause), took.Seconds()/max(interval, pause).Seconds()
	return s.numberDifferent(ctx, r, changed)
}

// numberDifferent numbers the rows that differ from their snapshots.
func (s *search) numberDifferent(ctx context.Context, r Resource, rows snapshot) error {
	if len(rows) == 0 {
		return nil
	}
	spans := spansOf(slices.Sorted(maps.Keys(rows)))
	var stored map[int64]snapshot
	err := s.timed(func() (err error) {
		stored, err = s.targets[r].readStored(ctx, s.j.db, sq.Eq{"span": spans})
		return err
	})
	if err != nil {
		return err
	}
	var different []int64
	for id, row := range rows {
		before, known := stored[spanOf(id)]
		if known && before[id] == row || !known && !s.states[r].progress.known(spanOf(id)) && id <= s.states[r].progress.floor {
			continue
		}
		different = append(different, id)
	}
	return s.assignNumbers(ctx, r, different)
}

// assignNumbers creates entries for the rows that still differ and that nobody entered.
func (s *search) assignNumbers(ctx context.Context, r Resource, ids []int64) error {
	slices.Sort(ids)
	for part := range slices.Chunk(ids, maxCandidates) {
		candidates := make([]record, len(part))
		for i, id := range part {
			candidates[i] = record{r, id}
		}
		err := s.timed(func() error {
			end, _, err := s.j.assignNumbers(ctx, s.targets, s.shows, candidates)
			if err == nil {
				s.j.announce(end)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sum is what the database adds up over a span.
type sum struct {
	records  int64
	checksum uint64
}

// compareSpans compares the sums of spans with those of the snapshots, and the rows where the sums differ.
// Uses the primary keys.
func (s *search) compareSpans(ctx context.Context, r Resource, first, last int64) error {
	target, db := s.targets[r], s.j.db
	var now, before map[int64]sum
	err := s.timed(func() (err error) {
		stmt := sq.Select("id DIV 256 AS span", "COUNT(*)", target.spanChecksum()).From(target.from).Where(idsOf(first, last)).GroupBy("span")
		if now, err = sums(ctx, db, stmt); err != nil {
			return err
		}
		stmt = sq.Select("span", "records", "checksum").From(db.Name(wpdb.ChangeSnapshots)).
			Where(sq.Eq{"resource": string(r)}).Where(sq.And{sq.GtOrEq{"span": first}, sq.LtOrEq{"span": last}})
		before, err = sums(ctx, db, stmt)
		return err
	})
	if err != nil {
		return err
	}
	if len(now) > 0 {
		s.states[r].maxID = max(s.states[r].maxID, (slices.Max(slices.Collect(maps.Keys(now)))+1)*spanSize-1)
	}
	for _, span := range different(now, before) {
		if err := s.compareRows(ctx, r, span); err != nil {
			return err
		}
	}
	return nil
}

func sums(ctx context.Context, db *wpdb.DB, stmt sq.SelectBuilder) (map[int64]sum, error) {
	return wpdb.MapBy(ctx, db, "compare spans", stmt, func(row wpdb.Scanner) (span int64, s sum, err error) {
		err = row.Scan(&span, &s.records, &s.checksum)
		return span, s, err
	})
}

// different returns the keys, in ascending order, that only one of two maps has or that have different
// values.
func different[V comparable](now, before map[int64]V) (keys []int64) {
	for key, value := range now {
		if known, ok := before[key]; !ok || known != value {
			keys = append(keys, key)
		}
	}
	for key := range before {
		if _, ok := now[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// compareRows compares the rows of a span with its snapshot.
func (s *search) compareRows(ctx context.Context, r Resource, span int64) error {
	target := s.targets[r]
	var now snapshot
	var stored map[int64]snapshot
	err := s.timed(func() (err error) {
		if now, err = target.between(ctx, s.j.db, span, span); err != nil {
			return err
		}
		stored, err = target.readStored(ctx, s.j.db, sq.Eq{"span": span})
		return err
	})
	if err != nil {
		return err
	}
	return s.assignNumbers(ctx, r, different(now, stored[span]))
}

// sweep compares spans in turn until the share of the interval is used up or every resource was swept once.
func (s *search) sweep(ctx context.Context, interval, period time.Duration) error {
	ends := 0
	for ends <= len(s.order) {
		limit := part(interval, s.left())
		if !s.behind(period) {
			limit = part(limit, idleShare)
		}
		if s.spent >= limit {
			return nil
		}
		finished, err := s.sweepSome(ctx)
		if err != nil {
			return err
		}
		if finished {
			ends++
		}
	}
	return nil
}

// left returns the share that comparing by updated_at leaves. During the first pass, when that is not done,
// it is all of it.
func (s *search) left() float64 {
	left := s.share
	for _, l := range s.states {
		left -= l.used
	}
	return max(left, s.share/2)
}

// complete reports whether the first pass is over.
func (s *search) complete() bool {
	for _, l := range s.states {
		if !l.progress.complete() {
			return false
		}
	}
	return true
}

// pause returns how long to rest after a search.
func (s *search) pause() time.Duration { return part(s.spent, 1/s.left()) }

// behind reports whether the present sweep is slower than its period.
func (s *search) behind(period time.Duration) bool {
	if !s.complete() {
		return true
	}
	all, done := int64(0), int64(0)
	for i, r := range s.order {
		spans := spanOf(s.states[r].maxID) + 1
		all += spans
		switch {
		case i < s.sweeping:
			done += spans
		case i == s.sweeping:
			done += min(s.span, spans)
		}
	}
	elapsed := s.j.now().Sub(s.sweepBegan)
	return float64(done)/float64(max(all, 1)) < elapsed.Seconds()/period.Seconds()
}

// sweepSome compares the next spans of the resource that is being swept, or takes their
// first snapshots. finished reports whether it was the resource's last.
func (s *search) sweepSome(ctx context.Context) (finished bool, err error) {
	r := s.order[s.sweeping]
	l := s.states[r]
	first, last := s.span, min(s.span+s.spans-1, spanOf(l.maxID))
	before := s.spent
	if l.progress.complete() {
		err = s.compareSpans(ctx, r, first, last)
	} else {
		first = spanOf(l.progress.position)
		last = min(first+firstPassSpans-1, spanOf(l.progress.floor))
		err = s.takeSnapshots(ctx, r, first, last)
	}
	if err != nil {
		return false, err
	}
	switch took := s.spent - before; {
	case took < statementTime/2:
		s.spans = min(s.spans*2, maxSpans)
	case took > statementTime:
		s.spans = max(s.spans/2, 1)
	}
	s.span = last + 1
	if s.span <= spanOf(l.maxID) {
		return false, nil
	}
	s.span = 0
	if s.sweeping++; s.sweeping == len(s.order) {
		s.sweeping = 0
		now := s.j.now()
		s.j.sweepTook.Store(int64(now.Sub(s.sweepBegan)))
		s.sweepBegan = now
	}
	return true, nil
}

// firstPassSpans is the number of spans whose first snapshots one transaction takes.
const firstPassSpans = 16

// takeSnapshots takes the first snapshots of spans, of rows that existed when the first
// pass began.
func (s *search) takeSnapshots(ctx context.Context, r Resource, first, last int64) error {
	var p progress
	err := s.timed(func() error {
		return s.j.db.Transact(ctx, "take snapshots", func(tx *wpdb.DB) (err error) {
			p, err = s.takeSnapshotsIn(ctx, tx, r, first, last)
			return err
		})
	})
	if err != nil {
		return err
	}
	s.states[r].progress = p // of a transaction that was committed
	return nil
}

// takeSnapshotsIn takes the snapshots of takeSnapshots in a transaction, and returns how far the first pass has come with them.
func (s *search) takeSnapshotsIn(ctx context.Context, tx *wpdb.DB, r Resource, first, last int64) (progress, error) {
	if _, err := lockPosition(ctx, tx); err != nil { // whoever numbers changes or begins the pass anew waits: both write snapshots
		return progress{}, err
	}
	target := s.targets[r]
	p, err := target.progress(ctx, tx)
	if err != nil {
		return progress{}, err
	}
	if p != s.states[r].progress {
		return progress{}, fmt.Errorf("first pass over %s: %w", r, errNotPrepared) // begun anew by another process
	}
	spans := make([]int64, 0, last-first+1)
	for span := first; span <= last; span++ {
		spans = append(spans, span)
	}
	snapshots, err := target.readStored(ctx, tx, sq.Eq{"span": spans}) // spans in which changes were numbered have one already
	if err != nil {
		return progress{}, err
	}
	if _, err := target.addMissing(ctx, tx, spans, snapshots); err != nil {
		return progress{}, err
	}
	if err := storeSnapshots(ctx, tx, r, snapshots); err != nil {
		return progress{}, err
	}
	p.position = (last + 1) * spanSize
	stmt := sq.Update(tx.Name(wpdb.ChangePositions)).Set("position", p.position).Where(sq.Eq{"name": string(r)})
	_, err = wpdb.Exec(ctx, tx, "store progress", stmt)
	return p, err
}
