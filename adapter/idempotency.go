package adapter

import (
	"context"
	"errors"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// Attempt is one of the tries of a request that is to happen once, however
// often its client sends it. Both texts are hashes in 64 hexadecimal digits.
type Attempt struct {
	Scope string // of what all tries have in common
	Body  string // of what is asked for
}

// Answer is what was answered to a request, or to one of its items.
type Answer struct {
	Item   int // 0 where the request has no items
	Status int // of HTTP
	Body   []byte
}

// Ledger holds the answers to a request that may come again. A nil Ledger is
// that of a request that nobody keeps: it has none and takes none.
type Ledger struct {
	attempt Attempt
	answers []Answer
	since   Timestamp // of the first try
}

// Answers are those of earlier tries, by item.
func (l *Ledger) Answers() []Answer {
	if l == nil {
		return nil
	}
	return l.answers
}

// keepAnswers is how long a request is known again.
const keepAnswers = 24 * time.Hour

// Once lets no two tries of a request work at a time. work gets a site whose
// statements and transactions all run on the connection that keeps the others
// away: if that is lost, so is what work had not committed. A try while another
// one works is a CodeInProgress, one for something else a CodeKeyReused.
func (s *Site) Once(ctx context.Context, a Attempt, work func(site *Site, l *Ledger) error) error {
	return s.db.Session(ctx, "work once", func(db *wpdb.DB) error {
		site := *s
		site.db = db
		taken, err := db.Lock(ctx, "request "+a.Scope, 0)
		if err != nil {
			return err
		}
		if !taken {
			return inProgress(nil)
		}
		ledger, err := site.ledger(ctx, a)
		if err != nil {
			return err
		}
		return work(&site, ledger)
	})
}

// storedAnswer is an answer with what it belongs to.
type storedAnswer struct {
	Answer
	id        int64
	bodyHash  string
	createdAt Timestamp
}

// ledger finds what was answered to earlier tries.
func (s *Site) ledger(ctx context.Context, a Attempt) (*Ledger, error) {
	stmt := sq.Select("id", "item", "body_hash", "status", "answer", "created_at").From(s.db.Name(wpdb.Idempotency)).
		Where(sq.Eq{"scope": a.Scope}).OrderBy("item")
	stored, err := wpdb.All(ctx, s.db, "find answers", stmt, func(row wpdb.Scanner) (r storedAnswer, err error) {
		err = row.Scan(&r.id, &r.Item, &r.bodyHash, &r.Status, &r.Body, (*string)(&r.createdAt))
		return r, err
	})
	if err != nil {
		return nil, err
	}
	l := &Ledger{attempt: a, since: Timestamp(stamp(s.Now))}
	switch {
	case len(stored) == 0:
		return l, s.sweepAnswers(ctx)
	case stored[0].createdAt <= s.answersUntil():
		return l, s.deleteAnswers(ctx, idsOf(stored, func(r storedAnswer) int64 { return r.id }))
	case stored[0].bodyHash != a.Body:
		return nil, &Error{Code: CodeKeyReused, Message: "This Idempotency-Key was used with another request body"}
	}
	l.since = stored[0].createdAt // all of a request are forgotten together
	for _, r := range stored {
		l.answers = append(l.answers, r.Answer)
	}
	return l, nil
}

// answersUntil is the creation of answers that are forgotten by now. Timestamps
// compare as texts.
func (s *Site) answersUntil() Timestamp { return Timestamp(stamp(s.Now.Add(-keepAnswers))) }

// sweepSome is how many old answers one request clears away. It stores fewer.
const sweepSome = 100

// sweepAnswers deletes some of the answers that are forgotten. Uses the index on
// created_at.
func (s *Site) sweepAnswers(ctx context.Context) error {
	stmt := sq.Select("id").From(s.db.Name(wpdb.Idempotency)).
		Where(sq.LtOrEq{"created_at": string(s.answersUntil())}).OrderBy("created_at", "id").Limit(sweepSome)
	ids, err := wpdb.All(ctx, s.db, "find old answers", stmt, wpdb.Value[int64])
	if err != nil || len(ids) == 0 {
		return err
	}
	return s.deleteAnswers(ctx, ids)
}

// deleteAnswers deletes by id, so that two who delete the same never wait for
// each other in a circle.
func (s *Site) deleteAnswers(ctx context.Context, ids []int64) error {
	_, err := wpdb.Exec(ctx, s.db, "delete old answers", sq.Delete(s.db.Name(wpdb.Idempotency)).Where(sq.Eq{"id": ids}))
	return err
}

// Keep stores answers, in a transaction as part of it: they are there if and
// only if what they tell of has happened.
func (l *Ledger) Keep(ctx context.Context, tx *Site, answers ...Answer) error {
	if l == nil || len(answers) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.db.Name(wpdb.Idempotency)).Columns("scope", "item", "body_hash", "status", "answer", "created_at")
	for _, a := range answers {
		stmt = stmt.Values(l.attempt.Scope, a.Item, l.attempt.Body, a.Status, a.Body, string(l.since))
	}
	_, err := wpdb.Exec(ctx, tx.db, "keep answers", stmt)
	if errors.Is(err, wpdb.ErrDuplicate) {
		return inProgress(err) // on another server of a cluster, which shares rows and no locks
	}
	return err
}

func inProgress(cause error) error {
	return &Error{Code: CodeInProgress, Message: "A request with this Idempotency-Key is being processed", Cause: cause}
}
