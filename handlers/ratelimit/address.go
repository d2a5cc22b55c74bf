package ratelimit

import (
	"hash/crc32"
	"net/netip"
)

// addressBuckets is the number of counters for addresses. Those in the same bucket share a limit.
const addressBuckets = 1024

// AddressBucket returns what a LocalCounter counts the requests from an address with a port under. All
// addresses of an IPv6 /64 network share one.
func AddressBucket(remote string) int64 {
	var prefix netip.Prefix // stays empty for an invalid address
	if from, err := netip.ParseAddrPort(remote); err == nil {
		address := from.Addr().Unmap().WithZone("")
		prefix, _ = address.Prefix(min(address.BitLen(), 64)) // never fails: the address has as many bits
	}
	return int64(crc32.ChecksumIEEE([]byte(prefix.String()))) % addressBuckets
}
