package keys

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
)

// Attribute is one attribute of a new N, as a flag on the command line and a field in a form. S is an N as
// stored.
type Attribute[S, N any] struct {
	Name        string          // of the field and, with - for _, of the flag
	Usage       string          // of the flag; "" for none
	Label, Hint string          // of the field
	Of          domain.Resource // the resource whose ids or names it holds; "" for none
	One         bool            // it holds only one of them
	Box         bool            // true or false
	Choices     []Choice        // its possible values; none for free text
	Lines       bool            // a text of several lines
	Date        bool            // a day, in the field
	Max         int             // characters; 0 for as many as Parse takes
	Optional    bool            // its field may be empty, which means Clear
	Missing     string          // the error for an empty field; "" for Parse's own
	Format      func(S) string  // the text of the field
	Parse       func(text string, now time.Time, n *N) error
	Clear       func(n *N)
}

// Choice is one of several values of an attribute: in the form that Parse takes, and for people.
type Choice struct {
	Value string `json:"value"`
	Text  string `json:"text"`
}

// Declare returns an attribute whose value is stored in a field of N.
func Declare[S, N, T any](a Attribute[S, N], field func(*N) *T, parse func(string) (T, error)) Attribute[S, N] {
	return declareAt(a, field, func(text string, _ time.Time) (T, error) { return parse(text) })
}

// declareAt is like Declare, for a text whose meaning depends on the time.
func declareAt[S, N, T any](a Attribute[S, N], field func(*N) *T, parse func(string, time.Time) (T, error)) Attribute[S, N] {
	a.Parse = func(text string, now time.Time, n *N) (err error) {
		*field(n), err = parse(text, now)
		return err
	}
	a.Clear = func(n *N) { *field(n) = *new(T) }
	return a
}

// CheckChoices checks ids or names of agents, services or locations, or AnyID, as far as possible without
// the site. The site then resolves names, and Parse takes ids.
func (a Attribute[S, N]) CheckChoices(text string) error {
	_, failed := ParseIDs(text)
	switch {
	case a.One && (strings.TrimSpace(text) == "" || failed == nil && text != AnyID):
		_, err := ParseID(text)
		return err
	case a.One:
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		id, err := strconv.ParseInt(word, 10, 64)
		if word == "" || err == nil && (id < 1 || id > maxID) {
			return errors.New("write ids such as 3,4, or any")
		}
	}
	return nil
}

// ParseBox parses true or false.
func ParseBox(text string) (bool, error) {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("write true or false")
	}
	return yes, nil
}

// FormatBox returns the text of a field that ParseBox parses.
func FormatBox(yes bool) string { return map[bool]string{true: "1"}[yes] }

type keyAttribute = Attribute[Key, NewKey]

// NewAttributes are the attributes of a new key. Each is also a field of NewKey and Key, a line of NewKey.Patch
// and a column of the store.
var NewAttributes = []Attribute[Key, NewKey]{
	Declare(keyAttribute{
		Name: "name", Label: "Name", Max: maxKeyName, Hint: "Distinguishes this key from others: an app, a till, a partner.",
		Usage: "`NAME` of the key, 1 to 190 characters; required for a new key", Format: func(k Key) string { return k.Name },
	}, func(n *NewKey) *string { return &n.Name }, ParseName),
	Declare(keyAttribute{
		Name: "permissions", Label: "Permissions", Missing: "tick at least one",
		Hint:  "A box in the row \"everything\" covers the rows below it except changes, users and webhooks: keys with write users can link customers to users of the site.",
		Usage: "comma-separated `LIST` of permissions; required for a new key", Format: func(k Key) string { return strings.Join(k.Permissions, ",") },
	}, func(n *NewKey) *[]string { return &n.Permissions }, ParsePermissions),
	Declare(keyAttribute{
		Name: "kind", Label: "Kind", Choices: []Choice{{string(Live), "live"}, {string(Test), "test, with separate limits"}},
		Usage:  "`KIND` of the key, live or test, each with its own limits (rate_limit in help config); default live, or test for an imported key that begins with lp_test_",
		Format: func(k Key) string { return string(k.Kind) },
	}, func(n *NewKey) *Kind { return &n.Kind }, ParseKind),
	Declare(keyAttribute{
		Name: "networks", Label: "Networks", Optional: true, Lines: true,
		Hint:   "The key is accepted only from these: networks such as 192.0.2.0/24 or addresses such as 192.0.2.7, one per line. Leave empty for any.",
		Usage:  "comma-separated `LIST` of networks or addresses from which the key is accepted, such as 192.0.2.0/24, or any; default for a new key any",
		Format: func(k Key) string { return strings.ReplaceAll(join(k.Networks, FormatNetwork), ",", "\n") },
	}, func(n *NewKey) *[]netip.Prefix { return &n.Networks }, ParseNetworks),
	scopeAttribute(domain.AgentResource, "The key reaches only bookings with these agents, and no customers, orders and payments.",
		func(s *domain.Scope) *[]int64 { return &s.Agents }),
	scopeAttribute(domain.ServiceResource, "The same for services. All that is ticked must hold.", func(s *domain.Scope) *[]int64 { return &s.Services }),
	scopeAttribute(domain.LocationResource, "The same for locations.", func(s *domain.Scope) *[]int64 { return &s.Locations }),
	Declare(keyAttribute{
		Name: "mask_personal", Label: "Personal data", Box: true, Optional: true,
		Hint:   "Mask e-mail addresses, phone numbers, addresses and notes; the key can neither search nor write them",
		Usage:  "mask e-mail addresses, phone numbers, addresses and notes (--mask-personal=false for a key that has it)",
		Format: func(k Key) string { return FormatBox(k.MaskPersonal) },
	}, func(n *NewKey) *bool { return &n.MaskPersonal }, ParseBox),
	declareAt(keyAttribute{
		Name: "expires", Label: "Last day", Date: true, Optional: true, Hint: "The key expires at the end of this day (UTC). Leave empty for never.",
		Usage:  "`WHEN` the key expires: 90d from now, after the day 2027-01-31 (UTC), or never; default for a new key never",
		Format: func(k Key) string { return lastDay(k.ExpiresAt) },
	}, expiry, ParseExpiry),
	Declare(keyAttribute{
		Name: "per_minute", Label: "Requests per minute", Optional: true, Hint: "Leave empty for the configured limit",
		Usage: "maximum requests per minute, `N`, or default for the configured limit of the kind", Format: func(k Key) string { return FormatLimit(k.PerMinute) },
	}, func(n *NewKey) **int64 { return &n.PerMinute }, ParseRequestLimit),
	Declare(keyAttribute{
		Name: "per_hour", Label: "Requests per hour", Optional: true, Hint: "Leave empty for the configured limit",
		Usage: "maximum requests per hour, `N`, or default for the configured limit of the kind", Format: func(k Key) string { return FormatLimit(k.PerHour) },
	}, func(n *NewKey) **int64 { return &n.PerHour }, ParseRequestLimit),
}

func scopeAttribute(resource domain.Resource, hint string, field func(*domain.Scope) *[]int64) Attribute[Key, NewKey] {
	name := string(resource) + "s"
	return Declare(keyAttribute{
		Name: name, Label: domain.Capitalize(name), Of: resource, Optional: true, Hint: hint,
		Usage:  "comma-separated `IDS` or names of the " + name + " that the key is limited to, or any; default for a new key any",
		Format: func(k Key) string { return JoinIDs(*field(&k.Scope)) },
	}, func(n *NewKey) *[]int64 { return field(&n.Scope) }, ParseIDs)
}

// ChangeableAttributes are the attributes of a key that can change; the kind cannot.
var ChangeableAttributes = slices.DeleteFunc(slices.Clone(NewAttributes), func(a Attribute[Key, NewKey]) bool { return a.Name == "kind" })

// RollAttributes are the attributes of replacing a key: how long the old one stays valid.
var RollAttributes = []Attribute[Key, time.Duration]{
	Declare(Attribute[Key, time.Duration]{
		Name: "overlap", Label: "The old key stays valid for",
		Choices: []Choice{{"0", "no time: somebody else may know it"}, {"1d", "a day"}, {"7d", "a week"}, {"30d", "30 days"}},
	}, func(d *time.Duration) *time.Duration { return d }, func(text string) (time.Duration, error) {
		overlap, err := ParseOverlap(text)
		if err != nil || overlap > 30*24*time.Hour {
			return 0, errors.New("choose how long the old key stays valid")
		}
		return overlap, nil
	}),
}

// CalendarAttributes are the attributes of a new calendar, except its subject.
var CalendarAttributes = []Attribute[Key, NewKey]{
	Declare(keyAttribute{
		Name: "details", Label: "Shows", Choices: []Choice{
			{string(Busy), "when somebody is booked"}, {string(Names), "also the service, the customer's name and the address"},
			{string(Full), "also how to reach the customer, and what they wrote"},
		}, Usage: "what it shows: `DETAILS` busy, names or full; default busy", Hint: "This cannot be changed later.",
	}, func(n *NewKey) *Details { return &n.Details }, ParseDetails),
	Declare(keyAttribute{
		Name: "name", Label: "Name", Max: maxKeyName, Optional: true, Hint: "In the list of calendars. Leave empty for that of the agent or location.",
		Usage: "`NAME` in the list of calendars, 1 to 190 characters; default that of the agent or location",
	}, func(n *NewKey) *string { return &n.Name }, ParseName),
	declareAt(keyAttribute{
		Name: "expires", Label: "Last day", Date: true, Optional: true, Hint: "The address ends with this day (UTC). Leave empty for never.",
		Usage: "`WHEN` the address expires: 90d from now, after the day 2027-01-31 (UTC), or never; default never",
	}, expiry, ParseExpiry),
}

// CalendarSubjects are the attributes for the subject of a new calendar, which has one of them.
var CalendarSubjects = []Attribute[Key, NewKey]{
	calendarSubject(domain.AgentResource, "`ID` or name of the agent whose bookings it shows; this or --location is required"),
	calendarSubject(domain.LocationResource, "`ID` or name of the location whose bookings it shows"),
}

func calendarSubject(resource domain.Resource, usage string) Attribute[Key, NewKey] {
	return Declare(keyAttribute{Name: string(resource), Of: resource, One: true, Usage: usage},
		func(n *NewKey) *domain.Scope { return &n.Scope },
		func(text string) (domain.Scope, error) {
			id, err := ParseID(text)
			return CalendarScope(resource, id), err
		})
}

func expiry(n *NewKey) **time.Time { return &n.ExpiresAt }

// lastDay returns the last day on which a key is valid, even if only for part of it.
func lastDay(end domain.Timestamp) string {
	instant, ok := end.Time()
	if !ok {
		return ""
	}
	return instant.Add(-time.Second).Format(time.DateOnly)
}

// FormatLimit returns the text that ParseRequestLimit parses; "" for DefaultLimit.
func FormatLimit(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// Patch returns a patch of a key with some attributes of n.
func (n NewKey) Patch(names ...string) Patch {
	p := Patch{
		Name: only("name", names, &n.Name), Networks: only("networks", names, &n.Networks), MaskPersonal: only("mask_personal", names, &n.MaskPersonal),
		Agents: only("agents", names, &n.Scope.Agents), Services: only("services", names, &n.Scope.Services), Locations: only("locations", names, &n.Scope.Locations),
		ExpiresAt: only("expires", names, cmp.Or(n.ExpiresAt, new(time.Time))),
		PerMinute: only("per_minute", names, cmp.Or(n.PerMinute, new(int64))), PerHour: only("per_hour", names, cmp.Or(n.PerHour, new(int64))),
	}
	if slices.Contains(names, "permissions") {
		p.Permissions = n.Permissions
	}
	return p
}

// only returns a value if its name is among names, and nil otherwise.
func only[T any](name string, names []string, value *T) *T {
	if slices.Contains(names, name) {
		return value
	}
	return nil
}
