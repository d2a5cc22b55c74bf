package keys

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
)

func TestParsePermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list string
		want []string // nil for an error
	}{
		"shorthands":          {"read,write,delete", []string{"read", "write", "delete"}},
		"of resources":        {"read_bookings, write_customers", []string{"read_bookings", "write_customers"}},
		"in no shorthand":     {"write,write_users", []string{"write", "write_users"}},
		"users, to read":      {"read_users", nil},
		"users, to delete":    {"delete_users", nil},
		"of no resource yet":  {"read_spells", nil},
		"twice":               {"read,read", []string{"read"}},
		"empty":               {"", nil},
		"empty word":          {"read,", nil},
		"unknown verb":        {"admin", nil},
		"unknown resource":    {"read_settings", nil},
		"no resource":         {"read_", nil},
		"another letter case": {"Read", nil},
		"categories":          {"read_categories", nil},
	} {
		got, err := ParsePermissions(c.list)
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestHolds: a verb alone covers every resource, but no permission that must be
// granted by name.
func TestHolds(t *testing.T) {
	t.Parallel()
	all := Key{Permissions: []string{"read", "write", "delete"}}
	for _, verb := range PermissionVerbs {
		for _, resource := range PermissionResources {
			if permission := verb + "_" + resource; !all.Holds(permission) || !(Key{Permissions: []string{permission}}).Holds(permission) {
				t.Errorf("%s is not allowed", permission)
			}
		}
	}
	for _, permission := range append([]string{"write_webhooks", "read_spells", "write_", "write_bookings_", "read_bookings,read"}, NamedPermissions...) {
		if all.Holds(permission) {
			t.Errorf("all verbs allow %s", permission)
		}
	}
	users := Key{Permissions: []string{"write_users"}}
	if !users.Holds("write_users") || users.Holds("write_customers") || users.Holds("write") || !users.Holds("") {
		t.Error("write_users must grant exactly write_users")
	}
	if err := users.Require("read_bookings"); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("required: %v", err)
	}
}

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{ // "" for an error
		"any":                    {" any ", "any"},
		"network":                {"192.0.2.0/24", "192.0.2.0/24"},
		"bits of a host":         {"192.0.2.7/24", "192.0.2.0/24"},
		"address":                {"192.0.2.7", "192.0.2.7"},
		"of the newer protocol":  {"2001:DB8::/32", "2001:db8::/32"},
		"address of it":          {"2001:db8::7", "2001:db8::7"},
		"commas":                 {"192.0.2.0/24, 198.51.100.1", "192.0.2.0/24,198.51.100.1"},
		"lines":                  {"192.0.2.0/24\r\n198.51.100.1\n", "192.0.2.0/24,198.51.100.1"},
		"twice":                  {"192.0.2.1/24 192.0.2.0/24", "192.0.2.0/24"},
		"everything":             {"0.0.0.0/0", "0.0.0.0/0"},
		"fifty":                  {strings.Repeat("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128 ", 50), "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
		"too many":               {strings.Repeat("192.0.2.7 ", 51), ""},
		"nothing":                {"", ""},
		"commas alone":           {" , ", ""},
		"any and a network":      {"any,192.0.2.0/24", ""},
		"name":                   {"example.com", ""},
		"port":                   {"192.0.2.7:80", ""},
		"too many bits":          {"192.0.2.0/33", ""},
		"zone":                   {"fe80::1%eth0", ""},
		"network in the newer":   {"::ffff:192.0.2.0/120", ""},
		"address in the newer":   {"::ffff:192.0.2.7", ""},
		"leading zeros":          {"192.0.2.010", ""},
		"range":                  {"192.0.2.1-192.0.2.9", ""},
		"good and bad":           {"192.0.2.0/24,x", ""},
		"mask in place of bits":  {"192.0.2.0/255.255.255.0", ""},
		"another word for any":   {"*", ""},
		"any in capital letters": {"ANY", ""},
	} {
		got, err := ParseNetworks(c.text)
		if (err != nil) != (c.want == "") || err == nil && FormatNetworks(got) != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestCheckNetwork includes the forms of addresses that sockets and proxies use.
func TestCheckNetwork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored, address string
		allowed         bool
	}{
		"anywhere":                  {"", "203.0.113.9", true},
		"anywhere, unknown address": {"", "", true},
		"inside":                    {"192.0.2.0/24", "192.0.2.255", true},
		"outside":                   {"192.0.2.0/24", "192.0.3.0", false},
		"the second":                {"198.51.100.1/32,192.0.2.0/24", "192.0.2.9", true},
		"mapped":                    {"192.0.2.0/24", "::ffff:192.0.2.9", true},
		"newer protocol":            {"2001:db8::/32", "2001:db8::9", true},
		"newer protocol, outside":   {"2001:db8::/32", "2001:db9::9", false},
		"with a zone":               {"fe80::/10", "fe80::1%eth0", true},
		"all of the older":          {"0.0.0.0/0", "2001:db8::9", false},
		"unknown address":           {"0.0.0.0/0,::/0", "", false},
		"unreadable":                {"x", "192.0.2.9", false},
		"unreadable and good":       {"x,192.0.2.0/24", "192.0.2.9", true},
	} {
		address, _ := netip.ParseAddr(c.address)
		err := Key{Networks: storedNetworks(c.stored)}.CheckNetwork(address)
		if (err == nil) != c.allowed || err != nil && domain.CodeOf(err) != domain.CodeUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	tests := []struct{ text, want string }{
		{"1d", "2026-11-22T09:30:00Z"},
		{"90d", "2027-02-19T09:30:00Z"},
		{"2027-01-31", "2027-02-01T00:00:00Z"},
		{"2026-11-21", "2026-11-22T00:00:00Z"},
		{"2026-12-31", "2027-01-01T00:00:00Z"},
	}
	for _, test := range tests {
		got, err := ParseExpiry(test.text, now)
		if err != nil || got.Format(time.RFC3339) != test.want {
			t.Errorf("%s: %v, %v; want %s", test.text, got, err, test.want)
		}
	}
	if got, err := ParseExpiry("never", now); got != nil || err != nil {
		t.Errorf("never: %v, %v", got, err)
	}
}
