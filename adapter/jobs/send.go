package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bookside/bookside/adapter/domain"
)

// Limits of a request to a receiver.
const (
	sendLimit    = 15 * time.Second
	maxHeader    = 16 << 10 // bytes of a response's header
	answerLength = 500      // bytes kept of a response's body
	userAgent    = "Bookside-Webhooks/1"
)

// The headers of Standard Webhooks.
const (
	IDHeader        = standardwebhooks.HeaderWebhookID
	TimestampHeader = standardwebhooks.HeaderWebhookTimestamp
	SignatureHeader = standardwebhooks.HeaderWebhookSignature
)

// message is a request to a receiver.
type message struct {
	id      string // the same for each try
	url     string
	private bool // see Hook.Private
	secrets []string
	body    []byte
}

// answer is the response of a receiver, or the reason why there is none.
type answer struct {
	status int           // 0 for none
	text   string        // the beginning of the body
	pause  time.Duration // requested by the receiver with Retry-After
	err    error
}

// ok reports whether the receiver accepted the message.
func (a answer) ok() bool { return a.err == nil && a.status >= 200 && a.status < 300 }

// gone reports whether the receiver wants no more messages.
func (a answer) gone() bool { return a.err == nil && a.status == http.StatusGone }

// failure says briefly why the message was not accepted.
func (a answer) failure() string {
	switch {
	case a.ok():
		return ""
	case a.err != nil:
		return domain.Cut(a.err.Error(), domain.FailureLength)
	case a.status >= 300 && a.status < 400:
		return fmt.Sprintf("answered %d: redirects are not followed", a.status)
	default:
		return fmt.Sprintf("answered %d", a.status)
	}
}

// client sends messages. It keeps two sets of connections, so that a webhook for public addresses never
// uses a connection opened for another.
type client struct{ public, anywhere *http.Client }

func newClient() *client {
	anywhere := net.Dialer{Timeout: sendLimit, KeepAlive: -1}
	public := anywhere
	public.Control = refusePrivateAddress
	return &client{public: newHTTPClient(&public), anywhere: newHTTPClient(&anywhere)}
}

// newHTTPClient returns a client without proxies from the environment, redirects, cookies or compression.
func newHTTPClient(dialer *net.Dialer) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, TLSHandshakeTimeout: sendLimit, DisableCompression: true,
			MaxIdleConns: maxHooks, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHeader,
			ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send sends a message, which takes at most sendLimit.
func (c *client) send(ctx context.Context, at time.Time, m message) answer {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	request, err := newRequest(ctx, at, m)
	if err != nil {
		return answer{err: err}
	}
	via := c.public
	if m.private {
		via = c.anywhere
	}
	response, err := via.Do(request)
	if err != nil {
		return answer{err: explain(ctx, err)}
	}
	defer func() { _ = response.Body.Close() }() // only what was read matters
	text, err := io.ReadAll(io.LimitReader(response.Body, answerLength))
	if err != nil && len(text) == 0 && response.StatusCode >= 200 && response.StatusCode < 300 {
		text = []byte("(the response broke off)") // the status says that the message was accepted
	}
	// The rest of a short response is read so that the connection can be reused.
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	return answer{status: response.StatusCode, text: string(text), pause: pauseOf(response.Header.Get("Retry-After"), at)}
}

// pauseOf returns the pause that a Retry-After requests, in seconds or as a date; 0 for none.
func pauseOf(header string, at time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxPause)
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(date.Sub(at), 0), maxPause)
	}
	return 0
}

func newRequest(ctx context.Context, at time.Time, m message) (*http.Request, error) {
	signature, err := sign(m.id, at, m.body, m.secrets)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(m.body))
	if err != nil {
		return nil, errors.New("the URL cannot be read")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set(IDHeader, m.id)
	request.Header.Set(TimestampHeader, strconv.FormatInt(at.Unix(), 10))
	request.Header.Set(SignatureHeader, signature)
	return request, nil
}

// sign returns a signature for each secret, separated by spaces.
func sign(id string, at time.Time, body []byte, secrets []string) (string, error) {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			signatures[i], err = signer.Sign(id, at, body)
		}
		if err != nil {
			return "", errors.New("the stored secret is not one of a webhook") // err might quote it
		}
	}
	return strings.Join(signatures, " "), nil
}

// explain says why there is no response, without the URL, which may contain secrets, and without addresses
// of the server's network.
func explain(ctx context.Context, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var timeout net.Error
	var name *net.DNSError
	var network *net.OpError
	switch {
	case errors.Is(err, ErrPrivateAddress):
		return errPrivate
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("no answer within %v", sendLimit)
	case errors.As(err, &name) && name.IsNotFound:
		return errors.New("there is no such host")
	case errors.As(err, &name):
		return errors.New("the name of the host cannot be resolved")
	case errors.As(err, &network):
		return network.Err
	default:
		return err
	}
}
