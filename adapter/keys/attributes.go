package keys

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bookside/bookside/adapter/domain"
)

// The attributes of a key in the form in which people write them. The errors of the functions below say
// what to write, without naming the field.

// The words that remove an attribute of a key.
const (
	AnyNetwork   = "any"
	AnyID        = "any"
	NeverExpires = "never"
	DefaultLimit = "default"
)

const (
	maxKeyName     = 190 // characters, the size of the column
	maxNetworks    = 50  // per key; the column has room for them
	maxIDs         = 100 // likewise
	maxID          = 1<<23 - 1
	maxKeyRequests = 1_000_000_000
	maxLife        = 36_500 // days; a DATETIME holds more
)

// A permission is a verb, for all resources, or a verb and a resource: read_bookings. NamedPermissions are
// those that a verb alone does not include.
var (
	PermissionVerbs     = []string{"read", "write", "delete"}
	PermissionResources = []string{"bookings", "customers", "agents", "services", "locations", "payments", "orders", "coupons", "availability"}
	NamedPermissions    = []string{"read_changes", "write_users", "write_webhooks"}
)

// KnownPermission reports whether a key can hold a permission.
func KnownPermission(permission string) bool {
	verb, resource, qualified := strings.Cut(permission, "_")
	return slices.Contains(NamedPermissions, permission) ||
		slices.Contains(PermissionVerbs, verb) && (!qualified || slices.Contains(PermissionResources, resource))
}

// Holds reports whether the key has a permission, and its limits let it use it. Every valid key holds the empty
// permission.
func (k Key) Holds(permission string) bool { return k.has(permission) && k.reaches(permission) }

// reaches reports whether a permission is about bookings and their times, or reads an agent, a service or a
// location: a key with limits can do nothing else.
func (k Key) reaches(permission string) bool {
	switch permission {
	case "", "read_agents", "read_services", "read_locations", "read_changes", "write_webhooks":
		return true
	}
	_, resource, _ := strings.Cut(permission, "_")
	return k.Scope.Unlimited() || resource == "bookings" || resource == "availability"
}

// has reports whether the key was given a permission, by its name or by the verb for all resources.
func (k Key) has(permission string) bool {
	verb, resource, _ := strings.Cut(permission, "_")
	return permission == "" || slices.Contains(k.Permissions, permission) ||
		slices.Contains(PermissionResources, resource) && slices.Contains(k.Permissions, verb)
}

// Require returns a CodeForbidden that names the permission if the key does not have it, and a CodeOutsideScope
// if its limits do not let it use it.
func (k Key) Require(permission string) error {
	switch {
	case k.Holds(permission):
		return nil
	case k.has(permission):
		return domain.OutsideScope()
	}
	return &domain.Error{
		Code: domain.CodeForbidden, Message: "The API key lacks the permission " + permission,
		Required: permission, Granted: k.Permissions,
	}
}

// Preset is a set of permissions that many keys have.
type Preset struct {
	Name        string   `json:"name"`
	Hint        string   `json:"hint"`
	Permissions []string `json:"permissions"`
}

// Presets are the presets offered for new keys, the narrowest first.
var Presets = []Preset{
	{"read only", "sees everything", []string{"read"}},
	{"booking app", "finds free times, books for customers and changes bookings", []string{"read_bookings", "write_bookings", "read_customers", "write_customers", "read_agents", "read_services", "read_locations", "read_availability"}},
	{"follow changes", "also learns what changes: a CRM or an automation", []string{"read", "read_changes"}},
	{"front desk", "reads and writes", []string{"read", "write"}},
	{"everything", "reads, writes and deletes, also webhooks and links to users", []string{"read", "write", "delete", "read_changes", "write_users", "write_webhooks"}},
}

// ParseOverlap parses how long an old key stays valid beside a new one: hours or days, such
// as 12h or 7d, or 0 for not at all.
func ParseOverlap(text string) (time.Duration, error) {
	const longest = 365
	unit := time.Hour
	number, hours := strings.CutSuffix(text, "h")
	if days, ok := strings.CutSuffix(text, "d"); ok {
		number, unit, hours = days, 24*time.Hour, true
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > 0 && !hours || time.Duration(n) > longest*24*time.Hour/unit {
		return 0, fmt.Errorf("write hours or days such as 12h or 7d, %d days at most, or 0", longest)
	}
	return time.Duration(n) * unit, nil
}

// ParseName trims a name of 1 to 190 characters.
func ParseName(text string) (string, error) {
	name := strings.TrimSpace(text)
	length := utf8.RuneCountInString(name)
	if length < 1 || length > maxKeyName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fmt.Errorf("write 1 to %d characters without line breaks", maxKeyName)
	}
	return name, nil
}

// NameOr returns a name that ParseName accepts: the site's name for somebody, shortened to fit, or a fallback if nothing of it
// can be used.
func NameOr(text, fallback string) string {
	name := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	cut, err := ParseName(string(name[:min(len(name), maxKeyName)]))
	if err != nil {
		return fallback
	}
	return cut
}

// ParseKind reads live or test.
func ParseKind(text string) (Kind, error) {
	if kind := Kind(text); slices.Contains(Kinds, kind) {
		return kind, nil
	}
	return "", errors.New("write live or test")
}

// ParsePermissions reads a comma-separated list such as read,write_bookings.
func ParsePermissions(list string) ([]string, error) {
	if list == "" {
		return nil, errors.New("write a list such as read or read,write_bookings")
	}
	var permissions []string
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		if !KnownPermission(word) {
			if meant := permissionMeant(word); meant != "" {
				return nil, fmt.Errorf("permission %q: there is none of this name; did you mean %s?", word, meant)
			}
			return nil, fmt.Errorf("permission %q: write read, write or delete, or one of them for a resource, such as read_bookings, or %s; the resources are %s",
				word, strings.Join(NamedPermissions, ", "), strings.Join(PermissionResources, ", "))
		}
		if !slices.Contains(permissions, word) {
			permissions = append(permissions, word)
		}
	}
	return permissions, nil
}

// permissionMeant returns the permission that a misspelt word may stand for, or "".
func permissionMeant(word string) string {
	word = strings.ToLower(word)
	if slices.Contains([]string{"all", "any", "full", "everything", "admin", "*"}, word) {
		return strings.Join(PermissionVerbs, ",")
	}
	known := slices.Concat(PermissionVerbs, NamedPermissions)
	for _, verb := range PermissionVerbs {
		for _, resource := range PermissionResources {
			known = append(known, verb+"_"+resource)
		}
	}
	closest, likely := domain.Closest(word, known)
	if !likely {
		return ""
	}
	return closest
}

// ParseNetworks parses networks and addresses, separated by commas or blanks, or AnyNetwork, which means
// none. An empty text is an error: an unset variable must not open a key to everybody.
func ParseNetworks(text string) ([]netip.Prefix, error) {
	if strings.TrimSpace(text) == AnyNetwork {
		return nil, nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	switch {
	case len(words) == 0:
		return nil, errors.New("write networks such as 192.0.2.0/24 or addresses such as 192.0.2.7, or any")
	case len(words) > maxNetworks:
		return nil, fmt.Errorf("write %d networks at most", maxNetworks)
	}
	var networks []netip.Prefix
	for _, word := range words {
		network, err := parseNetwork(word)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(networks, network) {
			networks = append(networks, network)
		}
	}
	return networks, nil
}

// parseNetwork parses a network, or an address as a network of one.
func parseNetwork(word string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(word)
	if address, failed := netip.ParseAddr(word); failed == nil && address.Zone() == "" {
		network, err = address.Prefix(address.BitLen())
	}
	if err != nil || network.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is not a network; write one such as 192.0.2.0/24 or 2001:db8::/32, or an address", word)
	}
	return network.Masked(), nil
}

// FormatNetwork formats a network for people: a single address without its bits.
func FormatNetwork(network netip.Prefix) string {
	if network.IsSingleIP() {
		return network.Addr().String()
	}
	return network.String()
}

// FormatNetworks returns the text that ParseNetworks parses.
func FormatNetworks(networks []netip.Prefix) string {
	if len(networks) == 0 {
		return AnyNetwork
	}
	return join(networks, FormatNetwork)
}

func join[T any](all []T, format func(T) string) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = format(one)
	}
	return strings.Join(texts, ",")
}

// ParseIDs parses ids of agents, services or locations, separated by commas, or AnyID, which means none. An
// empty text is an error: an unset variable must not widen a key.
func ParseIDs(text string) (ids []int64, err error) {
	if strings.TrimSpace(text) == AnyID {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || id < 1 || id > maxID {
			return nil, errors.New("write ids such as 3,4, or any")
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) > maxIDs {
		return nil, fmt.Errorf("write %d ids at most", maxIDs)
	}
	return ids, nil
}

// ParseID parses one id of an agent or a location.
func ParseID(text string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || id < 1 || id > maxID {
		return 0, errors.New("write an id such as 3")
	}
	return id, nil
}

// IDsOnly formats ids for ScopeSummary.
func IDsOnly(_ domain.Resource, ids []int64) string { return JoinIDs(ids) }

// ScopeSummary returns the limits of the key's scope, part by part, or nothing for most keys. text formats
// the ids of a resource.
func (k Key) ScopeSummary(text func(resource domain.Resource, ids []int64) string) (parts []string) {
	for _, part := range []struct {
		resource domain.Resource
		ids      []int64
	}{{domain.AgentResource, k.Scope.Agents}, {domain.ServiceResource, k.Scope.Services}, {domain.LocationResource, k.Scope.Locations}} {
		if len(part.ids) > 0 {
			parts = append(parts, string(part.resource)+"s "+text(part.resource, part.ids))
		}
	}
	if k.MaskPersonal {
		parts = append(parts, "personal data masked")
	}
	return parts
}

// ParseExpiry parses a number of days from now, such as 90d, or the last day of the key
// in UTC. It returns nil for NeverExpires.
func ParseExpiry(text string, now time.Time) (*time.Time, error) {
	if text == NeverExpires {
		return nil, nil
	}
	var end time.Time
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > maxLife {
			return nil, fmt.Errorf("write a number of days from 1 to %d, such as 90d", maxLife)
		}
		end = now.UTC().AddDate(0, 0, n)
	} else {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, errors.New("write days such as 90d, or a date such as 2027-01-31")
		}
		end = day.AddDate(0, 0, 1)
	}
	switch {
	case !end.After(now):
		return nil, errors.New("this day is in the past")
	case end.After(now.AddDate(0, 0, maxLife+1)):
		return nil, fmt.Errorf("write a day within %d days", maxLife)
	}
	return &end, nil
}

// ParseRequestLimit parses a number of requests. It returns nil for DefaultLimit, which
// leaves the limit to the configuration.
func ParseRequestLimit(text string) (*int64, error) {
	if text == DefaultLimit {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxKeyRequests {
		return nil, fmt.Errorf("write a number from 1 to %d", maxKeyRequests)
	}
	return &n, nil
}
