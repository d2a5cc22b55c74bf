package handlers

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/handlers/ratelimit"
)

// brake slows addresses that keep sending wrong keys. An address over its limit
// of a minute gets 429, and the database is not asked about its keys, or a short
// key could be guessed in seconds. Keys that were accepted lately are looked up
// all the same: one bad client must not shut out others behind its address.
type brake struct {
	now   domain.Clock
	limit int // 0 for none

	mu       sync.Mutex
	minute   int64 // its start
	tallies  map[netip.Prefix]*tally
	accepted recentKeys
}

// tally is what is known of a client in the present minute.
type tally struct {
	client  netip.Prefix
	failed  int           // wrong keys
	pending int           // keys that are being looked up and may prove wrong
	settled chan struct{} // closed when one of them has an answer
}

// maxBraked bounds how many addresses are told apart in a minute, and how many
// networks after those.
const maxBraked = 10_000

func newBrake(now domain.Clock, limit int) *brake {
	return &brake{now: now, limit: limit, tallies: map[netip.Prefix]*tally{}}
}

// pass runs the look-up of a key that came from an address, and remembers what
// it found. It returns a ratelimit.Error in its place where the address is over its
// limit.
func (b *brake) pass(ctx context.Context, address, secret string, lookUp func() error) error {
	if b.limit == 0 || secret == "" {
		return lookUp()
	}
	client := subscriber(address)
	key := knownKey(secret, client)
	t, err := b.enter(ctx, client, key)
	if err != nil {
		return err
	}
	defer b.settle(t)
	err = lookUp()
	switch {
	case err == nil:
		b.accept(key)
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		return b.fail(client, key, err)
	}
	return err
}

// enter reserves a wrong key of the client's limit, so that requests at the same
// time cannot exceed it together. While all that is left is reserved it waits:
// the keys that are being looked up may be right. A key in use needs no
// reservation, and gets a nil tally.
func (b *brake) enter(ctx context.Context, client netip.Prefix, key keyMark) (*tally, error) {
	for {
		t, settled, err := b.reserve(client, key)
		if settled == nil {
			return t, err
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserve is one try of enter. With a channel it has to be repeated when that is
// closed.
func (b *brake) reserve(client netip.Prefix, key keyMark) (t *tally, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.accepted.has(key, b.now()) {
		return nil, nil, nil
	}
	t = b.tallyOf(client)
	switch {
	case t.failed >= b.limit:
		return nil, nil, b.refusal()
	case t.failed+t.pending >= b.limit:
		return nil, t.settled, nil
	default:
		t.pending++
		return t, nil, nil
	}
}

// settle gives a reservation back.
func (b *brake) settle(t *tally) {
	if t == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t.pending--
	close(t.settled)
	t.settled = make(chan struct{})
	if t.failed == 0 && t.pending == 0 && b.tallies[t.client] == t {
		delete(b.tallies, t.client) // room for addresses that send wrong keys
	}
}

func (b *brake) accept(key keyMark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accepted.add(key, b.now())
}

// fail counts a wrong key and returns the error to answer with.
func (b *brake) fail(client netip.Prefix, key keyMark, refused error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accepted.remove(key) // it was revoked, or is over
	t := b.tallyOf(client)
	t.failed++
	if t.failed <= b.limit {
		return refused
	}
	return b.refusal()
}

func (b *brake) refusal() error {
	return &ratelimit.Error{Message: "Too many requests with an invalid API key", RetryAfter: ratelimit.Minute.Remaining(b.now().Unix())}
}

// tallyOf is a client's tally of the present minute.
func (b *brake) tallyOf(client netip.Prefix) *tally {
	if minute := ratelimit.Minute.Start(b.now().Unix()); minute != b.minute {
		b.minute = minute
		clear(b.tallies)
	}
	if _, known := b.tallies[client]; !known && len(b.tallies) >= maxBraked {
		client = networkOf(client) // one client must not fill the table for others
	}
	if _, known := b.tallies[client]; !known && len(b.tallies) >= 2*maxBraked {
		client = netip.Prefix{} // all that come late together
	}
	t, known := b.tallies[client]
	if !known {
		t = &tally{client: client, settled: make(chan struct{})}
		b.tallies[client] = t
	}
	return t
}

// subscriber is who is taken for one client: an address, of IPv6 the 64 bits
// that a network hands out, because whoever has one has all behind it.
func subscriber(address string) netip.Prefix {
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

// networkOf is the network that a client belongs to: 24 bits of IPv4, 48 of IPv6,
// which is what a site or a customer of a provider gets at most.
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

// keyMark is a key that was accepted: its hash, and for a key that can be
// guessed its client too. Else somebody else's use of such a key would let it
// pass for whoever guesses it.
type keyMark struct {
	hash   [sha256.Size]byte
	client netip.Prefix
}

func knownKey(secret string, client netip.Prefix) keyMark {
	if !keys.WeakSecret(secret) {
		client = netip.Prefix{}
	}
	return keyMark{sha256.Sum256([]byte(secret)), client}
}

// recentKeys is a bounded memory of keys that were accepted: each stays for at
// least keptFor and at most twice as long after its last use, unless more than
// maxRecentKeys others come in between. It never answers for the database; it
// only says whose keys may be looked up.
type recentKeys struct {
	begun    time.Time // when latest was begun
	latest   map[keyMark]struct{}
	previous map[keyMark]struct{}
}

const (
	keptFor       = 12 * time.Hour
	maxRecentKeys = 10_000
)

// turn forgets what is too old, or too much.
func (r *recentKeys) turn(now time.Time) {
	switch age := now.Sub(r.begun); {
	case age >= 2*keptFor:
		r.latest, r.previous = map[keyMark]struct{}{}, nil
	case age >= keptFor, len(r.latest) >= maxRecentKeys:
		r.latest, r.previous = map[keyMark]struct{}{}, r.latest
	default:
		return
	}
	r.begun = now
}

func (r *recentKeys) has(key keyMark, now time.Time) bool {
	r.turn(now)
	_, latest := r.latest[key]
	_, previous := r.previous[key]
	return latest || previous
}

func (r *recentKeys) add(key keyMark, now time.Time) {
	r.turn(now)
	r.latest[key] = struct{}{}
}

func (r *recentKeys) remove(key keyMark) {
	delete(r.latest, key)
	delete(r.previous, key)
}
