package jobs

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrPrivateAddress means that an address is not on the public internet.
var ErrPrivateAddress = errors.New("the address is not public")

// internal are the networks that are not on the public internet, and those where clouds serve data to their
// machines.
var internal = prefixes(
	"0.0.0.0/8",        // this network; 0.0.0.0 is the machine itself
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // between a provider and its customers; Alibaba's metadata
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's services for a machine
	"169.254.0.0/16",   // link-local; the metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments; Oracle's metadata
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved; broadcast

	"2001::/23",     // protocol assignments, such as Teredo, which contains IPv4 addresses
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4, which contains IPv4 addresses
	"3fff::/20",     // documentation
)

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3") // everything else is reserved, local or multicast
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// publicAddress reports whether an address is on the public internet.
func publicAddress(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if nat64.Contains(address) {
		bytes := address.As16()
		address = netip.AddrFrom4([4]byte(bytes[12:])) // the address behind the translator
	}
	if !address.IsValid() || address.Is6() && !globalIPv6.Contains(address) {
		return false
	}
	for _, network := range internal {
		if network.Contains(address) {
			return false
		}
	}
	return true
}

// refusePrivateAddress is a net.Dialer.Control that returns an ErrPrivate. It sees the address just before the
// connection, after the name was resolved, so a name cannot lead to another address.
func refusePrivateAddress(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address to connect to: %w", err)
	}
	if !publicAddress(target.Addr()) {
		return ErrPrivateAddress
	}
	return nil
}
