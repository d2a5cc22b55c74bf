package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/queue"
	"github.com/bookside/bookside/wpdb"
)

// Message is a mail to one recipient.
type Message struct {
	// ID is unique to the mail and the same in every attempt to send it.
	ID      string
	To      mail.Address
	Subject string // a single line
	Content string // HTML
	Queued  time.Time
	// Calendar is a calendar file to attach; its name is empty for none.
	Calendar Attachment
}

// Sender passes messages to a mail server. Its errors are logged and stored, so
// they must not contain any part of a message.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Errors of a Sender about one message. Any other error concerns the server, so
// it makes no sense to try the next message.
var (
	ErrMailRejected = errors.New("mail rejected") // permanently
	ErrMailDeferred = errors.New("mail deferred") // worth another attempt
)

// Limits of the outbox. claimTime is much longer than an attempt, because the
// clocks of the processes may differ.
const (
	sendLimit    = 2 * time.Minute     // for one attempt; some servers take long to inspect a mail
	claimTime    = 10 * time.Minute    // until another process may send a mail whose process has died
	expiry       = 48 * time.Hour      // after that, a mail misleads more than it helps
	retention    = 30 * 24 * time.Hour // of sent and failed mails
	pollInterval = 30 * time.Second    // to find retries and mails from other processes
)

// retryDelays are the times between attempts to send a mail, 25 hours in all.
var retryDelays = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// storeDelays are the times between attempts to store the outcome.
var storeDelays = []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second}

// Relay sends the mails in the outbox. Any number of processes may run one on
// the same database.
//
// A process claims a mail by incrementing its number of attempts, which only
// one process can do, and a claim outlasts the longest attempt. A mail is sent
// twice only if a process dies or loses the database between the mail server
// accepting the mail and that being stored. Both then have the same Message.ID.
type Relay struct {
	db     *wpdb.DB
	now    domain.Clock
	sender Sender
	log    *slog.Logger
	queue.Waker
}

// NewRelay returns a Relay that sends mails from db through sender. It logs the
// ids of mails but none of their content.
func NewRelay(db *wpdb.DB, now domain.Clock, sender Sender, log *slog.Logger) *Relay {
	return &Relay{db: db, now: now, sender: sender, log: log, Waker: queue.NewWaker()}
}

// Run sends mails until ctx ends. An attempt in progress may then take as long
// as grace; if it is canceled, it counts as failed and is retried later.
func (r *Relay) Run(ctx context.Context, grace time.Duration) {
	queue.Repeat(ctx, pollInterval, r.Waker, func() { r.round(ctx, grace) })
}

// round delivers, and logs an error that ends it early. The next round retries.
func (r *Relay) round(ctx context.Context, grace time.Duration) {
	if err := r.deliver(ctx, grace); err != nil && !errors.Is(err, context.Canceled) {
		r.log.Error("mail delivery interrupted", "error", err)
	}
}

// deliver sends all mails that are due, oldest first, until the mail server itself
// fails.
func (r *Relay) deliver(ctx context.Context, grace time.Duration) error {
	for ctx.Err() == nil {
		q, ok, err := r.claim(ctx)
		if err != nil || !ok {
			return err
		}
		failure := r.send(ctx, grace, q)
		if err := r.storeOutcome(ctx, q, r.outcomeOf(q, failure)); err != nil {
			return err
		}
		if failure != nil && !errors.Is(failure, ErrMailRejected) && !errors.Is(failure, ErrMailDeferred) {
			return nil
		}
	}
	return nil
}

// queuedMail is a mail in the outbox.
type queuedMail struct {
	Message
	id      int64
	tries   int // attempts, including the current one
	created domain.Timestamp
}

// claim claims the next mail that is due, so that no other process sends it; ok is
// false if there is none.
func (r *Relay) claim(ctx context.Context) (q queuedMail, ok bool, err error) {
	for {
		q, ok, err = r.next(ctx)
		if err != nil || !ok {
			return q, false, err
		}
		claimed, err := r.tryClaim(ctx, q)
		if err != nil || claimed {
			q.tries++
			return q, claimed, err
		}
	}
}

// next finds the mail that is due first. Uses the index on status and due_at.
func (r *Relay) next(ctx context.Context) (queuedMail, bool, error) {
	stmt := sq.Select("id", "name", "address", "subject", "content", "calendar_name", "COALESCE(calendar, '')", "tries", "created_at").From(r.db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": waiting}).Where(sq.LtOrEq{"due_at": domain.Stamp(r.now())}).OrderBy("due_at", "id").Limit(1)
	return wpdb.One(ctx, r.db, "find mail to send", stmt, r.scan)
}

func (r *Relay) scan(row wpdb.Scanner) (q queuedMail, err error) {
	err = row.Scan(&q.id, &q.To.Name, &q.To.Address, &q.Subject, &q.Content, &q.Calendar.Name, &q.Calendar.Content, &q.tries, (*string)(&q.created))
	q.Queued, _ = q.created.Time()
	q.ID = queue.MessageID(r.db.Prefix(), q.id, q.created)
	return q, err
}

// tryClaim returns false if another process was faster. The statement locks only
// one row, by its primary key, so that processes cannot deadlock.
func (r *Relay) tryClaim(ctx context.Context, q queuedMail) (bool, error) {
	stmt := sq.Update(r.db.Name(wpdb.Outbox)).Set("tries", q.tries+1).Set("due_at", domain.Stamp(r.now().Add(claimTime))).
		Where(sq.Eq{"id": q.id, "tries": q.tries, "status": waiting})
	result, err := wpdb.Exec(ctx, r.db, "claim mail", stmt)
	if errors.Is(err, wpdb.ErrConflict) {
		return false, nil // another node of a cluster was faster
	}
	return result.Rows == 1, err
}

// send sends a claimed mail.
func (r *Relay) send(ctx context.Context, grace time.Duration, q queuedMail) error {
	if r.now().Sub(q.Queued) > expiry {
		return fmt.Errorf("%w: it is older than %v", ErrMailRejected, expiry)
	}
	outlived, release := queue.Outlive(ctx, grace)
	defer release()
	sending, cancel := context.WithTimeout(outlived, sendLimit)
	defer cancel()
	return r.sender.Send(sending, q.Message)
}

// outcomeOf returns the outcome of an attempt to send a mail.
func (r *Relay) outcomeOf(q queuedMail, failure error) queue.Outcome {
	now := r.now()
	switch {
	case failure == nil:
		return queue.Outcome{State: sent, Due: now.Add(retention)}
	case errors.Is(failure, ErrMailRejected), q.tries > len(retryDelays):
		return queue.Outcome{State: failed, Due: now.Add(retention), Failure: failure.Error()}
	default:
		return queue.Outcome{State: waiting, Due: now.Add(retryDelays[q.tries-1]), Failure: failure.Error()}
	}
}

// storeOutcome stores the outcome of an attempt. It tries for a while, because a
// mail whose success is not stored is sent again. If ctx ends, it stops after the
// current try.
func (r *Relay) storeOutcome(ctx context.Context, q queuedMail, o queue.Outcome) error {
	for attempt := 0; ; attempt++ {
		err := r.store(context.WithoutCancel(ctx), q, o)
		if err == nil || attempt == len(storeDelays) {
			return err
		}
		select {
		case <-time.After(storeDelays[attempt]):
		case <-ctx.Done():
			return err
		}
	}
}

func (r *Relay) store(ctx context.Context, q queuedMail, o queue.Outcome) error {
	stmt := o.Update(r.db.Name(wpdb.Outbox), r.now()).Where(sq.Eq{"id": q.id, "tries": q.tries})
	if _, err := wpdb.Exec(ctx, r.db, "store the outcome of a mail", stmt); err != nil {
		return err
	}
	about := []any{"outbox_id", q.id, "tries", q.tries}
	switch o.State {
	case sent:
		r.log.Info("mail sent", about...)
	case failed:
		r.log.Error("mail failed", append(about, "error", o.Failure)...)
	default:
		r.log.Warn("mail not sent yet", append(about, "error", o.Failure, "next_try", domain.Stamp(o.Due))...)
	}
	return nil
}
