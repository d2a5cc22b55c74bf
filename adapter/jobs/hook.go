package jobs

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
)

// HookStatus says whether a webhook is served.
type HookStatus string

// The statuses of webhooks. Only the Sweeper sees deleted ones, and removes their rows.
const (
	Enabled  HookStatus = "enabled"
	Disabled HookStatus = "disabled"
	deleted  HookStatus = "deleted"
)

// Hook is a webhook as stored, without its secrets.
type Hook struct {
	ID      int64
	Name    string
	URL     string
	Filter  HookFilter
	Record  bool  // the present record is sent along
	Private bool  // the URL may lead to a non-public address
	KeyID   int64 // of the key that created it and that it ends with; 0 for none
	Status  HookStatus
	Reason  string // why it is disabled
	// FailingSince is the time of the first failure since the last success; "" for none, and once the
	// failed deliveries are given up.
	FailingSince   domain.Timestamp
	OldSecretUntil domain.Timestamp // "" unless a rotation is in progress
	CreatedAt      domain.Timestamp

	position          int64
	secret, oldSecret string // as stored
}

// HookFilter selects the changes that a webhook gets.
type HookFilter struct {
	Events []string // see ParseEvents
	// Agents, Services and Locations limit the bookings; empty means all. They do not affect other
	// resources.
	Agents, Services, Locations []int64
}

// Scope returns the filter's limits on bookings.
func (f HookFilter) Scope() domain.Scope {
	return domain.Scope{Agents: f.Agents, Services: f.Services, Locations: f.Locations}
}

// event returns an entry as it is sent, and its event name; ok is false if it is not sent. A booking that
// has left the filter is sent as deleted.
func (f HookFilter) event(e journal.Entry) (sent journal.Entry, event string, ok bool) {
	if e.Resource == journal.Bookings && !f.Scope().Unlimited() {
		if e, ok = e.Within(f.Covers); !ok {
			return e, "", false
		}
	}
	event, ok = eventOf(e, f.Events)
	return e, event, ok
}

// Covers reports whether the filter includes bookings with this assignment.
func (f HookFilter) Covers(a journal.Assignment) bool {
	return f.Scope().Covers(a.AgentID, a.ServiceID, a.LocationID)
}

// NewHook is a webhook to add.
type NewHook struct {
	Name    string // "" for the host of the URL
	URL     string
	Filter  HookFilter
	Record  bool
	Private bool
}

// HookPatch changes a webhook. A nil field stays as it is.
type HookPatch struct {
	Name   *string
	URL    *string
	Filter *HookFilter
	Record *bool
	// Private is Hook.Private of a changed URL, as its writer may use private addresses or not; that of the same URL stays.
	Private bool
}

// MaxIDs is the maximum number of ids in a filter; the columns have room for them.
const MaxIDs = 80

const (
	maxURL        = 2000 // characters, the size of the column
	maxHooks      = 100  // of a site, added by keys: each may have several requests at once
	maxHooksOfKey = 20   // so that no key takes all of them
)

// ParseName trims a name of 1 to 190 characters.
func ParseName(text string) (string, error) { return keys.ParseName(text) }

var errPrivate = fmt.Errorf("%w; webhooks.allow_private lets webhooks use it", ErrPrivateAddress)

// ParseURL checks the URL of a receiver. Unless private addresses are allowed, it may not contain one. Host
// names are checked when they are resolved, before each request.
func ParseURL(text string, private bool) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return "", errors.New("write a URL such as https://example.com/hooks")
	}
	address, failed := netip.ParseAddr(u.Hostname())
	switch {
	case u.User != nil:
		return "", errors.New("write a URL without user name and password")
	case u.Fragment != "":
		return "", errors.New("write a URL without #")
	case !validPort(u.Port()):
		return "", errors.New("write a port from 1 to 65535")
	case !private && (failed == nil && !publicAddress(address) || strings.EqualFold(u.Hostname(), "localhost")):
		return "", errPrivate
	}
	if text = u.String(); len(text) > maxURL {
		return "", fmt.Errorf("write at most %d characters", maxURL)
	}
	return text, nil
}

// hostOf returns the host of a valid URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return domain.Cut(u.Host, 190)
}

func validPort(text string) bool {
	if text == "" {
		return true
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// MaskURL returns a URL without the values of its query, which may be secret.
func MaskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if u.RawQuery != "" {
		u.RawQuery = "***"
	}
	return u.Redacted()
}

// ParseIDs parses a comma-separated list of ids, and removes duplicates. An empty text is an error: an
// unset variable must not widen a filter.
func ParseIDs(text string) ([]int64, error) {
	var ids []int64
	for word := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || id < 1 || id > 1<<31 {
			return nil, errors.New("write ids such as 3 or 3,5")
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > MaxIDs {
		return nil, fmt.Errorf("write at most %d ids", MaxIDs)
	}
	return ids, nil
}

// permissions are what a key needs to see changes of a resource.
var permissions = map[journal.Resource]string{
	journal.Bookings: "read_bookings", journal.Customers: "read_customers", journal.Orders: "read_orders", journal.Payments: "read_payments",
	journal.Invoices: "read_orders", journal.Services: "read_services", journal.Agents: "read_agents", journal.Locations: "read_locations",
	journal.Coupons: "read_coupons",
}

// needed returns what a key needs to have a webhook for events. For AllEvents it needs no more: it gets the events that it
// may see.
func needed(events []string) []string {
	list := []string{"write_webhooks", "read_changes"}
	for _, event := range events {
		if resource, ok := ResourceOf(event); ok {
			list = append(list, permissions[resource])
		}
	}
	return list
}

// Require returns the error for the first permission that a key lacks for a webhook for events, or nil.
func Require(key keys.Key, events []string) error {
	for _, permission := range needed(events) {
		if err := key.Require(permission); err != nil {
			return err
		}
	}
	return nil
}

// lack says which permission the key of a webhook for events has lost; "" for none.
func lack(key keys.Key, events []string) string {
	for _, permission := range needed(events) {
		switch domain.CodeOf(key.Require(permission)) {
		case domain.CodeForbidden:
			return "its API key lacks the permission " + permission
		case domain.CodeOutsideScope:
			return "its API key is limited, and cannot use the permission " + permission
		}
	}
	return ""
}
