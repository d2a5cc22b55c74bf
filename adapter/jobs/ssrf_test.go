package jobs

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	judge "code.dny.dev/ssrf"
)

// TestOnlyPublicAddressesAreConnectedTo covers all classes of addresses.
func TestOnlyPublicAddressesAreConnectedTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address string
		public  bool
	}{
		{"1.1.1.1", true},
		{"93.184.216.34", true},
		{"172.15.255.255", true},
		{"172.32.0.0", true},
		{"100.63.255.255", true},
		{"100.128.0.0", true},
		{"2606:4700:4700::1111", true},
		{"2a00:1450:4001::1", true},
		{"::ffff:1.1.1.1", true},
		{"64:ff9b::101:101", true}, // 1.1.1.1 behind NAT64
		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"10.0.0.1", false},
		{"100.64.0.1", false},
		{"100.100.100.200", false}, // metadata of Alibaba
		{"127.0.0.1", false},
		{"127.255.255.254", false},
		{"168.63.129.16", false},   // Azure
		{"169.254.169.254", false}, // metadata
		{"169.254.170.2", false},   // credentials of AWS containers
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"192.0.0.192", false}, // metadata of Oracle
		{"192.0.2.1", false},
		{"192.88.99.1", false},
		{"192.168.1.1", false},
		{"198.18.0.1", false},
		{"198.51.100.1", false},
		{"203.0.113.1", false},
		{"224.0.0.1", false},
		{"239.255.255.250", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},
		{"::", false},
		{"::1", false},
		{"::ffff:127.0.0.1", false},
		{"::ffff:10.0.0.1", false},
		{"::ffff:169.254.169.254", false},
		{"::127.0.0.1", false}, // compatible, deprecated
		{"64:ff9b::7f00:1", false},
		{"64:ff9b::a9fe:a9fe", false}, // metadata behind NAT64
		{"64:ff9b:1::a00:1", false},   // NAT64 within a network
		{"100::1", false},             // discard
		{"2001::1", false},            // Teredo
		{"2001:db8::1", false},
		{"2002:7f00:1::", false}, // 6to4 of 127.0.0.1
		{"3fff::1", false},
		{"5f00::1", false},
		{"fc00::1", false},
		{"fd00:ec2::254", false}, // metadata of AWS
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"fec0::1", false},
		{"ff02::1", false},
	} {
		err := refusePrivateAddress("tcp", netip.AddrPortFrom(netip.MustParseAddr(test.address), 443).String(), nil)
		if test.public && err != nil || !test.public && !errors.Is(err, ErrPrivateAddress) {
			t.Errorf("%s: error %v, public %v", test.address, err, test.public)
		}
	}
	if err := refusePrivateAddress("tcp", "example.com:443", nil); err == nil {
		t.Error("a name is accepted as an address")
	}
}

// TestAnotherGuardAgrees compares the verdicts on the edges of all networks that this guard or another
// refuses.
func TestAnotherGuardAgrees(t *testing.T) {
	t.Parallel()
	other := judge.New()
	// Networks of IANA's registries that anybody may reach: anycast of AS112 and AMT.
	reachable := prefixes("192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", "2620:4f:8000::/48")
	azure := netip.MustParseAddr("168.63.129.16") // the other guard does not know cloud services
	networks := slices.Concat(internal, judge.IPv4DeniedPrefixes, judge.IPv6DeniedPrefixes, []netip.Prefix{globalIPv6, netip.MustParsePrefix("::/3"), netip.MustParsePrefix("fe80::/10")})
	for _, network := range networks {
		first, last := network.Masked().Addr(), lastOf(network)
		for _, address := range []netip.Addr{first.Prev(), first, last, last.Next()} {
			if !address.IsValid() || address == azure || slices.ContainsFunc(reachable, func(n netip.Prefix) bool { return n.Contains(address) }) {
				continue
			}
			if public, safe := publicAddress(address), other.SafeAddr(address) == nil; public != safe {
				t.Errorf("%s at the edge of %s: public %t, another guard says %t", address, network, public, safe)
			}
		}
	}
}

// lastOf returns the last address of a network.
func lastOf(network netip.Prefix) netip.Addr {
	bytes := network.Addr().AsSlice()
	for i := range bytes {
		bytes[i] |= byte(0xff >> min(8, max(0, network.Bits()-8*i)))
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}
