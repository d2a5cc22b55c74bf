package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// The statements of a Worker. Each of its steps is one statement or one transaction; a
// server that dies between two of them leaves nothing that another does not continue:
//
//   - fanOut moves the position of a webhook and adds the deliveries, in one transaction.
//   - claim marks deliveries as being sent, by this owner, until a time. After that time
//     recover lets others claim them: the delivery is sent again.
//   - storeOutcomes stores what became of them, unless another has claimed them since.

// active returns the enabled webhooks. It disables those whose key has ended or may no longer read what they send.
func (w *Worker) active(ctx context.Context) (active []activeHook, err error) {
	due := sq.Select("MIN(d.due_at)").From(w.store.db.As(wpdb.WebhookDeliveries, "d")).Where("d.webhook_id = h.id").Where(sq.Eq{"d.status": waiting})
	stmt := sq.Select(hookColumns...).Column(sq.Alias(due, "due")).From(w.store.db.As(wpdb.Webhooks, "h")).Where(w.store.visible("h.")).OrderBy("h.id")
	now := w.store.now()
	all, err := wpdb.All(ctx, w.store.db, "read webhooks", stmt, func(row wpdb.Scanner) (h activeHook, err error) {
		var due domain.Timestamp
		h.Hook, err = scanHook(row, wpdb.OrZero((*string)(&due)))
		first, any := due.Time()
		h.due = any && !first.After(now)
		return h, err
	})
	if err != nil {
		return nil, err
	}
	stats := HookStats{}
	progressed := make(map[int64]progress, len(all))
	for _, h := range all {
		if h.Status != Enabled {
			stats.Disabled++
			continue
		}
		stats.Enabled++
		if h.FailingSince != "" {
			stats.Failing++
		}
		if reason, err := w.checkKey(ctx, &h, now); err != nil {
			return nil, err
		} else if reason != "" {
			if err := w.end(ctx, h.ID, reason); err != nil {
				return nil, err
			}
			continue
		}
		p := w.progress[h.ID]
		if p.stored != h.position {
			p = progress{stored: h.position, scanned: h.position}
		}
		progressed[h.ID] = p
		if end, _ := w.store.journal.Changed(); end.Number > p.scanned {
			stats.Behind = max(stats.Behind, end.Number-p.scanned)
		}
		active = append(active, h)
	}
	w.progress = progressed // leaves out webhooks that are gone
	w.note(func(s *HookStats) {
		s.Enabled, s.Failing, s.Disabled, s.Behind = stats.Enabled, stats.Failing, stats.Disabled, stats.Behind
	})
	return active, nil
}

// checkKey sets the key of a webhook that has one. It returns why its present key lets it send nothing, or "".
func (w *Worker) checkKey(ctx context.Context, h *activeHook, now time.Time) (reason string, err error) {
	if h.KeyID == 0 {
		return "", nil
	}
	key, found, err := w.keys.Find(ctx, h.KeyID)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "its API key does not exist any more", nil
	case key.Status(now) != keys.Active:
		return "its API key is " + string(key.Status(now)), nil
	}
	h.key = &key
	return lack(key, h.Filter.Events), nil
}

// end disables a webhook that cannot go on.
func (w *Worker) end(ctx context.Context, id int64, reason string) error {
	stmt := sq.Update(w.store.db.Name(wpdb.Webhooks)).Set("status", string(Disabled)).Set("reason", reason).Where(sq.Eq{"id": id, "status": string(Enabled)})
	result, err := w.store.db.Change(ctx, "disable webhook", stmt)
	if err == nil && result.Rows > 0 {
		w.ended(id, reason)
	}
	return err
}

// ended logs that a webhook was disabled.
func (w *Worker) ended(id int64, reason string) {
	w.log.Warn("webhook disabled", "webhook_id", id, "reason", reason)
	w.note(func(s *HookStats) { s.Disables++ })
}

// recoverEvery is how often abandoned claims are looked for.
const recoverEvery = 10 * time.Second

// recover frees deliveries whose server did not store their outcome in time. Uses the index on status and
// due_at.
func (w *Worker) recover(ctx context.Context) error {
	now := w.store.now()
	if now.Sub(w.recovered) < recoverEvery && !now.Before(w.recovered) {
		return nil
	}
	abandoned := sq.And{sq.Eq{"status": sending}, sq.LtOrEq{"due_at": domain.Stamp(now)}}
	db := w.store.db
	ids, err := wpdb.All(ctx, db, "find abandoned deliveries", sq.Select("id").From(db.Name(wpdb.WebhookDeliveries)).Where(abandoned).Limit(1000), wpdb.Value[int64])
	if err == nil && len(ids) > 0 {
		_, err = db.Change(ctx, "free abandoned deliveries", sq.Update(db.Name(wpdb.WebhookDeliveries)).Set("status", waiting).Set("owner", "").Where(sq.Eq{"id": ids}).Where(abandoned))
	}
	if err == nil {
		w.recovered = now
	}
	return err
}

// claim claims deliveries of a webhook that are due, so that no other server sends them. A delivery waits
// while its record has an earlier unfinished one.
func (w *Worker) claim(ctx context.Context, h activeHook, most int) ([]Delivery, error) {
	db, now := w.store.db, w.store.now()
	// NOT EXISTS does not work here: the demo's engine finds an earlier one if a number is NULL.
	earlier := sq.Select("1").From(db.As(wpdb.WebhookDeliveries, "e")).
		Where("e.webhook_id = d.webhook_id AND e.resource = d.resource AND e.resource_id = d.resource_id").
		Where(sq.Eq{"e.status": []string{waiting, sending}}).Where("e.number < d.number")
	stmt := sq.Select(deliveryColumns...).From(db.As(wpdb.WebhookDeliveries, "d")).
		Where(sq.Eq{"d.webhook_id": h.ID, "d.status": waiting}).Where(sq.LtOrEq{"d.due_at": domain.Stamp(now)}).
		Where(sq.ConcatExpr("(", earlier.Limit(1), ") IS NULL")).OrderBy("d.due_at", "d.number").Limit(uint64(most))
	found, err := wpdb.All(ctx, db, "find deliveries", stmt, w.store.scanDelivery)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	owner, err := domain.RandomHex(w.store.random, 16)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(found))
	for i := range found {
		ids[i] = found[i].ID
		found[i].Tries++
		found[i].owner = owner
	}
	take := sq.Update(db.Name(wpdb.WebhookDeliveries)).Set("status", sending).Set("owner", owner).Set("tries", sq.Expr("tries + 1")).
		Set("due_at", domain.Stamp(now.Add(claimTime))).Where(sq.Eq{"id": ids, "status": waiting})
	result, err := db.Change(ctx, "claim deliveries", take)
	if err != nil {
		return nil, err // another server may claim them, and send later ones
	}
	if result.Rows == int64(len(ids)) {
		return found, nil
	}
	mine, err := wpdb.All(ctx, db, "find claimed deliveries", sq.Select("id").From(db.Name(wpdb.WebhookDeliveries)).Where(sq.Eq{"id": ids, "owner": owner}), wpdb.Value[int64])
	return slices.DeleteFunc(found, func(d Delivery) bool { return !slices.Contains(mine, d.ID) }), err
}

// pages are the parts of the journal that a round has read: most webhooks have the same position.
type pages struct {
	journal *journal.Journal
	read    map[int64]journal.Page
}

func (p *pages) after(ctx context.Context, position int64) (journal.Page, error) {
	if page, ok := p.read[position]; ok {
		return page, nil
	}
	if end, _ := p.journal.Changed(); end.Number != 0 && end.Number == position {
		return journal.Page{Cursor: end}, nil
	}
	page, err := p.journal.ReadBehind(ctx, position, nil, pageSize)
	if err == nil {
		p.read[position] = page
	}
	return page, err
}

// fanOut turns the next entries of the journal into deliveries of a webhook, unless many are waiting. It
// returns their number, and whether there may be more entries.
func (w *Worker) fanOut(ctx context.Context, h activeHook, pages *pages) (added int, more bool, err error) {
	p := w.progress[h.ID]
	page, err := pages.after(ctx, p.scanned)
	if domain.CodeOf(err) == domain.CodeCursorExpired {
		return 0, false, w.skipLost(ctx, h)
	}
	if err != nil || page.Cursor.Number == p.scanned {
		return 0, false, err
	}
	entries := page.Entries
	if h.key != nil {
		entries = journal.Visible(entries, h.key.Scope)
	}
	deliveries, err := w.deliveries(h, entries)
	if err != nil {
		return 0, false, err
	}
	p.scanned = page.Cursor.Number
	if len(deliveries) == 0 && p.scanned-p.stored < maxSkipped {
		w.progress[h.ID] = p
		return 0, page.More, nil
	}
	if n, err := w.store.Waiting(ctx, h.ID, w.waiting); err != nil || n >= w.waiting {
		return 0, false, err
	}
	moved := false
	err = w.store.db.Transact(ctx, "add deliveries", func(tx *wpdb.DB) error {
		// The row of the webhook is changed first, so that rivals wait here and then find that the position
		// has moved.
		stmt := sq.Update(tx.Name(wpdb.Webhooks)).Set("position", p.scanned).Where(sq.Eq{"id": h.ID, "position": p.stored, "status": string(Enabled)})
		result, err := wpdb.Exec(ctx, tx, "move webhook", stmt)
		if moved = result.Rows > 0; err != nil || !moved || len(deliveries) == 0 {
			return err
		}
		_, err = wpdb.Exec(ctx, tx, "add deliveries", insert(tx, deliveries))
		return err
	})
	if err != nil || !moved {
		return 0, false, err // another server was faster; the next round reads the position
	}
	w.progress[h.ID] = progress{stored: p.scanned, scanned: p.scanned}
	return len(deliveries), page.More, nil
}

// deliveries returns the deliveries for the entries that a webhook wants.
func (w *Worker) deliveries(h activeHook, entries []journal.Entry) (deliveries []Delivery, err error) {
	now := domain.Timestamp(domain.Stamp(w.store.now()))
	for _, e := range entries {
		e, event, ok := h.Filter.event(e)
		if !ok || !h.allowed(e.Resource) {
			continue
		}
		data, err := w.options.Encode(e)
		if err != nil {
			return nil, err
		}
		deliveries = append(deliveries, Delivery{
			WebhookID: h.ID, Number: e.Number, Event: event, Resource: e.Resource, ResourceID: e.ID, At: domain.Timestamp(domain.Stamp(e.At)),
			State: waiting, DueAt: now, CreatedAt: now, data: string(data),
		})
	}
	return deliveries, nil
}

// insert returns the statement that adds deliveries. If one already exists, because the webhook went back
// in the journal, it is sent again unless it is unfinished.
func insert(tx *wpdb.DB, deliveries []Delivery) sq.InsertBuilder {
	stmt := sq.Insert(tx.Name(wpdb.WebhookDeliveries)).
		Columns("webhook_id", "number", "event", "resource", "resource_id", "at", "data", "status", "tries", "due_at", "owner", "created_at")
	for _, d := range deliveries {
		stmt = stmt.Values(d.WebhookID, wpdb.NullIfZero(d.Number), d.Event, string(d.Resource), d.ResourceID, string(d.At), d.data, d.State, d.Tries, string(d.DueAt), d.owner, string(d.CreatedAt))
	}
	// The status is assigned last, because the other columns depend on its old value.
	var set []string
	for _, c := range [][2]string{{"tries", "0"}, {"due_at", "VALUES(due_at)"}, {"failure", "''"}, {"finished_at", "NULL"}, {"status", "VALUES(status)"}} {
		set = append(set, c[0]+" = IF(status IN ('"+delivered+"', '"+failed+"'), "+c[1]+", "+c[0]+")")
	}
	return stmt.Suffix("ON DUPLICATE KEY UPDATE " + strings.Join(set, ", "))
}

// skipLost moves a webhook to the oldest entry left, because the journal has deleted those after its
// position; to the end if the position belongs to another journal.
func (w *Worker) skipLost(ctx context.Context, h activeHook) error {
	position, err := w.store.journal.Start(ctx)
	if err == nil && position <= w.progress[h.ID].scanned {
		position, err = w.store.journal.EndIn(ctx, w.store.db)
	}
	if err != nil {
		return err
	}
	stmt := sq.Update(w.store.db.Name(wpdb.Webhooks)).Set("position", position).Where(sq.Eq{"id": h.ID, "position": h.position})
	result, err := w.store.db.Change(ctx, "move webhook", stmt)
	if err == nil && result.Rows > 0 {
		w.log.Warn("a webhook missed changes that the journal no longer has; its receiver should read all lists again", "webhook_id", h.ID)
	}
	return err
}

// outcomeOf returns the outcome of a try of a delivery.
func (w *Worker) outcomeOf(r result) domain.Outcome {
	now := w.store.now()
	switch {
	case r.answer.ok():
		return domain.Outcome{State: delivered, Due: now}
	case r.canceled:
		return domain.Outcome{State: waiting, Due: now, Failure: r.delivery.Failure}
	case r.delivery.Tries > len(retryDelays), r.answer.gone(), r.delivery.Event == TestEvent, errors.Is(r.answer.err, errForbidden):
		return domain.Outcome{State: failed, Due: now, Failure: r.answer.failure()}
	default:
		pause := max(jitter(retryDelays[r.delivery.Tries-1]), r.answer.pause)
		return domain.Outcome{State: waiting, Due: now.Add(pause), Failure: r.answer.failure()}
	}
}

// storeOutcomes stores the outcomes of finished tries, in one transaction. If it fails, they are kept for
// the next time.
func (w *Worker) storeOutcomes(ctx context.Context) error {
	if len(w.finished) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), sendLimit)
	defer stop()
	var ended map[int64]string
	err := w.store.db.Transact(ctx, "store outcomes of deliveries", func(tx *wpdb.DB) (err error) {
		// Webhooks are locked before deliveries, as in fanOut.
		if ended, err = w.storeHealth(ctx, tx); err != nil {
			return err
		}
		tries := sq.Insert(tx.Name(wpdb.WebhookTries)).Columns("webhook_id", "delivery_id", "at", "status", "took_ms", "failure", "answer")
		logged := false
		for _, r := range w.finished {
			if err := w.storeOutcome(ctx, tx, r); err != nil {
				return err
			}
			if t := r.try(); !r.canceled {
				tries = tries.Values(r.hook.ID, t.DeliveryID, string(t.At), t.Status, t.Took.Milliseconds(), t.Failure, t.Answer)
				logged = true
			}
		}
		if !logged {
			return nil
		}
		_, err = wpdb.Exec(ctx, tx, "log tries", tries)
		return err
	})
	if err != nil {
		return err
	}
	for id, reason := range ended {
		w.ended(id, reason)
	}
	for _, r := range w.finished {
		w.logTry(r)
	}
	w.finished = nil
	return nil
}

func (w *Worker) storeOutcome(ctx context.Context, tx *wpdb.DB, r result) error {
	stmt := r.outcome.Update(tx.Name(wpdb.WebhookDeliveries), w.store.now()).Set("owner", "").
		Where(sq.Eq{"id": r.delivery.ID, "owner": r.delivery.owner, "status": sending})
	if r.canceled {
		stmt = stmt.Set("tries", sq.Expr("tries - 1"))
	}
	_, err := wpdb.Exec(ctx, tx, "store outcome of a delivery", stmt)
	return err
}

// health is what finished tries say about a webhook.
type health struct {
	hook          Hook
	ok, bad, gone bool
	givenUp       []int64 // deliveries
}

// healths returns what the finished tries say, by webhook.
func (w *Worker) healths() map[int64]*health {
	healths := map[int64]*health{}
	for _, r := range w.finished {
		if r.canceled || r.delivery.Event == TestEvent {
			continue
		}
		h := healths[r.hook.ID]
		if h == nil {
			h = &health{hook: r.hook.Hook}
			healths[r.hook.ID] = h
		}
		if r.outcome.State == failed {
			h.givenUp = append(h.givenUp, r.delivery.ID)
		}
		if !r.ours {
			h.ok, h.bad, h.gone = h.ok || r.answer.ok(), h.bad || !r.answer.ok(), h.gone || r.answer.gone()
		}
	}
	return healths
}

// storeHealth records since when webhooks fail, and disables those that have failed for too long or are
// gone. It returns the reasons, by webhook.
func (w *Worker) storeHealth(ctx context.Context, tx *wpdb.DB) (ended map[int64]string, err error) {
	now := w.store.now()
	ended = map[int64]string{}
	for id, h := range w.healths() {
		since, failing := h.hook.FailingSince.Time()
		stmt := sq.Update(tx.Name(wpdb.Webhooks)).Where(sq.Eq{"id": id})
		reason := ""
		switch {
		case h.gone:
			reason = "the receiver answered 410 Gone"
		case h.bad && !h.ok && failing && now.Sub(since) >= failingLimit:
			reason = "it failed for three days"
		case h.ok && failing:
			stmt = stmt.Set("failing_since", nil)
		case len(h.givenUp) > 0:
			// The remaining deliveries decide whether the webhook still fails.
			if fails, err := w.fails(ctx, tx, id, h.givenUp); err != nil {
				return nil, err
			} else if fails {
				continue
			}
			stmt = stmt.Set("failing_since", nil)
		case !h.bad || h.ok || failing:
			continue
		default:
			stmt = stmt.Set("failing_since", domain.Stamp(now)).Where(sq.Eq{"failing_since": nil})
		}
		if reason != "" {
			stmt = stmt.Set("status", string(Disabled)).Set("reason", reason).Where(sq.Eq{"status": string(Enabled)})
		}
		result, err := wpdb.Exec(ctx, tx, "note the health of a webhook", stmt)
		if err != nil {
			return nil, err
		}
		if reason != "" && result.Rows > 0 {
			ended[id] = reason
		}
	}
	return ended, nil
}

// fails reports whether a webhook has a delivery, other than those given up, that was tried and did not
// arrive.
func (w *Worker) fails(ctx context.Context, tx *wpdb.DB, id int64, givenUp []int64) (bool, error) {
	stmt := sq.Select("id").From(tx.Name(wpdb.WebhookDeliveries)).
		Where(sq.Eq{"webhook_id": id, "status": []string{waiting, sending}}).Where(sq.Gt{"tries": 0}).Where(sq.NotEq{"id": givenUp}).Limit(1)
	_, found, err := wpdb.One(ctx, tx, "look for failing deliveries", stmt, wpdb.Value[int64])
	return found, err
}

// logTry logs a try whose outcome is stored.
func (w *Worker) logTry(r result) {
	about := []any{"webhook_id", r.hook.ID, "delivery_id", r.delivery.ID, "tries", r.delivery.Tries, "took_ms", r.took.Milliseconds()}
	switch {
	case r.canceled:
	case r.outcome.State == delivered:
		w.note(func(s *HookStats) { s.Delivered++ })
		w.log.Debug("webhook delivered", about...)
	case r.outcome.State == failed:
		w.note(func(s *HookStats) { s.Failed++ })
		w.log.Error("webhook delivery given up", append(about, "error", r.outcome.Failure)...)
	default:
		w.note(func(s *HookStats) { s.Failed++ })
		w.log.Warn("webhook not delivered yet", append(about, "error", r.outcome.Failure, "next_try", domain.Stamp(r.outcome.Due))...)
	}
}
