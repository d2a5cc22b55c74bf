package extensions

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// ErrAway means that WordPress or the companion does not answer: it is down, in maintenance, refuses the
// request, or is not installed. Nothing was done, unless it is an ErrBroken.
var ErrAway = errors.New("the companion in WordPress does not answer")

// ErrBroken is an ErrAway: the companion was asked and may have done it, but no answer says so.
var ErrBroken = fmt.Errorf("%w as it should", ErrAway)

// ErrFailed is an ErrBroken: the companion says that it failed, as where an extension throws. Other questions may
// succeed.
var ErrFailed = fmt.Errorf("%w: it failed", ErrBroken)

// ErrBusy is an ErrAway: the time ended while requests of our own were in progress. WordPress was not asked.
var ErrBusy = fmt.Errorf("%w: other requests are in progress", ErrAway)

const (
	// timeout is the time limit of a request. Extensions may ask other servers before PHP answers. PHP may go on
	// after it, but not with the next part of a question.
	timeout = time.Minute
	// withdrawal is the time limit for withdrawing a request.
	withdrawal = time.Second
	// maxAnswer is the maximum length of an answer in bytes.
	maxAnswer = 4 << 20
	// maxRequests is how many requests may be in progress: PHP's workers serve visitors first.
	maxRequests = 2
)

// Companion is the client of one site's companion, Bookside's plugin inside WordPress, which answers what only PHP
// can and does what only PHP can do.
type Companion struct {
	// Loopback is the address at which the site is reached from here, such as http://127.0.0.1:8080; empty
	// for the site's own. Requests keep the site's host name.
	Loopback string

	db      *wpdb.DB
	now     domain.Clock
	site    func(context.Context) (fingerprint string, err error)
	client  *http.Client
	running chan struct{} // has an element for each request that WordPress may be at work on
	late    atomic.Int32  // those of them that nobody waits for any more
}

// NewCompanion returns the companion of the site in a database; site returns the site's fingerprint.
func NewCompanion(db *wpdb.DB, now domain.Clock, site func(context.Context) (string, error)) *Companion {
	return &Companion{
		db: db, now: now, site: site, running: make(chan struct{}, maxRequests),
		client: &http.Client{
			Timeout: timeout,
			// A redirect would lose the signed POST, or take it elsewhere: its status is reported instead.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{ResponseHeaderTimeout: timeout, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
		},
	}
}

// question is the body of a request.
type question struct {
	Ask     string  `json:"ask"` // the action
	Of      any     `json:"of,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // until nobody waits for the answer; 0 for no limit
}

// Ask makes the companion do something, and decodes its answer into answer. It returns an ErrAway unless
// the answer is signed with the site's secret; that is an ErrBusy if the deadline of ctx passed first. A
// request that WordPress has begun when ctx ends goes on, and counts as in progress until it ends.
func (c *Companion) Ask(ctx context.Context, what string, of, answer any) error {
	select {
	case c.running <- struct{}{}:
	case <-ctx.Done():
		switch {
		case !errors.Is(ctx.Err(), context.DeadlineExceeded):
			return ctx.Err()
		case c.late.Load() > 0: // they took the time of this one
			return fmt.Errorf("%w: it is still at work on earlier requests: %w", ErrAway, ctx.Err())
		}
		return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
	sending, end := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	leave := func() { end(); <-c.running }
	asked, err := c.sign(ctx, what, of)
	if err != nil {
		leave()
		return err
	}
	answered := make(chan error, 1)
	var text []byte
	go func() {
		defer leave()
		var err error
		text, err = c.send(sending, asked)
		answered <- err
	}()
	select {
	case err = <-answered:
	case <-ctx.Done():
		if c.withdraw(ctx, asked) {
			end()
			return fmt.Errorf("%w: it has not begun: %w", ErrAway, ctx.Err())
		}
		c.late.Add(1)
		context.AfterFunc(sending, func() { c.late.Add(-1) })
		return fmt.Errorf("%w: %w", ErrBroken, ctx.Err())
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%w: its answer is of another version: %w", ErrBroken, err)
	}
	return nil
}

// signedRequest is a request to the companion.
type signedRequest struct {
	SignedRequest
	address url.URL
	secret  string
}

// sign returns a question as a request, signed with the site's secret.
func (c *Companion) sign(ctx context.Context, what string, of any) (signedRequest, error) {
	q := question{Ask: what, Of: of}
	if end, limited := ctx.Deadline(); limited {
		q.Seconds = time.Until(end).Seconds()
	}
	body, err := json.Marshal(q)
	if err != nil {
		return signedRequest{}, fmt.Errorf("ask the companion: %w", err)
	}
	secret, err := SharedSecret(ctx, c.db)
	if err != nil {
		return signedRequest{}, err
	}
	options, err := c.db.OptionValues(ctx, "siteurl")
	if err != nil {
		return signedRequest{}, err
	}
	address, err := url.Parse(strings.TrimRight(wpdb.PlainText(options["siteurl"]), "/") + "/index.php")
	if err != nil || address.Host == "" || secret == "" {
		return signedRequest{}, fmt.Errorf("%w: the site has no address, or no secret yet", ErrAway)
	}
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(rand.Reader, nonce); err != nil {
		return signedRequest{}, fmt.Errorf("ask the companion: %w", err)
	}
	site, err := c.site(ctx)
	return signedRequest{SignedRequest{
		Receiver: ToWordPress, Site: site, Method: http.MethodPost, Target: address.RequestURI(), Body: body, At: c.now(), Nonce: hex.EncodeToString(nonce),
	}, *address, secret}, err
}

// withdraw keeps a request from being begun. It returns false if the companion has begun it, or may have.
func (c *Companion) withdraw(ctx context.Context, asked signedRequest) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawal)
	defer cancel()
	first, err := asked.Take(ctx, c.db, c.now())
	return err == nil && first
}

// send sends a request and returns the answer.
func (c *Companion) send(ctx context.Context, asked signedRequest) ([]byte, error) {
	request, err := c.request(ctx, asked)
	if err != nil {
		return nil, err
	}
	response, err := c.client.Do(request)
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if subtle.ConstantTimeCompare([]byte(response.Header.Get(SignatureHeader)), []byte(asked.AnswerHeader(asked.secret, response.StatusCode, text))) != 1 {
		kind := ErrBroken // an extension may have ended PHP while it was at work, with any status
		if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "" {
			kind = ErrAway // WordPress is under maintenance
		}
		return nil, fmt.Errorf("%w: something else answers with status %d at %s", kind, response.StatusCode, request.URL.Host)
	}
	switch response.StatusCode {
	case http.StatusOK:
		return text, nil
	case http.StatusNotFound:
		return nil, fmt.Errorf("%w: it does not know what it is asked", ErrAway)
	case http.StatusServiceUnavailable: // LatePoint is switched off, or does the same already, so nothing was done
		return nil, fmt.Errorf("%w: it answers with status 503", ErrAway)
	default:
		return nil, fmt.Errorf("%w with status %d", ErrFailed, response.StatusCode)
	}
}

// request returns the HTTP request, to the site's address or the loopback if there is one.
func (c *Companion) request(ctx context.Context, asked signedRequest) (*http.Request, error) {
	address, host := asked.address, asked.address.Host
	if c.Loopback != "" {
		loopback, err := url.Parse(c.Loopback)
		if err != nil {
			return nil, fmt.Errorf("wordpress.loopback: %w", err)
		}
		address.Scheme, address.Host = loopback.Scheme, loopback.Host
	}
	request, err := http.NewRequestWithContext(ctx, asked.Method, address.String(), bytes.NewReader(asked.Body))
	if err != nil {
		return nil, fmt.Errorf("ask the companion: %w", err)
	}
	request.Host = host
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "Bookside")
	request.Header.Set(SignatureHeader, asked.Header(asked.secret))
	return request, nil
}
