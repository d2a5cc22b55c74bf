package adapter

import (
	"context"
	"errors"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Attempt is one of the tries of a request that is to happen once, however
// often its client sends it. Scope and Body are hashes in 64 hexadecimal digits.
type Attempt struct {
	Scope string        // of what all tries have in common
	Body  string        // of what is asked for
	Items int           // how many answers the request has in the end, at least 1
	Lease time.Duration // the longest that a try may run
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
	owner   string // of the claim; empty where the request was answered in full
	answers []Answer
	since   domain.Timestamp // of the first try
	full    bool             // all answers were kept, unless the transaction failed
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

// Once lets no two tries of a request work at a time. A row claims the request
// before work runs, by a statement of its own and for no longer than a try may
// run, so that a claim whose server died ends by itself. Only who has the claim
// can keep answers, and with them commit what they tell of. A try while another
// one works is a CodeInProgress, one for something else a CodeKeyReused.
func (s *Site) Once(ctx context.Context, a Attempt, work func(l *Ledger) error) error {
	ledger, err := s.claim(ctx, a)
	if err == nil {
		err = work(ledger)
	}
	if ledger.owner != "" && (err != nil || !ledger.full) {
		err = errors.Join(err, s.release(ctx, ledger))
	}
	return err
}

// storedAnswer is a row of the table.
type storedAnswer struct {
	Answer
	id           int64
	bodyHash     string
	owner        string
	claimedUntil domain.Timestamp
	createdAt    domain.Timestamp
}

// claim finds what was answered to earlier tries and, where that is not all,
// claims the request. The ledger of a failed claim has an owner only where the
// claim may be in the table all the same. Uses the index on scope and item.
func (s *Site) claim(ctx context.Context, a Attempt) (*Ledger, error) {
	stmt := sq.Select("id", "item", "body_hash", "status", "answer", "owner", "claimed_until", "created_at").From(s.db.Name(wpdb.Idempotency)).
		Where(sq.Eq{"scope": a.Scope}).OrderBy("item").Limit(uint64(a.Items) + maxItems)
	stored, err := wpdb.All(ctx, s.db, "find answers", stmt, func(row wpdb.Scanner) (r storedAnswer, err error) {
		err = row.Scan(&r.id, &r.Item, &r.bodyHash, &r.Status, &r.Body, &r.owner, wpdb.OrZero((*string)(&r.claimedUntil)), (*string)(&r.createdAt))
		return r, err
	})
	if err != nil {
		return &Ledger{}, err
	}
	if len(stored) > 0 && stored[0].createdAt <= s.answersUntil() {
		if err := s.deleteAnswers(ctx, idsOf(stored, func(r storedAnswer) int64 { return r.id })); err != nil {
			return &Ledger{}, err
		}
		stored = nil
	}
	if len(stored) == 0 {
		return s.insertClaim(ctx, a)
	}
	first := stored[0]
	l := &Ledger{attempt: a, since: first.createdAt} // all of a request are forgotten together
	unanswered := first.Status == 0
	switch {
	case first.owner != "" && first.claimedUntil > domain.Timestamp(domain.Stamp(s.Now)):
		return &Ledger{}, domain.RequestInProgress(nil)
	case first.bodyHash != a.Body && !unanswered:
		return &Ledger{}, domain.IdempotencyKeyReused()
	case !unanswered:
		for _, r := range stored {
			l.answers = append(l.answers, r.Answer)
		}
	}
	if len(l.answers) == a.Items {
		return l, nil
	}
	return s.takeOver(ctx, l, first)
}

// maxItems is more than a request has items.
const maxItems = 100

// insertClaim claims a request that nobody has claimed before.
func (s *Site) insertClaim(ctx context.Context, a Attempt) (*Ledger, error) {
	owner, err := s.hexDigits(ownerBytes)
	if err != nil {
		return &Ledger{}, err
	}
	now := domain.Stamp(s.Now)
	stmt := sq.Insert(s.db.Name(wpdb.Idempotency)).
		Columns("scope", "item", "body_hash", "status", "answer", "owner", "claimed_until", "created_at").
		Values(a.Scope, 0, a.Body, 0, "", owner, s.claimEnd(a), now)
	_, err = wpdb.Exec(ctx, s.db, "claim a request", stmt)
	return claimed(&Ledger{attempt: a, owner: owner, since: domain.Timestamp(now)}, err)
}

// takeOver claims a request that a try before has left unfinished: it failed in
// the midst of its items, or its server died.
func (s *Site) takeOver(ctx context.Context, l *Ledger, first storedAnswer) (_ *Ledger, err error) {
	if l.owner, err = s.hexDigits(ownerBytes); err != nil {
		return &Ledger{}, err
	}
	stmt := sq.Update(s.db.Name(wpdb.Idempotency)).
		Set("owner", l.owner).Set("claimed_until", s.claimEnd(l.attempt)).Set("body_hash", l.attempt.Body).
		Where(sq.Eq{"id": first.id, "owner": first.owner})
	result, err := wpdb.Exec(ctx, s.db, "take over a request", stmt)
	if err == nil && result.Rows == 0 {
		return &Ledger{}, domain.RequestInProgress(nil)
	}
	return claimed(l, err)
}

// claimed is a claim, or the error of one that another server made at the same
// time: on a cluster both statements succeed until one of them is refused. After
// any other error the claim may have been made.
func claimed(l *Ledger, err error) (*Ledger, error) {
	if errors.Is(err, wpdb.ErrDuplicate) || errors.Is(err, wpdb.ErrConflict) {
		return &Ledger{}, domain.RequestInProgress(err)
	}
	return l, err
}

// ownerBytes are the random bytes of an owner's name, enough for no two to be the
// same.
const ownerBytes = 16

func (s *Site) claimEnd(a Attempt) string { return domain.Stamp(s.Now.Add(a.Lease)) }

// releaseWithin is how long a release may take after the request's own time.
const releaseWithin = 5 * time.Second

// releaseTries are more than there are connections that break at the same time,
// unless the database itself is gone.
const releaseTries = 3

// release lets others try at once, in place of when the claim ends. Where the
// outcome of a commit is not known the row tells: an answer stays. A connection
// that was lost does not matter, nor a rival on another node of a cluster, for the
// same statement may run twice.
func (s *Site) release(ctx context.Context, l *Ledger) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	err := s.releaseOnce(ctx, l)
	for tries := 1; tries < releaseTries && (errors.Is(err, wpdb.ErrLinkLost) || errors.Is(err, wpdb.ErrConflict)); tries++ {
		err = s.releaseOnce(ctx, l)
	}
	return err
}

func (s *Site) releaseOnce(ctx context.Context, l *Ledger) error {
	mine := sq.Eq{"scope": l.attempt.Scope, "item": 0, "owner": l.owner}
	unanswered := sq.Delete(s.db.Name(wpdb.Idempotency)).Where(sq.And{mine, sq.Eq{"status": 0}})
	result, err := wpdb.Exec(ctx, s.db, "release a request", unanswered)
	if err != nil || result.Rows > 0 {
		return err
	}
	answered := sq.Update(s.db.Name(wpdb.Idempotency)).Set("owner", "").Set("claimed_until", nil).Where(mine)
	_, err = wpdb.Exec(ctx, s.db, "release a request", answered)
	return err
}

// answersUntil is the creation of answers that are forgotten by now. Timestamps
// compare as texts.
func (s *Site) answersUntil() domain.Timestamp {
	return domain.Timestamp(domain.Stamp(s.Now.Add(-keepAnswers)))
}

// deleteAnswers deletes by id, so that two who delete the same never wait for
// each other in a circle.
func (s *Site) deleteAnswers(ctx context.Context, ids []int64) error {
	_, err := s.db.Change(ctx, "delete old answers", sq.Delete(s.db.Name(wpdb.Idempotency)).Where(sq.Eq{"id": ids}))
	return err
}

// Keep stores answers, in a transaction as part of it: they are there if and
// only if what they tell of has happened. Without the claim nothing is stored,
// which is a CodeInProgress. The last answer ends the claim.
func (l *Ledger) Keep(ctx context.Context, tx *Site, answers ...Answer) error {
	if l == nil || len(answers) == 0 {
		return nil
	}
	if l.owner == "" {
		return domain.RequestInProgress(nil)
	}
	claim := sq.Update(tx.db.Name(wpdb.Idempotency)).Set("n", sq.Expr("n + 1")).
		Where(sq.Eq{"scope": l.attempt.Scope, "item": 0, "owner": l.owner})
	rest := answers
	if answers[0].Item == 0 {
		claim = claim.Set("status", answers[0].Status).Set("answer", answers[0].Body)
		rest = answers[1:]
	}
	if l.full = answers[len(answers)-1].Item == l.attempt.Items-1; l.full {
		claim = claim.Set("owner", "").Set("claimed_until", nil)
	}
	result, err := wpdb.Exec(ctx, tx.db, "keep an answer", claim)
	if err != nil {
		return err
	}
	if result.Rows == 0 {
		return domain.RequestInProgress(nil)
	}
	if len(rest) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.db.Name(wpdb.Idempotency)).Columns("scope", "item", "body_hash", "status", "answer", "created_at")
	for _, a := range rest {
		stmt = stmt.Values(l.attempt.Scope, a.Item, l.attempt.Body, a.Status, a.Body, string(l.since))
	}
	_, err = wpdb.Exec(ctx, tx.db, "keep answers", stmt)
	return err
}

// KeepAnswers is Ledger.Keep in a transaction of its own, for answers that tell of
// nothing that happened.
func (s *Site) KeepAnswers(ctx context.Context, l *Ledger, answers ...Answer) error {
	if l == nil || len(answers) == 0 {
		return nil
	}
	return s.write(ctx, "keep answers", func(tx *Site) error { return l.Keep(ctx, tx, answers...) })
}
