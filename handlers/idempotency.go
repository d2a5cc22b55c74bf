package handlers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bookside/adapter"
	"bookside/adapter/domain"
)

const (
	idempotencyKey = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
)

// create makes the record of a POST, and keeps the answer in the transaction
// that makes it. Under an Idempotency-Key it is made a single time, and its
// answer given again.
func create[V, T, R any](
	r *request, values V, work func(*adapter.Site, context.Context, V, func(context.Context, *adapter.Site, T) error) (T, error), shape func(T) R,
) (answer response, err error) {
	err = r.attempt(1, func(l *adapter.Ledger) error {
		if kept := l.Answers(); len(kept) > 0 {
			r.replayed()
			answer = response{kept[0].Status, json.RawMessage(kept[0].Body)}
			return nil
		}
		_, err := work(r.site, r.ctx(), values, func(ctx context.Context, tx *adapter.Site, made T) error {
			body, err := encoded(shape(made))
			if err != nil {
				return err
			}
			answer = created(json.RawMessage(body))
			return l.Keep(ctx, tx, adapter.Answer{Status: answer.status, Body: body})
		})
		return err
	})
	return answer, err
}

// attempt runs work for a request that has this many answers in the end, under
// an Idempotency-Key never two at a time. Without one the ledger is nil.
func (r *request) attempt(answers int, work func(*adapter.Ledger) error) error {
	sent := r.echo.Request().Header.Values(idempotencyKey)
	if len(sent) == 0 {
		return work(nil)
	}
	if !saneIdempotencyKey(sent) {
		return domain.InvalidRequest(map[string]string{idempotencyKey: "Must be one value of 1 to 255 printable ASCII characters"})
	}
	return r.site.Once(r.ctx(), adapter.Attempt{
		Scope: r.scope(sent[0]), Body: hashOf(r.sent), Items: answers, Lease: r.api.options.RequestTimeout + leaseMargin,
	}, work)
}

// leaseMargin is how much longer than a request a claim lasts, for the clocks of
// several servers may differ.
const leaseMargin = 10 * time.Second

func saneIdempotencyKey(sent []string) bool {
	return len(sent) == 1 && sent[0] != "" && len(sent[0]) <= 255 &&
		!strings.ContainsFunc(sent[0], func(c rune) bool { return c < ' ' || c > '~' })
}

// scope is what all tries of the request have in common: key, endpoint under
// whatever base path, and the client's name for the request.
func (r *request) scope(name string) string {
	admission, _ := admissionOf(r.echo)
	return hashOf(fmt.Appendf(nil, "%d %s %s %q %s", admission.ID, r.route.method, r.route.path, r.echo.ParamValues(), name))
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// replayed tells that nothing was done anew.
func (r *request) replayed() { r.echo.Response().Header().Set(replayedHeader, "true") }

// encoded is a body as it is sent.
func encoded(body any) ([]byte, error) {
	var b bytes.Buffer
	err := encode(&b, body)
	return b.Bytes(), err
}
