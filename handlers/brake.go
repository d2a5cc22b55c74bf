package handlers

import (
	"net/netip"
	"sync"

	"bookside/adapter"
)

// brake slows addresses that keep sending wrong keys: over the limit of a
// minute they get 429 in place of 401. Right keys always pass, so that one bad
// client cannot shut out others behind the same address.
type brake struct {
	now   adapter.Clock
	limit int

	mu       sync.Mutex
	minute   int64 // its start
	failures map[netip.Prefix]int
}

// maxBraked bounds how many addresses are told apart in a minute.
const maxBraked = 10_000

func newBrake(now adapter.Clock, limit int) *brake {
	return &brake{now: now, limit: limit, failures: map[netip.Prefix]int{}}
}

// failed counts a failure of an address and returns the error to answer with.
func (b *brake) failed(address string, refused error) error {
	if b.limit == 0 {
		return refused
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now().Unix()
	if minute := startOf(now, minuteLength); minute != b.minute {
		b.minute = minute
		clear(b.failures)
	}
	client := subscriber(address)
	if _, known := b.failures[client]; !known && len(b.failures) >= maxBraked {
		client = netip.Prefix{} // all that come late together
	}
	b.failures[client]++
	if b.failures[client] <= b.limit {
		return refused
	}
	return &limitError{message: "Too many requests with an invalid API key", retryAfter: untilEnd(now, minuteLength)}
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
