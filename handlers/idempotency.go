package handlers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
)

const (
	idempotencyKey = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
)

// create runs work in a transaction and responds 201 with the record that it returns.
func (r *request) create(work func(tx *session.Tx) (record any, err error)) (response, error) {
	return r.write(http.StatusCreated, nil, work)
}

// change runs work in a transaction and responds 200 with what it returns.
func (r *request) change(work func(tx *session.Tx) (body any, err error)) (response, error) {
	return r.write(http.StatusOK, nil, work)
}

// write runs work in a transaction and responds with what it returns. With an Idempotency-Key the response
// is stored in the same transaction, and sent again when the request is repeated. work runs again after a
// deadlock; before, unless it is nil, runs once before the transaction.
func (r *request) write(status int, before func() error, work func(tx *session.Tx) (body any, err error)) (answer response, err error) {
	attempt, err := r.beginAttempt(1) // response; it is nil without an Idempotency-Key
	if err != nil {
		return response{}, err
	}
	defer func() { err = attempt.End(r.ctx(), err) }()
	if stored := attempt.Responses(); len(stored) > 0 {
		r.markReplayed()
		return response{stored[0].Status, json.RawMessage(stored[0].Body)}, nil
	}
	if before != nil {
		if err := before(); err != nil {
			return response{}, err
		}
	}
	err = r.transact(func(tx *session.Tx) error {
		body, err := work(tx)
		if err != nil {
			return err
		}
		if !tx.Wrote() {
			body = r.onlySent(body)
		}
		answer = response{status, body}
		if attempt == nil {
			return nil
		}
		text, err := encodeBody(visible(body, r.principal.Key))
		if err != nil {
			return err
		}
		answer.body = json.RawMessage(text)
		return tx.KeepResponses(r.ctx(), attempt, keys.Response{Status: status, Body: text})
	})
	return answer, err
}

// dryRun runs work in a transaction that is rolled back, and responds 200 with what it
// returns. An Idempotency-Key has no effect.
func (r *request) dryRun(work func(tx *session.Tx) (body any, err error)) (answer response, err error) {
	err = r.session.DryRun(r.ctx(), r.route.operation.id, r.conditionally(func(tx *session.Tx) error {
		body, err := work(tx)
		answer = ok(body)
		return err
	}))
	return answer, err
}

// onlySent returns the body of a response to a write that changed nothing: a key that may not read such records
// gets what it sent itself, because a write without a trace must not show what is stored.
func (r *request) onlySent(body any) any {
	if r.principal.Holds(r.reading) {
		return body
	}
	var names []string
	if r.route.operation.body != nil {
		names = r.route.operation.body.Names()
	}
	return compat.OnlySent(body, r.document.Sent(names))
}

// readPermission returns the permission to read what the route writes; "" if no key can read it.
func (r *route) readPermission() string {
	for _, get := range routes {
		if get.method == http.MethodGet && get.path == r.recordPath() {
			return get.permission
		}
	}
	return ""
}

// transact runs work in a transaction named after the request's operation, under the request's condition.
func (r *request) transact(work func(tx *session.Tx) error) error {
	return r.session.Transact(r.ctx(), r.route.operation.id, r.conditionally(work))
}

// conditionally returns work on a record that the key sees, under the request's condition.
func (r *request) conditionally(work func(tx *session.Tx) error) func(tx *session.Tx) error {
	return func(tx *session.Tx) error {
		if r.route.is(decided) && len(r.route.operation.path) == 0 { // a change is checked where it is known what it changes
			if err := tx.CheckExtensions(r.ctx()); err != nil {
				return err
			}
		}
		if r.read != nil && !r.principal.Scope.Unlimited() {
			if _, err := r.readRecord(tx.AsCaller(), ""); err != nil {
				return err
			}
		}
		tx.Precondition = r.precondition()
		return work(tx)
	}
}

// beginAttempt claims the request's Idempotency-Key, so that no two attempts with it are processed at the
// same time, or returns nil without a key. responses is the number of responses that a complete request
// has.
func (r *request) beginAttempt(responses int) (*keys.IdempotentRequest, error) {
	header := r.echo.Request().Header
	sent := header.Values(idempotencyKey)
	if len(sent) == 0 || !mayBeNamed(r.route.method, header) {
		return nil, nil
	}
	if !validIdempotencyKey(sent) {
		return nil, domain.InvalidRequest(map[string]string{idempotencyKey: "Must be one value of 1 to 255 printable ASCII characters"})
	}
	return r.session.Idempotency().Begin(r.ctx(), keys.IdempotencyKey{
		Scope: r.scope(sent[0]), Body: r.fingerprint(), Terms: r.terms(), Items: responses, Lease: r.api.options.RequestTimeout + leaseMargin,
	})
}

// mayBeNamed reports whether a request may have an Idempotency-Key. A PUT or DELETE does the same when
// repeated and needs none, unless it has a condition that it makes untrue itself.
func mayBeNamed(method string, header http.Header) bool {
	return method == http.MethodPost || len(header.Values(ifMatchHeader)) > 0
}

// fingerprint returns a hash of what the request asks for: of its body and, if the query has fields, of
// those too.
func (r *request) fingerprint() string {
	fields := compat.FieldsOfQuery(r.echo.Request().URL.RawQuery, r.api.reservedParameters()...)
	text := hashOf(r.rawBody)
	if fields != "" {
		text = hashOf(fmt.Appendf(nil, "%s\n%s", text, fields))
	}
	return text
}

// terms returns a hash of what the request's key may see: a response under other rights may show what it no
// longer sees.
func (r *request) terms() string {
	return hashOf(fmt.Append(nil, r.principal.Scope, slices.Sorted(slices.Values(r.principal.Permissions)), r.principal.MaskPersonal))
}

// leaseMargin is how much longer than a request a claim lasts, because the clocks of
// several servers may differ.
const leaseMargin = 10 * time.Second

func validIdempotencyKey(sent []string) bool {
	return len(sent) == 1 && sent[0] != "" && len(sent[0]) <= 255 &&
		!strings.ContainsFunc(sent[0], func(c rune) bool { return c < ' ' || c > '~' })
}

// scope identifies all attempts of a request: by the API key, the endpoint under any
// base path, and the client's key for the request.
func (r *request) scope(name string) string {
	return hashOf(fmt.Appendf(nil, "%d %s %s %s %s", r.principal.ID, r.route.method, r.route.path, r.path, name))
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// markReplayed marks the response as that of an earlier request.
func (r *request) markReplayed() { r.echo.Response().Header().Set(replayedHeader, "true") }

// encodeBody returns a body as JSON.
func encodeBody(body any) ([]byte, error) {
	var b bytes.Buffer
	err := middleware.EncodeJSON(&b, body)
	return b.Bytes(), err
}
