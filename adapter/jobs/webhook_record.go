package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/bookside/bookside/adapter/journal"
)

// ReadRecord returns the present record as a key may see it, or with full access if keyID is 0. ok is false
// if there is none, or if it is a booking outside the filter. A record that takes too much memory is an
// ErrTooLarge.
type ReadRecord func(ctx context.Context, keyID int64, filter HookFilter, resource journal.Resource, id int64) (record json.RawMessage, ok bool, err error)

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
