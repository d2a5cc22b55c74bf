package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// renderedJobs are the rows of an event's jobs, in the form in which they are stored while they wait for the plugin.
type renderedJobs struct {
	Rows []session.Row `json:"jobs"`
}

// leaveToPlugin announces an event whose messages, extensions.AllMessages or Reminders, the plugin sends once the extensions of
// the site were told: its messages have what extensions add. SendOverdue sends what we have rendered if the plugin does not
// begin in time.
func leaveToPlugin(tx *session.Tx, e Event, d delivery, messages string) error {
	rendered, err := json.Marshal(renderedJobs{d.rows})
	if err != nil {
		return fmt.Errorf("leave messages to the plugin: %w", err)
	}
	patience := extensions.EventPatience
	if d.onlyByPlugin { // what we have rendered lacks that: it waits until the plugin would no longer send it
		patience = lateness
	}
	_, id := e.record()
	tx.Announce(extensions.Event{Name: string(e.Kind), RecordID: id, Messages: messages, Rendered: string(rendered), RenderedDue: tx.Now.Add(patience)})
	return nil
}

// RunOverdue sends, until ctx ends, the messages that were left to the plugin and that it does not begin to send in time.
func RunOverdue(ctx context.Context, p *session.Platform, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Events.Late:
		}
		_, err := session.ServeBackground(ctx, p, func(ctx context.Context, s *session.Session) (struct{}, error) {
			return struct{}{}, SendOverdue(ctx, s)
		})
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "messages that the site does not send are not sent yet", "error", err)
		}
	}
}

// SendOverdue sends the messages that were left to the plugin and that it has not begun to send in time.
func SendOverdue(ctx context.Context, s *session.Session) error {
	ids, err := extensions.OverdueEvents(ctx, s.DB, s.Now)
	if err != nil {
		return err
	}
	var failures []error
	for _, id := range ids {
		err := s.Transact(ctx, "send messages in place of the plugin", func(tx *session.Tx) error { return sendOverdue(ctx, tx, id) })
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// recordTables are the tables of records, by the platform's words for their types.
var recordTables = map[string]wpdb.Table{"booking": wpdb.Bookings, "customer": wpdb.Customers, "order": wpdb.Orders, "transaction": wpdb.Transactions}

// sendOverdue stores the jobs of one event, unless somebody else has begun with it. Like the plugin, it sends nothing about a
// record that is gone.
func sendOverdue(ctx context.Context, tx *session.Tx, id int64) error {
	e, taken, err := extensions.TakeOverEvent(ctx, tx.DB, id)
	if err != nil || !taken {
		return err
	}
	var jobs renderedJobs
	values := json.NewDecoder(strings.NewReader(e.Rendered))
	values.UseNumber() // ids
	if err := values.Decode(&jobs); err != nil {
		return fmt.Errorf("read messages of event %d: %w", id, err)
	}
	objectType, _, _ := strings.Cut(e.Name, "_")
	stmt := sq.Select("1").From(tx.DB.Name(recordTables[objectType])).Where(sq.Eq{"id": e.RecordID})
	if _, found, err := wpdb.One(ctx, tx.DB, "find "+objectType, stmt, wpdb.Value[int64]); err != nil || !found {
		return err
	}
	if err := deleteScheduledJobs(ctx, tx, eventKind(e.Name), objectType, e.RecordID); err != nil { // those of an earlier event may have been stored since
		return err
	}
	_, err = tx.InsertLater(ctx, wpdb.ProcessJobs, jobs.Rows...)
	return err
}
