package jobs

import (
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
)

type hookAttribute = keys.Attribute[Hook, NewHook]

// HookAttributes are the attributes of a webhook. NewHook.Private lets the URL lead to a private address.
var HookAttributes = []keys.Attribute[Hook, NewHook]{
	{
		Name: "url", Label: "URL", Hint: "Where events are sent, with http or https, at a public address.", Format: func(h Hook) string { return h.URL },
		Parse: func(text string, _ time.Time, n *NewHook) (err error) {
			n.URL, err = ParseURL(text, n.Private)
			return err
		},
	},
	keys.Declare(hookAttribute{
		Name: "events", Label: "Events", Hint: "Such as booking.created, customer.* or * for all, separated by commas.",
		Usage:  "comma-separated `LIST` of events, such as booking.created,customer.updated or *; required",
		Format: func(h Hook) string { return strings.Join(h.Filter.Events, ", ") },
	}, func(n *NewHook) *[]string { return &n.Filter.Events }, ParseEvents),
	keys.Declare(hookAttribute{
		Name: "name", Label: "Name", Max: 190, Hint: "Leave empty for the host of the URL.", Optional: true,
		Usage: "`NAME` of the webhook; default the host of the URL", Format: func(h Hook) string { return h.Name },
	}, func(n *NewHook) *string { return &n.Name }, ParseName),
	limitAttribute(domain.AgentResource, "with", func(f *HookFilter) *[]int64 { return &f.Agents }),
	limitAttribute(domain.ServiceResource, "with", func(f *HookFilter) *[]int64 { return &f.Services }),
	limitAttribute(domain.LocationResource, "at", func(f *HookFilter) *[]int64 { return &f.Locations }),
	keys.Declare(hookAttribute{
		Name: "record", Box: true, Optional: true, Hint: "Also send the present record, with personal data",
		Usage: "also send the present record, with personal data", Format: func(h Hook) string { return keys.FormatBox(h.Record) },
	}, func(n *NewHook) *bool { return &n.Record }, keys.ParseBox),
}

// limitAttribute limits the bookings to those of, or at, some of a resource.
func limitAttribute(resource domain.Resource, with string, field func(*HookFilter) *[]int64) keys.Attribute[Hook, NewHook] {
	name := string(resource) + "s"
	return keys.Declare(hookAttribute{
		Name: name, Label: domain.Capitalize(name), Of: resource, Optional: true,
		Hint:   "Only bookings " + with + " these " + name + ".",
		Usage:  "only bookings " + with + " one of these " + name + ", comma-separated `IDS` or names",
		Format: func(h Hook) string { return keys.JoinIDs(*field(&h.Filter)) },
	}, func(n *NewHook) *[]int64 { return field(&n.Filter) }, ParseIDs)
}
