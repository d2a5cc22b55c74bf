package extensions_test

import (
	"crypto/rand"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

var now = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// TestSignature: a signature is valid for one request, at its time, with one secret.
func TestSignature(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	sent := extensions.SignedRequest{
		Receiver: extensions.ToServer, Site: "a site", Method: "POST", Target: "/wordpress/keys/new?a=b", Body: []byte("name=x"), At: now, Nonce: strings.Repeat("0a", 16),
	}
	header := sent.Header(secret)
	if want := "1795253400." + strings.Repeat("0a", 16) + "."; !strings.HasPrefix(header, want) {
		t.Errorf("header %s, want one that begins with %s", header, want)
	}
	for name, c := range map[string]struct {
		change func(*extensions.SignedRequest)
		header string
		secret string
		now    time.Time
		want   error
	}{
		"valid":                        {now: now},
		"a minute later":               {now: now.Add(time.Minute)},
		"a minute before":              {now: now.Add(-time.Minute)},
		"too old":                      {now: now.Add(time.Minute + time.Second), want: extensions.ErrTime},
		"from the future":              {now: now.Add(-time.Minute - time.Second), want: extensions.ErrTime},
		"another receiver":             {change: func(r *extensions.SignedRequest) { r.Receiver = "wordpress" }, now: now, want: extensions.ErrSignature},
		"another site":                 {change: func(r *extensions.SignedRequest) { r.Site = "a copy" }, now: now, want: extensions.ErrSignature},
		"another method":               {change: func(r *extensions.SignedRequest) { r.Method = "GET" }, now: now, want: extensions.ErrSignature},
		"another path":                 {change: func(r *extensions.SignedRequest) { r.Target = "/wordpress/keys/1?a=b" }, now: now, want: extensions.ErrSignature},
		"another query":                {change: func(r *extensions.SignedRequest) { r.Target = "/wordpress/keys/new?a=c" }, now: now, want: extensions.ErrSignature},
		"another body":                 {change: func(r *extensions.SignedRequest) { r.Body = []byte("name=y") }, now: now, want: extensions.ErrSignature},
		"another secret":               {secret: "1123456789abcdef", now: now, want: extensions.ErrSignature},
		"another time":                 {header: strings.Replace(header, "1795253400", "1795253401", 1), now: now, want: extensions.ErrSignature},
		"another nonce":                {header: strings.Replace(header, "0a", "0b", 1), now: now, want: extensions.ErrSignature},
		"no header":                    {header: "-", now: now, want: extensions.ErrSignature},
		"a header with something else": {header: header + " ", now: now, want: extensions.ErrSignature},
		"a long time":                  {header: "1" + header, now: now, want: extensions.ErrSignature},
		"a site that is not known":     {change: func(r *extensions.SignedRequest) { r.Site = "" }, now: now, want: extensions.ErrSignature},
	} {
		received := sent
		received.At, received.Nonce = time.Time{}, ""
		if c.change != nil {
			c.change(&received)
		}
		with, by := header, secret
		if c.header != "" {
			with = c.header
		}
		if c.secret != "" {
			by = c.secret
		}
		expect.Error(t, c.want, received.Check(with, by, c.now), name)
	}
	// Nothing is signed without a secret, not even by somebody who knows that there is none.
	expect.Error(t, extensions.ErrSignature, sent.Check(sent.Header(""), "", now), "without a secret")
}

// TestAnswer: the signature of a response is valid for one response to one request, and for no request.
func TestAnswer(t *testing.T) {
	t.Parallel()
	sent := extensions.SignedRequest{Receiver: extensions.ToServer, Site: "a site", Method: "GET", Target: "/", At: now, Nonce: strings.Repeat("0a", 16)}
	other := sent
	other.Nonce = strings.Repeat("0b", 16)
	answer := sent.AnswerHeader("secret", 200, []byte("{}"))
	for name, different := range map[string]string{
		"status": sent.AnswerHeader("secret", 409, []byte("{}")), "body": sent.AnswerHeader("secret", 200, []byte("[]")),
		"secret": sent.AnswerHeader("other", 200, []byte("{}")), "request": other.AnswerHeader("secret", 200, []byte("{}")),
	} {
		if different == answer || len(different) != 64 {
			t.Errorf("another %s: %s, the same as %s", name, different, answer)
		}
	}
	if strings.HasSuffix(sent.Header("secret"), answer) {
		t.Error("the request has the signature of its answer")
	}
}

// TestSecretIsMadeOnce: of several that create the secret one succeeds, and the secret stays.
func TestSecretIsMadeOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	open := func() *wpdb.DB {
		return wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: 2})
	}
	db := open()
	if _, err := extensions.SharedSecret(t.Context(), db); !errors.Is(err, wpdb.ErrSchema) {
		t.Errorf("without the table: %v", err)
	}
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	if secret, err := extensions.SharedSecret(t.Context(), db); err != nil || secret != "" {
		t.Errorf("before: %q, %v", secret, err)
	}
	clock := func() time.Time { return now }
	found := make([]string, 4)
	var wait sync.WaitGroup
	for i := range found {
		each := open()
		wait.Go(func() {
			expect.Succeeded(t, extensions.MakeSharedSecret(t.Context(), each, clock, rand.Reader))
			found[i], _ = extensions.SharedSecret(t.Context(), each)
		})
	}
	wait.Wait()
	for _, secret := range found {
		if secret != found[0] || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(secret) {
			t.Errorf("secrets %q", found)
		}
	}
	expect.Succeeded(t, extensions.MakeSharedSecret(t.Context(), db, clock, rand.Reader))
	if secret, _ := extensions.SharedSecret(t.Context(), db); secret != found[0] {
		t.Errorf("it was made again: %q", secret)
	}
}
