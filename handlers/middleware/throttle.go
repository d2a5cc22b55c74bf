package middleware

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// Throttle limits the invalid keys that a client may send in a minute. Further requests from the client get
// 429 without a look-up, so that a short key cannot be guessed in seconds. Recently accepted keys are still
// looked up: one bad client must not lock out others behind the same address.
type Throttle struct {
	now   domain.Clock
	limit int // 0 for none

	mu       sync.Mutex
	minute   int64 // its start
	clients  map[netip.Prefix]*attempts
	accepted recentKeys
}

// attempts are a client's attempts in the current minute.
type attempts struct {
	client  netip.Prefix
	failed  int           // invalid keys
	pending int           // keys being looked up, which may prove invalid
	done    chan struct{} // closed when one of them was looked up
}

// maxClients bounds how many clients are tracked in a minute, and how many
// networks after those.
const maxClients = 10_000

// NewThrottle returns a throttle for this many invalid keys a minute; 0 for no limit.
func NewThrottle(now domain.Clock, limit int) *Throttle {
	return &Throttle{now: now, limit: limit, clients: map[netip.Prefix]*attempts{}}
}

// Do calls lookUp for a key that came from an address, and records the outcome.
// If the address is over its limit it returns a ratelimit.Error instead.
func (t *Throttle) Do(ctx context.Context, address, secret string, lookUp func() error) error {
	if t.limit == 0 || secret == "" {
		return lookUp()
	}
	client := clientOf(address)
	key := keyFingerprintOf(secret, client)
	a, err := t.reserve(ctx, client, key)
	if err != nil {
		return err
	}
	defer t.release(a)
	err = lookUp()
	switch {
	case err == nil:
		t.accept(key)
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		return t.fail(client, key, err)
	}
	return err
}

// reserve reserves an invalid key of the client's limit, so that concurrent requests cannot exceed it
// together. It waits while everything left is reserved, because the keys being looked up may be valid. A
// recently accepted key needs no reservation and gets nil attempts.
func (t *Throttle) reserve(ctx context.Context, client netip.Prefix, key keyFingerprint) (*attempts, error) {
	for {
		a, done, err := t.tryReserve(client, key)
		if done == nil {
			return a, err
		}
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryReserve is reserve without waiting. If it returns a channel, call it again once that is closed.
func (t *Throttle) tryReserve(client netip.Prefix, key keyFingerprint) (a *attempts, done <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.accepted.has(key, t.now()) {
		return nil, nil, nil
	}
	a = t.attemptsOf(client)
	switch {
	case a.failed >= t.limit:
		return nil, nil, t.limitError()
	case a.failed+a.pending >= t.limit:
		return nil, a.done, nil
	default:
		a.pending++
		return a, nil, nil
	}
}

// release ends a reservation.
func (t *Throttle) release(a *attempts) {
	if a == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a.pending--
	close(a.done)
	a.done = make(chan struct{})
	if a.failed == 0 && a.pending == 0 && t.clients[a.client] == a {
		delete(t.clients, a.client) // makes room for clients with invalid keys
	}
}

func (t *Throttle) accept(key keyFingerprint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accepted.add(key, t.now())
}

// fail counts an invalid key and returns the error for the response.
func (t *Throttle) fail(client netip.Prefix, key keyFingerprint, invalid error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accepted.remove(key) // it was revoked or has expired
	a := t.attemptsOf(client)
	a.failed++
	if a.failed <= t.limit {
		return invalid
	}
	return t.limitError()
}

func (t *Throttle) limitError() error {
	return &ratelimit.Error{Message: "Too many requests with an invalid API key", RetryAfter: ratelimit.Minute.Remaining(t.now().Unix())}
}

// attemptsOf returns the attempts of a client in the current minute.
func (t *Throttle) attemptsOf(client netip.Prefix) *attempts {
	if minute := ratelimit.Minute.Start(t.now().Unix()); minute != t.minute {
		t.minute = minute
		clear(t.clients)
	}
	if _, known := t.clients[client]; !known && len(t.clients) >= maxClients {
		client = networkOf(client) // one client must not fill the table
	}
	if _, known := t.clients[client]; !known && len(t.clients) >= 2*maxClients {
		client = netip.Prefix{} // all further networks share one count
	}
	a, known := t.clients[client]
	if !known {
		a = &attempts{client: client, done: make(chan struct{})}
		t.clients[client] = a
	}
	return a
}

// clientOf returns what counts as one client: an IPv4 address, or an IPv6 /64 network, because a client
// usually has all of its addresses.
func clientOf(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// networkOf returns the network that a client belongs to: 24 bits of IPv4, 48 of
// IPv6, the most that a provider assigns to a customer.
func networkOf(client netip.Prefix) netip.Prefix {
	if !client.IsValid() {
		return client
	}
	bits := 24
	if client.Addr().Is6() {
		bits = 48
	}
	return netip.PrefixFrom(client.Addr(), bits).Masked()
}

// keyFingerprint identifies an accepted key: its hash, and for a guessable key also its client. Otherwise
// its owner's use would let everybody guess.
type keyFingerprint struct {
	hash   [sha256.Size]byte
	client netip.Prefix
}

func keyFingerprintOf(secret string, client netip.Prefix) keyFingerprint {
	if !keys.WeakSecret(secret) {
		client = netip.Prefix{}
	}
	return keyFingerprint{sha256.Sum256([]byte(secret)), client}
}

// recentKeys is a bounded set of accepted keys. A key stays for at least
// recentKeyAge and at most twice as long after its last use, unless more than
// maxRecentKeys others come in between. It never replaces the database; it only
// decides which keys may be looked up.
type recentKeys struct {
	started  time.Time // when latest was started
	latest   map[keyFingerprint]struct{}
	previous map[keyFingerprint]struct{}
}

const (
	recentKeyAge  = 12 * time.Hour
	maxRecentKeys = 10_000
)

// rotate drops keys that are too old or too many.
func (r *recentKeys) rotate(now time.Time) {
	switch age := now.Sub(r.started); {
	case age >= 2*recentKeyAge:
		r.latest, r.previous = map[keyFingerprint]struct{}{}, nil
	case age >= recentKeyAge, len(r.latest) >= maxRecentKeys:
		r.latest, r.previous = map[keyFingerprint]struct{}{}, r.latest
	default:
		return
	}
	r.started = now
}

func (r *recentKeys) has(key keyFingerprint, now time.Time) bool {
	r.rotate(now)
	_, latest := r.latest[key]
	_, previous := r.previous[key]
	return latest || previous
}

func (r *recentKeys) add(key keyFingerprint, now time.Time) {
	r.rotate(now)
	r.latest[key] = struct{}{}
}

func (r *recentKeys) remove(key keyFingerprint) {
	delete(r.latest, key)
	delete(r.previous, key)
}
