package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
)

// Limits of the work. claimTime is much longer than a try, because the clocks of the servers may differ and
// the outcome must be stored too.
const (
	perHook      = 8               // concurrent tries of a webhook on one server
	perFailing   = 1               // the same while it has been failing for longer than failingSoon
	failingSoon  = time.Minute     //
	failingLimit = 69 * time.Hour  // until a webhook that only fails is disabled: no longer than a delivery is tried
	maxPause     = 24 * time.Hour  // the longest that a receiver can request
	claimTime    = 2 * time.Minute // until another server may send a delivery whose server has died
	pollInterval = time.Second     // to find retries, and what other servers left
	pageSize     = 100             // entries that become deliveries at once
	maxWaiting   = 5_000           // deliveries of a webhook that wait; the others stay in the journal
	maxSkipped   = 1_000           // entries of no interest before the position is stored
	storeLimit   = 5 * time.Second // to store outcomes while the server stops
	recordLimit  = 2               // records read at once
	maxRecord    = 1 << 20         // bytes of a record that is sent
	turnLimit    = 7 * time.Second // to wait for one's turn to read: a try waits and reads a few times, and must end long before claimTime
)

// retryDelays are the times between the tries of a delivery: three days in all, with the
// jitter.
var retryDelays = []time.Duration{
	5 * time.Second, 2 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 8 * time.Hour, 14 * time.Hour, 20 * time.Hour, 23 * time.Hour,
}

// jitter returns a delay that is up to a tenth longer, so that deliveries that failed together are not
// retried together.
func jitter(delay time.Duration) time.Duration { return delay + rand.N(delay/10) }

// WorkerOptions are what a Worker needs from the layers above.
type WorkerOptions struct {
	// Encode returns an entry as clients see it, a JSON object.
	Encode func(journal.Entry) ([]byte, error)
	Record ReadRecord
}

// Worker turns entries of the journal into deliveries and sends them. Any number of
// servers may run one on the same database.
type Worker struct {
	store   *HookStore
	keys    *keys.Store
	log     *slog.Logger
	options WorkerOptions
	client  *client
	results chan result
	records chan struct{} // limits the records read at once
	waiting int64         // how many deliveries of a webhook may wait
	turn    time.Duration // see turnLimit

	// The rest belongs to the goroutine of Run, except for stats.
	running   map[int64]int      // tries in progress, by webhook
	total     int                // the sum of running
	finished  []result           // whose outcome is not stored yet
	progress  map[int64]progress // by webhook
	recovered time.Time          // when abandoned claims were last looked for

	mu    sync.Mutex
	stats HookStats
}

// progress is how far a webhook has read the journal.
type progress struct {
	stored  int64 // the position in the database
	scanned int64 // entries up to here are deliveries or of no interest
}

// HookStats describe the work of this server, and all webhooks as it last saw them.
type HookStats struct {
	Enabled, Failing, Disabled  int   // webhooks; the failing ones are enabled too
	Behind                      int64 // entries that the slowest webhook has not read yet
	Delivered, Failed, Disables int64 // tries, and webhooks that were disabled because they failed
}

// NewWorker returns a Worker for the webhooks of a store. It logs ids, but nothing of what is sent.
func NewWorker(store *HookStore, keyStore *keys.Store, log *slog.Logger, o WorkerOptions) *Worker {
	return &Worker{
		store: store, keys: keyStore, log: log, options: o, client: newClient(), results: make(chan result),
		records: make(chan struct{}, recordLimit), waiting: maxWaiting, turn: turnLimit, running: map[int64]int{}, progress: map[int64]progress{},
	}
}

// Stats returns the present figures.
func (w *Worker) Stats() HookStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

func (w *Worker) note(change func(*HookStats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.stats)
}

// Run works until ctx ends. Tries in progress may then take as long as grace; those that are canceled do
// not count.
func (w *Worker) Run(ctx context.Context, grace time.Duration) {
	sending, release := domain.Outlive(ctx, min(grace, sendLimit))
	defer release()
	w.seal(ctx)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	failing := false
	for {
		_, changed := w.store.journal.Changed() // taken before the round, which then sees all earlier changes
		more, err := w.round(ctx, sending)
		switch {
		case ctx.Err() != nil:
		case err != nil && !failing:
			w.log.Warn("webhooks are not sent at the moment", "error", err)
		case err == nil && failing:
			w.log.Info("webhooks are sent again")
		}
		failing = err != nil
		if more && err == nil && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			w.finish()
			return
		case <-changed:
		case <-poll.C:
		case r := <-w.results:
			w.collect(r)
		}
	}
}

// seal encrypts plain-text secrets, if there is a key.
func (w *Worker) seal(ctx context.Context) {
	unreadable, err := w.store.Seal(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		w.log.Error("the secrets of webhooks could not be encrypted", "error", err)
	case unreadable > 0:
		w.log.Error("the secrets of webhooks cannot be decrypted: webhooks.secret_key is missing, or not the one that they were stored with", "webhooks", unreadable)
	}
}

// finish waits for tries in progress, and stores the outcomes.
func (w *Worker) finish() {
	for w.total > 0 {
		w.collect(<-w.results)
	}
	ctx, stop := context.WithTimeout(context.Background(), storeLimit)
	defer stop()
	if err := w.storeOutcomes(ctx); err != nil {
		w.log.Error("outcomes of webhook deliveries could not be stored; they are sent again", "deliveries", len(w.finished), "error", err)
	}
}

// collect takes the result of a try.
func (w *Worker) collect(r result) {
	w.total--
	if w.running[r.hook.ID]--; w.running[r.hook.ID] == 0 {
		delete(w.running, r.hook.ID)
	}
	w.finished = append(w.finished, r)
}

// round stores the outcomes of tries, turns entries of the journal into deliveries, and
// starts tries with the context sending. more reports whether there is more to do at
// once.
func (w *Worker) round(ctx, sending context.Context) (more bool, err error) {
	for ready := true; ready; {
		select {
		case r := <-w.results:
			w.collect(r)
		default:
			ready = false
		}
	}
	if err := w.storeOutcomes(ctx); err != nil {
		return false, err
	}
	hooks, err := w.active(ctx)
	if err != nil || len(hooks) == 0 {
		return false, err
	}
	if err := w.recover(ctx); err != nil {
		return false, err
	}
	pages := &pages{journal: w.store.journal, read: map[int64]journal.Page{}}
	for _, h := range hooks {
		again, err := w.serve(ctx, sending, h, pages)
		if err != nil {
			return false, err
		}
		more = more || again
	}
	return more, nil
}

// activeHook is an enabled webhook.
type activeHook struct {
	Hook
	due bool      // a delivery is due
	key *keys.Key // nil if it belongs to no key
}

// allowed reports whether the webhook may see a resource.
func (h activeHook) allowed(resource journal.Resource) bool {
	return h.key == nil || h.key.Holds(permissions[resource])
}

// room returns how many more tries of the webhook may begin.
func (h activeHook) room(now time.Time, running int) int {
	limit := perHook
	if since, failing := h.FailingSince.Time(); failing && now.Sub(since) > failingSoon {
		limit = perFailing
	}
	return limit - running
}

// serve works for one webhook. more reports whether there is more to do at once.
func (w *Worker) serve(ctx, sending context.Context, h activeHook, pages *pages) (more bool, err error) {
	now := w.store.now()
	room := h.room(now, w.running[h.ID])
	if room <= 0 {
		return false, nil
	}
	if h.due {
		claimed, err := w.start(ctx, sending, h, room)
		if err != nil {
			return false, err
		}
		room -= claimed
	}
	if room <= 0 {
		return false, nil
	}
	added, more, err := w.fanOut(ctx, h, pages)
	if err == nil && added > 0 {
		var claimed int
		claimed, err = w.start(ctx, sending, h, room)
		more = more && claimed < room
	}
	return more, err
}

// start claims deliveries and begins to send them.
func (w *Worker) start(ctx, sending context.Context, h activeHook, most int) (claimed int, err error) {
	deliveries, err := w.claim(ctx, h, most)
	for _, d := range deliveries {
		w.running[h.ID]++
		w.total++
		go func() { w.results <- w.try(sending, h, d) }()
	}
	return len(deliveries), err
}

// result is a finished try.
type result struct {
	hook     activeHook
	delivery Delivery
	at       time.Time
	took     time.Duration
	answer   answer
	// ours is set if the request was not sent completely, for a reason that is not the receiver's.
	ours bool
	// canceled is set if the try does not count: the server stops, or is too busy to read the record.
	canceled bool
	outcome  domain.Outcome
}

// errBusy means that the record could not be read in time.
var errBusy = errors.New("the server was too busy to read the record")

// errForbidden ends deliveries of records that the key may no longer see.
var errForbidden = errors.New("the API key of the webhook may no longer see this resource")

// try sends a claimed delivery.
func (w *Worker) try(ctx context.Context, h activeHook, d Delivery) (r result) {
	r = result{hook: h, delivery: d, at: w.store.now()}
	defer func() {
		r.took = w.store.now().Sub(r.at)
		r.canceled = ctx.Err() != nil && !r.answer.ok() || errors.Is(r.answer.err, errBusy)
		r.outcome = w.outcomeOf(r)
	}()
	m := message{id: d.MessageID(), url: h.URL, private: h.Private}
	var err error
	if m.secrets, err = w.store.secrets(h.Hook); err == nil {
		m.body, err = w.body(ctx, h, d)
	}
	if err != nil {
		r.ours, r.answer = true, answer{err: err}
		return r
	}
	r.answer = w.client.send(ctx, r.at, m)
	return r
}

// body returns the body of a delivery, with the present record.
func (w *Worker) body(ctx context.Context, h activeHook, d Delivery) ([]byte, error) {
	if d.Event != TestEvent {
		if visible, err := w.visible(ctx, h, d); err != nil || !visible {
			return nil, cmp.Or(err, errForbidden)
		}
	}
	data, tooLarge, err := d.dataFor(h.Hook, func() (json.RawMessage, bool, error) { return w.record(ctx, h, d) })
	if err != nil {
		return nil, err
	}
	if tooLarge {
		w.log.Warn("a record is too large for a webhook, and the event is sent without it", "webhook_id", h.ID, "delivery_id", d.ID)
	}
	body, err := d.payload(data)
	if err != nil {
		w.log.Error("a webhook delivery could not be encoded", "webhook_id", h.ID, "delivery_id", d.ID, "error", err)
		return nil, errors.New("the event could not be encoded; the log of the server says why")
	}
	return body, nil
}

// visible reports whether the webhook's key still sees the change of a delivery: the key may have been
// limited since the delivery was added.
func (w *Worker) visible(ctx context.Context, h activeHook, d Delivery) (visible bool, err error) {
	if !h.allowed(d.Resource) || h.key == nil || h.key.Scope.Unlimited() {
		return h.allowed(d.Resource), nil
	}
	err = w.reading(ctx, func(ctx context.Context) error {
		page, err := w.store.journal.ReadBehind(ctx, d.Number-1, nil, 1)
		if domain.CodeOf(err) == domain.CodeCursorExpired {
			return nil // the booking's old assignment is no longer known
		}
		if err != nil {
			return err
		}
		entries := journal.Visible(page.Entries, h.key.Scope)
		// A key that may learn only that a booking is gone gets nothing else about it.
		visible = len(entries) > 0 && (!entries[0].Left || d.isDeleted())
		return nil
	})
	return visible, w.unreadable(err, "a change could not be read for a webhook", h, d)
}

// reading calls work, which reads what is sent, in turn and with a time limit. It does not wait long for
// its turn, because the claim of the delivery runs out meanwhile.
func (w *Worker) reading(ctx context.Context, work func(context.Context) error) error {
	turn := time.NewTimer(w.turn)
	defer turn.Stop()
	select {
	case w.records <- struct{}{}:
		defer func() { <-w.records }()
	case <-turn.C:
		return errBusy
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	return work(ctx)
}

// unreadable logs why something could not be read, and returns the error for the log of the
// webhook.
func (w *Worker) unreadable(err error, message string, h activeHook, d Delivery) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, errBusy) || errors.Is(err, ErrTooLarge) {
		return err
	}
	w.log.Error(message, "webhook_id", h.ID, "delivery_id", d.ID, "error", err)
	return errUnreadable
}

// errUnreadable means that the data to send could not be read.
var errUnreadable = errors.New("the record could not be read; the log of the server says why")

// ErrTooLarge means that a record is too large for webhooks.
var ErrTooLarge = errors.New("the record is too large to be sent")

// record reads the present record.
func (w *Worker) record(ctx context.Context, h activeHook, d Delivery) (record json.RawMessage, exists bool, err error) {
	err = w.reading(ctx, func(ctx context.Context) (err error) {
		record, exists, err = w.options.Record(ctx, h.KeyID, h.Filter, d.Resource, d.ResourceID)
		return err
	})
	return record, exists, w.unreadable(err, "a record could not be read for a webhook", h, d)
}

// TestNow sends TestEvent to a webhook at once, whether or not it is enabled, and returns the try. found is
// false if there is no such webhook.
func (w *Worker) TestNow(ctx context.Context, id int64) (try Try, found bool, err error) {
	hook, found, err := w.store.Find(ctx, id)
	if err != nil || !found {
		return Try{}, false, err
	}
	owner, err := domain.RandomHex(w.store.random, 16)
	if err != nil {
		return Try{}, true, err
	}
	d, err := w.store.addTest(ctx, Delivery{WebhookID: id, State: sending, Tries: 1, owner: owner}, claimTime)
	if err != nil {
		return Try{}, true, err
	}
	r := w.try(ctx, activeHook{Hook: hook}, d)
	w.finished = append(w.finished, r)
	if err := w.storeOutcomes(context.WithoutCancel(ctx)); err != nil {
		return Try{}, true, err
	}
	return r.try(), true, nil
}

// try returns the result as it is logged.
func (r result) try() Try {
	return Try{DeliveryID: r.delivery.ID, At: domain.Timestamp(domain.Stamp(r.at)), Status: r.answer.status, Took: r.took, Failure: r.answer.failure(), Answer: domain.Cut(r.answer.text, answerLength)}
}
