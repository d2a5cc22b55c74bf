package keys

import (
	"context"
	"errors"
	"io"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// IdempotencyKey identifies a request that must be processed once, however often its client sends it. Scope, Body and
// Terms are hashes of 64 hexadecimal digits.
type IdempotencyKey struct {
	Scope string        // of what identifies the request
	Body  string        // of what the request asks for
	Terms string        // of whatever else determines what the responses show
	Items int           // how many responses a complete request has, at least 1
	Lease time.Duration // the longest time that one attempt may take
}

// half is the part of a stored hash that stands for the body; the rest stands for the terms.
const half = 32

// stored returns the hash to store with responses.
func (k IdempotencyKey) stored() string {
	return k.Body[:half] + k.Terms[:half]
}

// check returns a CodeKeyReused if the stored hash belongs to another body, and a CodeOutsideScope if it
// belongs to other terms.
func (k IdempotencyKey) check(stored string) error {
	switch {
	case stored == k.stored():
		return nil
	case len(stored) > half && stored[:half] == k.Body[:half]:
		return domain.ScopeChanged()
	default:
		return domain.IdempotencyKeyReused()
	}
}

// Response is the response to a request, or to one of its items.
type Response struct {
	Item   int // 0 if the request has no items
	Status int // as the caller defines it
	Body   []byte
}

// IdempotentRequest is an attempt to process a request that may have been sent before. A nil
// IdempotentRequest belongs to a client that sent no key: it has no responses and stores none.
type IdempotentRequest struct {
	store     ResponseStore
	key       IdempotencyKey
	owner     string // of the claim; empty if the request was already complete
	responses []Response
	since     domain.Timestamp // of the first attempt
	complete  bool             // all responses were stored, unless the transaction failed
}

// Responses returns the responses that earlier attempts stored, by item.
func (r *IdempotentRequest) Responses() []Response {
	if r == nil {
		return nil
	}
	return r.responses
}

// retention is how long responses are kept.
const retention = 24 * time.Hour

// ResponseStore keeps responses in one of Bookside's own tables. Now is the present instant of the request that
// uses it.
type ResponseStore struct {
	DB     *wpdb.DB
	Now    time.Time
	Random io.Reader
}

// Begin claims a request, so that no two attempts are processed at the same time. The claim is a row,
// written by a separate statement. It expires with its lease, so a dead server's claim ends by itself. Only
// the owner of the claim can store responses, and with them commit what they report.
//
// An attempt made while another runs gets a CodeInProgress, one with a different body a CodeKeyReused, and
// one under other terms a CodeOutsideScope. The caller must call End.
func (s ResponseStore) Begin(ctx context.Context, key IdempotencyKey) (*IdempotentRequest, error) {
	request, err := s.claim(ctx, key)
	if err != nil {
		return nil, request.End(ctx, err)
	}
	return request, nil
}

// Lost records that the transaction that stored the responses was, as far as is known, not committed: the
// claim must be released.
func (r *IdempotentRequest) Lost() {
	if r != nil {
		r.complete = false
	}
}

// End releases the claim unless all responses were stored. It returns err, the error of
// the attempt, joined with its own.
func (r *IdempotentRequest) End(ctx context.Context, err error) error {
	if r == nil || r.owner == "" || err == nil && r.complete {
		return err
	}
	return errors.Join(err, r.release(ctx))
}

// storedResponse is a row of the table. The row of item 0 carries the claim.
type storedResponse struct {
	Response
	id           int64
	bodyHash     string
	owner        string
	claimedUntil domain.Timestamp
	createdAt    domain.Timestamp
}

// maxItems is an upper bound for the items of a request.
const maxItems = 100

// stored reads the rows of a request. Uses the index on scope and item.
func (s ResponseStore) stored(ctx context.Context, key IdempotencyKey) ([]storedResponse, error) {
	stmt := sq.Select("id", "item", "body_hash", "status", "answer", "owner", "claimed_until", "created_at").From(s.DB.Name(wpdb.Idempotency)).
		Where(sq.Eq{"scope": key.Scope}).OrderBy("item").Limit(uint64(key.Items) + maxItems)
	return wpdb.All(ctx, s.DB, "find stored responses", stmt, func(row wpdb.Scanner) (r storedResponse, err error) {
		err = row.Scan(&r.id, &r.Item, &r.bodyHash, &r.Status, &r.Body, &r.owner, wpdb.OrZero((*string)(&r.claimedUntil)), (*string)(&r.createdAt))
		return r, err
	})
}

// claim finds the responses of earlier attempts and claims the request if any are missing. If a request is
// returned along with an error, its claim may be in the table nevertheless.
func (s ResponseStore) claim(ctx context.Context, key IdempotencyKey) (*IdempotentRequest, error) {
	stored, err := s.stored(ctx, key)
	if err != nil {
		return nil, err
	}
	if len(stored) > 0 && stored[0].createdAt <= responseExpiry(s.Now) {
		if err := s.deleteAll(ctx, stored); err != nil {
			return nil, err
		}
		stored = nil
	}
	if len(stored) == 0 {
		return s.insertClaim(ctx, key)
	}
	first := stored[0]
	request := &IdempotentRequest{store: s, key: key, since: first.createdAt} // all rows of a request expire together
	pending := first.Status == 0
	switch {
	case first.owner != "" && first.claimedUntil > domain.Timestamp(domain.Stamp(s.Now)):
		return nil, domain.RequestInProgress(nil)
	case !pending:
		if err := key.check(first.bodyHash); err != nil {
			return nil, err
		}
		for _, r := range stored {
			request.responses = append(request.responses, r.Response)
		}
	}
	if len(request.responses) == key.Items {
		return request, nil
	}
	return s.takeOver(ctx, request, first)
}

// insertClaim claims a request that was not sent before.
func (s ResponseStore) insertClaim(ctx context.Context, key IdempotencyKey) (*IdempotentRequest, error) {
	owner, err := s.newOwner()
	if err != nil {
		return nil, err
	}
	now := domain.Stamp(s.Now)
	stmt := sq.Insert(s.DB.Name(wpdb.Idempotency)).
		Columns("scope", "item", "body_hash", "status", "answer", "owner", "claimed_until", "created_at").
		Values(key.Scope, 0, key.stored(), 0, "", owner, s.claimEnd(key), now)
	_, err = wpdb.Exec(ctx, s.DB, "claim a request", stmt)
	return claimResult(&IdempotentRequest{store: s, key: key, owner: owner, since: domain.Timestamp(now)}, err)
}

// takeOver claims a request that an earlier attempt left unfinished, because it failed after some of its
// items or its server died.
func (s ResponseStore) takeOver(ctx context.Context, request *IdempotentRequest, first storedResponse) (_ *IdempotentRequest, err error) {
	if request.owner, err = s.newOwner(); err != nil {
		return nil, err
	}
	stmt := sq.Update(s.DB.Name(wpdb.Idempotency)).
		Set("owner", request.owner).Set("claimed_until", s.claimEnd(request.key)).Set("body_hash", request.key.stored()).
		Where(sq.Eq{"id": first.id, "owner": first.owner})
	result, err := wpdb.Exec(ctx, s.DB, "take over a request", stmt)
	switch {
	case err == nil && result.Rows == 0:
		return nil, domain.RequestInProgress(nil)
	case first.owner != "" && wpdb.IsLockWait(err):
		return nil, domain.RequestInProgress(err) // its transaction may hold the row, and may yet be committed
	}
	return claimResult(request, err)
}

// claimResult returns a request whose claim was written, or the error for one that another server claimed
// at the same time: on a cluster both statements succeed until one of them is refused. A lock wait does not
// indicate another claim, because written claims do not hold their rows. After any other error the claim
// may have been written.
func claimResult(request *IdempotentRequest, err error) (*IdempotentRequest, error) {
	if wpdb.IsLockWait(err) {
		return nil, err // nothing was written, so there is nothing to release
	}
	if errors.Is(err, wpdb.ErrDuplicate) || errors.Is(err, wpdb.ErrConflict) {
		return nil, domain.RequestInProgress(err)
	}
	return request, err
}

// newOwner returns a name for the owner of a claim: 16 random bytes, so that no two are equal.
func (s ResponseStore) newOwner() (string, error) { return domain.RandomHex(s.Random, 16) }

func (s ResponseStore) claimEnd(key IdempotencyKey) string { return domain.Stamp(s.Now.Add(key.Lease)) }

// deleteAll deletes by id, so that two servers deleting the same rows cannot deadlock.
func (s ResponseStore) deleteAll(ctx context.Context, stored []storedResponse) error {
	ids := make([]int64, len(stored))
	for i, r := range stored {
		ids[i] = r.id
	}
	_, err := s.DB.Change(ctx, "delete expired responses", sq.Delete(s.DB.Name(wpdb.Idempotency)).Where(sq.Eq{"id": ids}))
	return err
}

// responseExpiry returns the creation time of responses that expire now. Timestamps compare as texts.
func responseExpiry(now time.Time) domain.Timestamp {
	return domain.Timestamp(domain.Stamp(now.Add(-retention)))
}

// ExpiredResponses selects the ids of responses that are no longer needed. Uses the index on
// created_at.
func ExpiredResponses(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Idempotency)).
		Where(sq.LtOrEq{"created_at": string(responseExpiry(now))}).OrderBy("created_at", "id")
}

// A release may take releaseTimeout, but delays the response by at most releaseGrace beyond the request's
// own time, so that an immediate retry finds the claim free.
const (
	releaseTimeout = 5 * time.Second
	releaseGrace   = 200 * time.Millisecond
)

// releaseAttempts exceeds the number of connections that break at the same time, unless the database itself
// is gone.
const releaseAttempts = 3

// errReleaseLate is the error of a release that continues after the response.
var errReleaseLate = errors.New("release of the claim not answered yet")

// release ends the claim before its lease expires. If the outcome of a commit is unknown, the row itself
// shows whether the response was stored. A lost connection, or a rival on another node of a cluster, does
// no harm: the statement may run twice.
func (r *IdempotentRequest) release(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		return r.releaseRepeatedly(context.WithoutCancel(ctx))
	}
	released := make(chan error, 1)
	go func() { released <- r.releaseRepeatedly(context.WithoutCancel(ctx)) }()
	select {
	case err := <-released:
		return err
	case <-time.After(time.Until(deadline) + releaseGrace):
		return errReleaseLate
	}
}

func (r *IdempotentRequest) releaseRepeatedly(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	err := r.releaseOnce(ctx)
	for attempt := 1; attempt < releaseAttempts && (errors.Is(err, wpdb.ErrLinkLost) || errors.Is(err, wpdb.ErrConflict)); attempt++ {
		err = r.releaseOnce(ctx)
	}
	return err
}

func (r *IdempotentRequest) releaseOnce(ctx context.Context) error {
	db := r.store.DB
	mine := sq.Eq{"scope": r.key.Scope, "item": 0, "owner": r.owner}
	pending := sq.Delete(db.Name(wpdb.Idempotency)).Where(sq.And{mine, sq.Eq{"status": 0}})
	result, err := wpdb.Exec(ctx, db, "release a claim", pending)
	if err != nil || result.Rows > 0 {
		return err
	}
	answered := sq.Update(db.Name(wpdb.Idempotency)).Set("owner", "").Set("claimed_until", nil).Where(mine)
	_, err = wpdb.Exec(ctx, db, "release a claim", answered)
	return err
}

// Keep stores responses as part of the transaction tx: they exist if and only if what they report has
// happened. Without the claim it stores nothing and returns a CodeInProgress. The last response ends the
// claim.
func (r *IdempotentRequest) Keep(ctx context.Context, tx *wpdb.DB, responses ...Response) error {
	if r == nil || len(responses) == 0 {
		return nil
	}
	if r.owner == "" {
		return domain.RequestInProgress(nil)
	}
	claim := sq.Update(tx.Name(wpdb.Idempotency)).Set("n", sq.Expr("n + 1")).
		Where(sq.Eq{"scope": r.key.Scope, "item": 0, "owner": r.owner})
	rest := responses
	if responses[0].Item == 0 {
		claim = claim.Set("status", responses[0].Status).Set("answer", responses[0].Body)
		rest = responses[1:]
	}
	if r.complete = responses[len(responses)-1].Item == r.key.Items-1; r.complete {
		claim = claim.Set("owner", "").Set("claimed_until", nil)
	}
	result, err := wpdb.Exec(ctx, tx, "store a response", claim)
	if err != nil {
		return err
	}
	if result.Rows == 0 {
		return domain.RequestInProgress(nil)
	}
	if len(rest) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.Name(wpdb.Idempotency)).Columns("scope", "item", "body_hash", "status", "answer", "created_at")
	for _, response := range rest {
		stmt = stmt.Values(r.key.Scope, response.Item, r.key.stored(), response.Status, response.Body, string(r.since))
	}
	_, err = wpdb.Exec(ctx, tx, "store responses", stmt)
	return err
}
