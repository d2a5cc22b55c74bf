package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Message is a mail to one recipient.
type Message struct {
	// ID is the same whenever the mail is tried, and no other mail's.
	ID      string
	To      mail.Address
	Subject string // of one line
	Content string // HTML
	Queued  time.Time
	// Calendar is a calendar file to attach; its name is empty for none.
	Calendar Attachment
}

// Sender hands messages to a mail server. Its errors hold nothing of a message:
// they are logged and stored.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// What a Sender says about a message that the server did not take. Every other
// error is about the server itself, and keeps the mails behind waiting too.
var (
	ErrMailRefused = errors.New("mail refused") // for good
	ErrMailPutOff  = errors.New("mail put off") // for now
)

// Limits of the outbox. claimFor is much longer than a try, because the clocks
// of the processes may differ.
const (
	sendLimit = 2 * time.Minute     // of one try; some servers look at a mail for long
	claimFor  = 10 * time.Minute    // then a mail that was being tried is free again: its process is gone
	tooLate   = 48 * time.Hour      // then a mail misleads more than it helps
	retention = 30 * 24 * time.Hour // once they are sent or given up
	pollEvery = 30 * time.Second    // for retries, and for what other processes queued
)

// retryPauses follow the failed tries of a mail, a day and an hour in all.
var retryPauses = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// notePauses follow failed tries to store what became of a mail.
var notePauses = []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second}

// Relay sends the mails that were queued in a table of ours, where the site
// does not send them. Any number of processes may do so on one database.
//
// A mail is claimed by raising its number of tries, which only one process can
// do, and a claim outlasts the longest try. So a mail is sent twice only where a
// process is lost, or loses the database, between the server's yes and noting
// it; both then have the same Message.ID.
type Relay struct {
	db     *wpdb.DB
	now    domain.Clock
	sender Sender
	log    *slog.Logger
	nudged chan struct{}
}

// NewRelay sends from db through sender. The log gets ids of mails, and never
// what is in them.
func NewRelay(db *wpdb.DB, now domain.Clock, sender Sender, log *slog.Logger) *Relay {
	return &Relay{db: db, now: now, sender: sender, log: log, nudged: make(chan struct{}, 1)}
}

// Nudge says that mails were queued. It does not wait.
func (r *Relay) Nudge() {
	select {
	case r.nudged <- struct{}{}:
	default: // it will look anyway
	}
}

// Run sends until ctx ends. A try that is running then may go on for grace;
// one that is cut off is made again later, like any failed one.
func (r *Relay) Run(ctx context.Context, grace time.Duration) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		r.complain(r.deliver(ctx, grace))
		select {
		case <-ctx.Done():
			return
		case <-r.nudged:
		case <-poll.C:
		}
	}
}

// complain logs why the outbox stands still. The next round tries again.
func (r *Relay) complain(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		r.log.Error("the outbox stands still", "error", err)
	}
}

// deliver tries all mails that are due, the longest due first, up to the first
// that the server itself is in the way of.
func (r *Relay) deliver(ctx context.Context, grace time.Duration) error {
	for ctx.Err() == nil {
		q, ok, err := r.claim(ctx)
		if err != nil || !ok {
			return err
		}
		failure := r.try(ctx, grace, q)
		if err := r.note(ctx, q, r.judge(q, failure)); err != nil {
			return err
		}
		if failure != nil && !errors.Is(failure, ErrMailRefused) && !errors.Is(failure, ErrMailPutOff) {
			return nil
		}
	}
	return nil
}

// queuedMail is a mail in the outbox.
type queuedMail struct {
	Message
	id      int64
	tries   int // with the one that the mail is claimed for
	created domain.Timestamp
}

// claim finds the next mail that is due and keeps other processes from it; ok is
// false where none is due.
func (r *Relay) claim(ctx context.Context) (q queuedMail, ok bool, err error) {
	for {
		q, ok, err = r.next(ctx)
		if err != nil || !ok {
			return q, false, err
		}
		taken, err := r.take(ctx, q)
		if err != nil || taken {
			q.tries++
			return q, taken, err
		}
	}
}

// next uses the index on status and due_at.
func (r *Relay) next(ctx context.Context) (queuedMail, bool, error) {
	stmt := sq.Select("id", "name", "address", "subject", "content", "calendar_name", "COALESCE(calendar, '')", "tries", "created_at").From(r.db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": waiting}).Where(sq.LtOrEq{"due_at": domain.Stamp(r.now())}).OrderBy("due_at", "id").Limit(1)
	return wpdb.One(ctx, r.db, "find mail to send", stmt, r.scan)
}

func (r *Relay) scan(row wpdb.Scanner) (q queuedMail, err error) {
	err = row.Scan(&q.id, &q.To.Name, &q.To.Address, &q.Subject, &q.Content, &q.Calendar.Name, &q.Calendar.Content, &q.tries, (*string)(&q.created))
	q.Queued, _ = q.created.Time()
	// A hash, because ids count the site's bookings, and sites of a network may
	// have equal ones.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", r.db.Prefix(), q.id, q.created))
	q.ID = hex.EncodeToString(sum[:16])
	return q, err
}

// take returns false where another process was quicker. The statement touches one
// row by its key, so that processes do not wait for each other in a circle.
func (r *Relay) take(ctx context.Context, q queuedMail) (bool, error) {
	stmt := sq.Update(r.db.Name(wpdb.Outbox)).Set("tries", q.tries+1).Set("due_at", domain.Stamp(r.now().Add(claimFor))).
		Where(sq.Eq{"id": q.id, "tries": q.tries, "status": waiting})
	result, err := wpdb.Exec(ctx, r.db, "claim mail", stmt)
	if errors.Is(err, wpdb.ErrConflict) {
		return false, nil // two primaries of a cluster
	}
	return result.Rows == 1, err
}

// try sends a claimed mail.
func (r *Relay) try(ctx context.Context, grace time.Duration, q queuedMail) error {
	if r.now().Sub(q.Queued) > tooLate {
		return fmt.Errorf("%w: it is older than %v", ErrMailRefused, tooLate)
	}
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-sending.Done():
		}
	})
	defer stop()
	return r.sender.Send(sending, q.Message)
}

// verdict is what becomes of a mail after a try.
type verdict struct {
	status  string
	due     time.Time
	failure error
}

func (r *Relay) judge(q queuedMail, failure error) verdict {
	now := r.now()
	switch {
	case failure == nil:
		return verdict{sent, now.Add(retention), nil}
	case errors.Is(failure, ErrMailRefused), q.tries > len(retryPauses):
		return verdict{failed, now.Add(retention), failure}
	default:
		return verdict{waiting, now.Add(retryPauses[q.tries-1]), failure}
	}
}

// note stores a verdict. It does not give up soon, because a mail that was sent
// and not noted is sent again. Once ctx has ended, the try at hand is the last.
func (r *Relay) note(ctx context.Context, q queuedMail, v verdict) error {
	for attempt := 0; ; attempt++ {
		err := r.store(context.WithoutCancel(ctx), q, v)
		if err == nil || attempt == len(notePauses) {
			return err
		}
		select {
		case <-time.After(notePauses[attempt]):
		case <-ctx.Done():
			return err
		}
	}
}

func (r *Relay) store(ctx context.Context, q queuedMail, v verdict) error {
	stmt := sq.Update(r.db.Name(wpdb.Outbox)).Set("status", v.status).Set("due_at", domain.Stamp(v.due)).Set("failure", v.reason()).
		Where(sq.Eq{"id": q.id, "tries": q.tries})
	if v.status != waiting {
		stmt = stmt.Set("finished_at", domain.Stamp(r.now()))
	}
	if _, err := wpdb.Exec(ctx, r.db, "note what became of a mail", stmt); err != nil {
		return err
	}
	about := []any{"outbox_id", q.id, "tries", q.tries}
	switch v.status {
	case sent:
		r.log.Info("mail sent", about...)
	case failed:
		r.log.Error("mail given up", append(about, "error", v.failure)...)
	default:
		r.log.Warn("mail not sent yet", append(about, "error", v.failure, "next_try", domain.Stamp(v.due))...)
	}
	return nil
}

// reason fits its column.
func (v verdict) reason() string {
	if v.failure == nil {
		return ""
	}
	runes := []rune(v.failure.Error())
	return string(runes[:min(len(runes), 190)])
}
