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
	data := json.RawMessage(sent.data)
	if sent.hasRecord(hook) {
		record, exists, err := read(ctx, hook.KeyID, hook.Filter, sent.Resource, sent.ResourceID)
		if err == nil {
			record, err = sent.recorded(record, exists)
		}
		if err != nil && !errors.Is(err, ErrTooLarge) {
			return Sent{}, false, err
		}
		if err == nil {
			data = withRecord(data, record)
		}
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

// hasRecord reports whether a webhook gets the record with the delivery.
func (d Delivery) hasRecord(hook Hook) bool { return hook.Record && d.Event != TestEvent }

// recorded returns the record that is sent for one that was read: null if there is none.
func (d Delivery) recorded(record json.RawMessage, exists bool) (json.RawMessage, error) {
	switch {
	case !exists || d.isDeleted():
		return json.RawMessage("null"), nil
	case len(record) > maxRecord:
		return nil, ErrTooLarge
	default:
		return record, nil
	}
}

// withRecord adds a record to the data of a delivery.
func withRecord(data, record json.RawMessage) json.RawMessage {
	return slices.Concat(data[:len(data)-1], []byte(`,"record":`), record, []byte{'}'})
}
