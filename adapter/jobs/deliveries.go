package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/wpdb"
)

// The states of a delivery.
const (
	waiting   = domain.Waiting
	sending   = "sending" // claimed by a server
	delivered = "delivered"
	failed    = domain.Failed
)

// DeliveryStates are the states of deliveries.
var DeliveryStates = []string{waiting, sending, delivered, failed}

// Retention is how long the log of deliveries is kept.
const Retention = 30 * 24 * time.Hour

// Delivery is an event that is or was sent to a webhook.
type Delivery struct {
	ID         int64
	WebhookID  int64
	Number     int64 // of the entry in the journal; 0 for a test
	Event      string
	Resource   journal.Resource
	ResourceID int64
	At         domain.Timestamp // time of the change
	State      string           // one of DeliveryStates
	Tries      int
	DueAt      domain.Timestamp // of the next try while it is waiting
	Failure    string           // of the last try; "" for none
	CreatedAt  domain.Timestamp
	FinishedAt domain.Timestamp // "" until it is delivered or given up

	data   string // the entry as JSON
	prefix string // of the site's tables
	owner  string // of the claim
}

// MessageID returns the webhook-id that is sent with each try.
func (d Delivery) MessageID() string {
	return "evt_" + domain.MessageID(d.prefix, d.WebhookID, d.ID, d.CreatedAt)
}

// Payload returns the body that is sent, without the record that some webhooks get, see Sent.
func (d Delivery) Payload() ([]byte, error) { return d.payload([]byte(d.data)) }

// payload returns the body of a request with the data, in the form that Standard Webhooks recommends.
func (d Delivery) payload(data json.RawMessage) ([]byte, error) {
	at, _ := d.At.Time()
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // it would make a record six times as large
	err := encoder.Encode(struct {
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"` // of the change
		Data      json.RawMessage `json:"data"`
	}{d.Event, at, data})
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), err
}

// Waits reports whether the delivery waits for its next try.
func (d Delivery) Waits() bool { return d.State == waiting }

// Try is a request that was sent to a webhook.
type Try struct {
	ID         int64
	DeliveryID int64
	At         domain.Timestamp
	Status     int // of the response; 0 if there was none
	Took       time.Duration
	Failure    string // "" if the receiver accepted it
	Answer     string // the first 500 bytes of the response
}

var deliveryColumns = []string{
	"d.id", "d.webhook_id", "d.number", "d.event", "d.resource", "d.resource_id", "d.at", "d.status", "d.tries", "d.due_at", "d.failure",
	"d.created_at", "d.finished_at", "d.data",
}

// scanDelivery scans deliveryColumns.
func (s *HookStore) scanDelivery(row wpdb.Scanner) (d Delivery, err error) {
	d.prefix = s.db.Prefix()
	err = row.Scan(&d.ID, &d.WebhookID, wpdb.OrZero(&d.Number), &d.Event, (*string)(&d.Resource), &d.ResourceID, (*string)(&d.At), &d.State, &d.Tries,
		(*string)(&d.DueAt), &d.Failure, (*string)(&d.CreatedAt), wpdb.OrZero((*string)(&d.FinishedAt)), &d.data)
	return d, err
}

// DeliveryFilter selects deliveries.
type DeliveryFilter struct {
	Before int64  // id; 0 for the newest
	State  string // "" for all
	Limit  int64
}

// Deliveries returns deliveries of a webhook, newest first, and whether there are more. It does not check
// that the webhook exists.
func (s *HookStore) Deliveries(ctx context.Context, webhookID int64, f DeliveryFilter) (found []Delivery, more bool, err error) {
	which := sq.And{sq.Eq{"d.webhook_id": webhookID}}
	if f.Before > 0 {
		which = append(which, sq.Lt{"d.id": f.Before})
	}
	if f.State != "" {
		which = append(which, sq.Eq{"d.status": f.State})
	}
	stmt := sq.Select(deliveryColumns...).From(s.db.As(wpdb.WebhookDeliveries, "d")).Where(which).OrderBy("d.id DESC").Limit(uint64(f.Limit) + 1)
	return wpdb.First(ctx, s.db, "list deliveries", stmt, f.Limit, s.scanDelivery)
}

// Tries returns the tries of deliveries, by delivery id, oldest first.
func (s *HookStore) Tries(ctx context.Context, deliveries []Delivery) (map[int64][]Try, error) {
	ids := make([]int64, len(deliveries))
	for i := range deliveries {
		ids[i] = deliveries[i].ID
	}
	if len(ids) == 0 {
		return nil, nil
	}
	stmt := sq.Select("id", "delivery_id", "at", "status", "took_ms", "failure", "answer").From(s.db.Name(wpdb.WebhookTries)).
		Where(sq.Eq{"delivery_id": ids}).OrderBy("id")
	found, err := wpdb.All(ctx, s.db, "list tries", stmt, func(row wpdb.Scanner) (t Try, err error) {
		var took int64
		err = row.Scan(&t.ID, &t.DeliveryID, (*string)(&t.At), &t.Status, &took, &t.Failure, &t.Answer)
		t.Took = time.Duration(took) * time.Millisecond
		return t, err
	})
	tries := make(map[int64][]Try, len(ids))
	for _, t := range found {
		tries[t.DeliveryID] = append(tries[t.DeliveryID], t)
	}
	return tries, err
}

// Waiting returns the number of deliveries of a webhook that are still to be delivered, up to a limit.
func (s *HookStore) Waiting(ctx context.Context, webhookID, limit int64) (int64, error) {
	open := sq.Select("d.id").From(s.db.As(wpdb.WebhookDeliveries, "d")).
		Where(sq.Eq{"d.webhook_id": webhookID, "d.status": []string{waiting, sending}}).Limit(uint64(limit))
	n, _, err := wpdb.One(ctx, s.db, "count deliveries", sq.Select("COUNT(*)").FromSelect(open, "o"), wpdb.Value[int64])
	return n, err
}

// ErrSending means that a delivery cannot be sent again because it is being sent.
var ErrSending = errors.New("the delivery is being sent at the moment")

// Replay sends a delivery again, with all its retries. found is false if the webhook has no such delivery.
func (s *HookStore) Replay(ctx context.Context, webhookID, deliveryID int64) (found bool, err error) {
	which := sq.Eq{"id": deliveryID, "webhook_id": webhookID}
	err = s.db.Transact(ctx, "replay a delivery", func(tx *wpdb.DB) error {
		stmt := sq.Update(tx.Name(wpdb.WebhookDeliveries)).SetMap(s.again()).Where(which).Where(sq.NotEq{"status": sending})
		result, err := wpdb.Exec(ctx, tx, "replay a delivery", stmt)
		if found = result.Rows > 0; err != nil || found {
			return err
		}
		_, found, err = wpdb.One(ctx, tx, "find delivery", sq.Select("id").From(tx.Name(wpdb.WebhookDeliveries)).Where(which), wpdb.Value[int64])
		if err == nil && found {
			return ErrSending
		}
		return err
	})
	return found, err
}

// again returns the columns of a delivery that is sent again.
func (s *HookStore) again() map[string]any {
	return map[string]any{"status": waiting, "tries": 0, "due_at": domain.Stamp(s.now()), "failure": "", "finished_at": nil}
}

// ReplaySince sends all changes since a time again, as far as the journal still has them: the webhook
// returns to its position at that time. found is false if there is no such webhook.
func (s *HookStore) ReplaySince(ctx context.Context, webhookID int64, since time.Time) (found bool, err error) {
	position, err := s.journal.Before(ctx, since)
	if err != nil {
		return false, err
	}
	back := sq.Expr("LEAST(position, ?)", position)
	return s.change(ctx, "replay deliveries", webhookID, map[string]any{"position": back})
}

// isDeleted reports whether the delivery is about the deletion of a record.
func (d Delivery) isDeleted() bool { return strings.HasSuffix(d.Event, "."+string(journal.Deleted)) }

// Test adds a delivery of TestEvent, which the Worker sends once.
func (s *HookStore) Test(ctx context.Context, webhookID int64) (Delivery, error) {
	return s.addTest(ctx, Delivery{WebhookID: webhookID, State: waiting}, 0)
}

// addTest adds a delivery of TestEvent that is due after a delay.
func (s *HookStore) addTest(ctx context.Context, d Delivery, due time.Duration) (Delivery, error) {
	now := s.now()
	d.Event, d.At, d.DueAt = TestEvent, domain.Timestamp(domain.Stamp(now)), domain.Timestamp(domain.Stamp(now.Add(due)))
	d.CreatedAt, d.data, d.prefix = d.At, fmt.Sprintf(`{"webhook_id":%d}`, d.WebhookID), s.db.Prefix()
	result, err := s.db.Change(ctx, "add a delivery", insert(s.db, []Delivery{d}))
	d.ID = result.ID
	return d, err
}

// OldRows selects the ids of rows of a table that are no longer needed.
type OldRows struct {
	Table wpdb.Table
	Which sq.SelectBuilder
}

// OldDeliveries selects the rows that have been kept long enough, and those of deleted webhooks.
func OldDeliveries(db *wpdb.DB, now time.Time) []OldRows {
	long := domain.Stamp(now.Add(-Retention))
	ofDeleted := sq.Select("x.id").Join(db.As(wpdb.Webhooks, "h") + " ON h.id = x.webhook_id").Where(sq.Eq{"h.status": string(deleted)}).OrderBy("x.id")
	old := func(t wpdb.Table, column string) sq.SelectBuilder {
		return sq.Select("x.id").From(db.As(t, "x")).Where(sq.LtOrEq{"x." + column: long}).OrderBy("x."+column, "x.id")
	}
	empty := sq.Select("h.id").From(db.As(wpdb.Webhooks, "h")).Where(sq.Eq{"h.status": string(deleted)}).
		Where("NOT EXISTS (SELECT 1 FROM " + db.As(wpdb.WebhookDeliveries, "d") + " WHERE d.webhook_id = h.id)").
		Where("NOT EXISTS (SELECT 1 FROM " + db.As(wpdb.WebhookTries, "t") + " WHERE t.webhook_id = h.id)").OrderBy("h.id")
	return []OldRows{
		{wpdb.WebhookTries, old(wpdb.WebhookTries, "at")},
		{wpdb.WebhookDeliveries, old(wpdb.WebhookDeliveries, "finished_at")},
		{wpdb.WebhookTries, ofDeleted.From(db.As(wpdb.WebhookTries, "x"))},
		{wpdb.WebhookDeliveries, ofDeleted.From(db.As(wpdb.WebhookDeliveries, "x"))},
		{wpdb.Webhooks, empty},
	}
}
