package openapi

import (
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/jsonschema"
)

// webhooks describes the requests sent to webhooks, whose form is the same for all events.
func (d *describer) webhooks() members {
	event := d.schemas.Of(compat.WebhookEvent{})
	// Written out, as the headers are: generators do not find components that only webhooks refer to.
	event.Description = "Something that happened on the site"
	event.Properties[indexOf(event.Properties, "type")].Value().(*jsonschema.Schema).Enum = jobs.Events()
	return members{{"event", members{{"post", members{
		{"operationId", "onEvent"},
		{"summary", "Something happened"},
		{"description", "Sent to each webhook that lists the event. A webhook that lists booking.updated and not " + jobs.StatusChanged + " gets that as booking.updated. " +
			"booking.deleted is also sent when a booking moves out of the scope of the webhook or its key; then `left` is true."},
		{"tags", []string{"webhooks"}},
		{"security", []members{}},
		{"parameters", eventHeaders()},
		{"requestBody", members{{"required", true}, {"content", members{{jsonMedia, members{{"schema", event}, {"example", exampleEvent}}}}}}},
		{"responses", members{
			{"2XX", members{{"description", "The event was accepted"}}},
			{"410", members{{"description", "Nothing more is sent to this webhook"}}},
			{"default", members{{"description", "The event is sent again, ten times within three days; redirects are not followed"}}},
		}},
	}}}}}
}

// eventHeaders are the headers of requests to webhooks.
func eventHeaders() []members {
	return []members{
		eventHeader(jobs.IDHeader, "Unique id of the delivery, the same for each try: do nothing for one that was processed before", "evt_1f0a3c5e7b9d2468ace013579bdf2468"),
		eventHeader(jobs.TimestampHeader, "Time of the try, in seconds since 1970: refuse one that is more than five minutes away", "1795341600"),
		eventHeader(jobs.SignatureHeader, "Signatures of webhook-id, webhook-timestamp and body, joined by dots: v1, and HMAC-SHA256 in base64, one for each valid secret", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
	}
}

func eventHeader(name, about, example string) members {
	return members{{"name", name}, {"in", "header"}, {"required", true}, {"description", about}, {"schema", &jsonschema.Schema{Type: "string"}}, {"example", example}}
}

// exampleEvent is an event without a record.
var exampleEvent = members{{"type", jobs.StatusChanged}, {"timestamp", exampleInstant}, {"data", members{
	{"number", 1204}, {"resource", "bookings"}, {"resource_id", 17}, {"kind", "updated"}, {"at", exampleInstant}, {"origin", "found"},
	{"old_status", "pending"}, {"new_status", "approved"},
}}}

const exampleInstant = "2026-11-22T10:00:00Z"
