package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// rendered are the jobs of an event that are left to the plugin, as we would store them.
type rendered struct {
	Jobs []session.Row `json:"jobs"`
}

// dropPatience is when the plugin no longer sends what was due at an event (OsProcessJobsHelper::create_jobs_for_process).
const dropPatience = 5 * time.Minute

// leaveToPlugin announces an event whose messages, extensions.AllMessages or Reminders, the plugin sends once the extensions of
// the site were told: its messages have what extensions add. SendLeft sends what we have rendered if the plugin does not
// begin in time.
func leaveToPlugin(tx *session.Tx, e Event, d *deliveries, messages string) error {
	text, err := json.Marshal(rendered{Jobs: d.jobs})
	if err != nil {
		return fmt.Errorf("leave messages to the plugin: %w", err)
	}
	_, id := e.record()
	patience := extensions.EventPatience
	if d.onlyByPlugin { // what we have rendered lacks that: it waits until the plugin would no longer send it
		patience = dropPatience
	}
	tx.Announce(extensions.Event{Name: string(e.Kind), RecordID: id, Messages: messages, Rendered: string(text), RenderedDue: tx.Now.Add(patience)})
	d.jobs, d.onlyByPlugin = nil, false
	return nil
}

// RunLeft sends, until ctx ends, the messages that were left to the plugin and that it does not begin to send in time.
func RunLeft(ctx context.Context, p *session.Platform, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Events.Late:
		}
		_, err := session.ServeBackground(ctx, p, func(ctx context.Context, s *session.Session) (struct{}, error) { return struct{}{}, SendLeft(ctx, s) })
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "messages that the site does not send are not sent yet", "error", err)
		}
	}
}

// SendLeft sends the messages that were left to the plugin and that it has not begun to send in time.
func SendLeft(ctx context.Context, s *session.Session) error {
	ids, err := extensions.OverdueEvents(ctx, s.DB, s.Now)
	if err != nil {
		return err
	}
	var failures []error
	for _, id := range ids {
		err := s.Transact(ctx, "send messages in place of the plugin", func(tx *session.Tx) error { return sendLeft(ctx, tx, id) })
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// recordTables are the tables of records, by the platform's words for their types.
var recordTables = map[string]wpdb.Table{"booking": wpdb.Bookings, "customer": wpdb.Customers, "order": wpdb.Orders, "transaction": wpdb.Transactions}

// sendLeft sends the messages of one event, unless its record is gone, as the plugin would.
func sendLeft(ctx context.Context, tx *session.Tx, id int64) error {
	e, taken, err := extensions.TakeOverEvent(ctx, tx.DB, id)
	if err != nil || !taken {
		return err
	}
	var left rendered
	values := json.NewDecoder(strings.NewReader(e.Rendered))
	values.UseNumber() // ids
	if err := values.Decode(&left); err != nil {
		return fmt.Errorf("read messages of event %d: %w", id, err)
	}
	objectType, what, _ := strings.Cut(e.Name, "_")
	stmt := sq.Select("1").From(tx.DB.Name(recordTables[objectType])).Where(sq.Eq{"id": e.RecordID})
	if _, found, err := wpdb.One(ctx, tx.DB, "find "+objectType, stmt, wpdb.Value[int64]); err != nil || !found {
		return err
	}
	if what == "updated" { // jobs of an earlier event may have been stored since
		if err := deleteScheduled(ctx, tx, objectType, e.RecordID); err != nil {
			return err
		}
	}
	return deliveries{jobs: left.Jobs}.hand(ctx, tx)
}
