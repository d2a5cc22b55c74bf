package handlers

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/wpdb"
)

// maxRecord is how many bytes may be read for a webhook's record, see wpdb.Allow.
const maxRecord = 3 << 19

// WebhookOptions returns how changes and records are sent to webhooks: in the form of GET /changes. A
// record has only what the webhook's key may see.
func WebhookOptions(platform *session.Platform, store *keys.Store, siteTimestamps bool) jobs.WorkerOptions {
	return jobs.WorkerOptions{
		Encode: func(e journal.Entry) ([]byte, error) { return encodeBody(compat.ChangeOf(e)) },
		Record: func(ctx context.Context, keyID int64, filter jobs.HookFilter, resource journal.Resource, id int64) (json.RawMessage, bool, error) {
			ctx, _ = wpdb.WithUsage(ctx)
			wpdb.Allow(ctx, maxRecord)
			key, known, err := store.Find(ctx, keyID)
			if err != nil || !known && keyID != 0 {
				return nil, false, err
			}
			site, err := platform.SessionOf(ctx, &key)
			if err != nil {
				return nil, false, err
			}
			read, err := bookings.LoadRecords(ctx, site, map[journal.Resource][]int64{resource: {id}})
			if failures.TooLarge(err) {
				return nil, false, jobs.ErrTooLarge
			}
			if err != nil {
				return nil, false, err
			}
			read.Bookings = slices.DeleteFunc(read.Bookings, func(b records.Booking) bool { return !filter.Covers(b.Assignment()) })
			view := compat.View{}
			if siteTimestamps {
				view.Location = site.Zone.Location
			}
			record, found := view.ChangedRecords(read)[compat.ChangedRecord{Resource: resource, ID: id}]
			if !found {
				return nil, false, nil
			}
			shown := record
			if keyID != 0 {
				shown = visible(record, key)
			}
			text, err := encodeBody(shown)
			return text, true, err
		},
	}
}
