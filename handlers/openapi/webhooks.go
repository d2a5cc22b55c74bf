package openapi

import (
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/compat"
)

// webhooks describes the requests sent to webhooks, by event.
func (d *describer) webhooks() members {
	var all members
	for _, event := range webhooks.Events() {
		resource, _ := webhooks.ResourceOf(event)
		sample := d.schemas.Of(compat.WebhookEvent{Type: event})
		all = append(all, member{event, members{{"post", members{
			{"operationId", "on" + domain.Capitalize(strings.ReplaceAll(event, ".", "_"))},
			{"summary", event},
			{"description", eventText(event, string(resource))},
			{"tags", []string{"webhooks"}},
			{"security", []members{}},
			{"parameters", eventHeaders()},
			{"requestBody", members{{"required", true}, {"content", members{{"application/json", members{{"schema", sample}, {"example", eventExample(event, string(resource))}}}}}}},
			{"responses", members{
				{"2XX", members{{"description", "The event was accepted"}}},
				{"410", members{{"description", "Nothing more is sent to this webhook"}}},
				{"default", members{{"description", "The event is sent again, ten times within three days; redirects are not followed"}}},
			}},
		}}}})
	}
	return all
}

func eventText(event, resource string) string {
	switch {
	case event == webhooks.StatusChanged:
		return "The status of a booking changed. A webhook that lists booking.updated and not this event gets it as booking.updated."
	case strings.HasSuffix(event, ".created"):
		return "A record of " + resource + " was created, by anybody."
	case event == "booking.deleted":
		return "A booking was deleted, by anybody; or it moved out of the scope of the webhook or its key, then `left` is true."
	case strings.HasSuffix(event, ".deleted"):
		return "A record of " + resource + " was deleted, by anybody."
	default:
		return "A record of " + resource + " was changed, by anybody."
	}
}

// eventHeaders are the headers of requests to webhooks. They are written out, because generators do not
// find components that only webhooks refer to.
func eventHeaders() []members {
	return []members{
		eventHeader(webhooks.IDHeader, "Unique id of the delivery, the same for each try: do nothing for one that was processed before", "evt_1f0a3c5e7b9d2468ace013579bdf2468"),
		eventHeader(webhooks.TimestampHeader, "Time of the try, in seconds since 1970: refuse one that is more than five minutes away", "1795341600"),
		eventHeader(webhooks.SignatureHeader, "Signatures of webhook-id, webhook-timestamp and body, joined by dots: v1, and HMAC-SHA256 in base64, one for each valid secret", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
	}
}

func eventHeader(name, about, example string) members {
	return members{{"name", name}, {"in", "header"}, {"required", true}, {"description", about}, {"schema", &compat.Schema{Type: "string"}}, {"example", example}}
}

// eventExample is the body of an event without a record.
func eventExample(event, resource string) members {
	_, kind, _ := strings.Cut(event, ".")
	data := members{{"number", 1204}, {"resource", resource}, {"resource_id", 17}, {"kind", kind}, {"at", exampleInstant}, {"origin", "found"}}
	if event == webhooks.StatusChanged {
		data[3] = member{"kind", "updated"}
		data = append(data, member{"old_status", "pending"}, member{"new_status", "approved"})
	}
	return members{{"type", event}, {"timestamp", exampleInstant}, {"data", data}}
}

const exampleInstant = "2026-11-22T10:00:00Z"
