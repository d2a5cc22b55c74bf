package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/wpdb"
)

// ReadRecord returns the present record as a key may see it, or with full access if keyID is 0. ok is false
// if there is none, or if it is a booking outside the filter. A record that takes too much memory is an
// ErrTooLarge.
type ReadRecord func(ctx context.Context, keyID int64, filter Filter, resource journal.Resource, id int64) (record json.RawMessage, ok bool, err error)

// Sent is a delivery with the body that a try sends now.
type Sent struct {
	Delivery
	Body []byte
	// Tried is set if it is known what the last try sent, and Same if that was Body.
	Tried, Same bool
}

// Sent returns a delivery of a webhook, with the present record if the webhook gets records. ok is false if there is
// no such delivery. Records that were sent are not kept, because they have personal data; a digest of the body says
// whether this is what was sent.
func (s *Store) Sent(ctx context.Context, hook Hook, id int64, read ReadRecord) (sent Sent, ok bool, err error) {
	stmt := sq.Select(deliveryColumns...).From(s.db.As(wpdb.WebhookDeliveries, "d")).Where(sq.Eq{"d.id": id, "d.webhook_id": hook.ID})
	if sent.Delivery, ok, err = wpdb.One(ctx, s.db, "find delivery", stmt, s.scanDelivery); err != nil || !ok {
		return Sent{}, false, err
	}
	data, _, err := sent.dataFor(hook, func() (json.RawMessage, bool, error) {
		return read(ctx, hook.KeyID, hook.Filter, sent.Resource, sent.ResourceID)
	})
	if err != nil {
		return Sent{}, false, err
	}
	if sent.Body, err = sent.payload(data); err != nil {
		return Sent{}, false, err
	}
	last := sq.Select("digest").From(s.db.Name(wpdb.WebhookTries)).Where(sq.Eq{"delivery_id": id}).OrderBy("id DESC").Limit(1)
	digest, _, err := wpdb.One(ctx, s.db, "find the last try", last, wpdb.Value[string])
	sent.Tried, sent.Same = digest != "", digest == digestOf(sent.Body)
	return sent, true, err
}

// digestOf identifies a body.
func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// HasRecord reports whether a webhook gets the record with the delivery.
func (d Delivery) HasRecord(hook Hook) bool { return hook.Record && d.Event != TestEvent }

// dataFor returns the data that is sent to a webhook, with the record that read finds if the webhook gets it: null if
// there is none. tooLarge is set if the record is left out because of its size.
func (d Delivery) dataFor(hook Hook, read func() (record json.RawMessage, exists bool, err error)) (data json.RawMessage, tooLarge bool, err error) {
	data = json.RawMessage(d.data)
	if !d.HasRecord(hook) {
		return data, false, nil
	}
	record, exists, err := read()
	if errors.Is(err, ErrTooLarge) {
		return data, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	if !exists || d.isDeleted() {
		record = json.RawMessage("null")
	}
	if len(record) > maxRecord {
		return data, true, nil
	}
	return slices.Concat(data[:len(data)-1], []byte(`,"record":`), record, []byte{'}'}), false, nil
}
