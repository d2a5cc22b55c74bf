package compat

import (
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/compat/jsonschema"
)

// Webhook is a webhook of the key. It is not part of the contract, so ids are numbers and
// times are RFC 3339.
type Webhook struct {
	ID             int64    `json:"id"`
	Name           string   `json:"name"`
	URL            string   `json:"url"`
	Events         []string `json:"events"`
	Agents         []int64  `json:"agents"`
	Services       []int64  `json:"services"`
	Locations      []int64  `json:"locations"`
	IncludeRecord  bool     `json:"include_record"`
	Status         string   `json:"status"`
	Reason         string   `json:"reason"`
	FailingSince   *string  `json:"failing_since"`
	OldSecretUntil *string  `json:"old_secret_until"`
	CreatedAt      string   `json:"created_at"`
	Secret         string   `json:"secret,omitzero"` // if it was just created
}

// WebhookList has all webhooks of the key.
type WebhookList struct {
	Success bool      `json:"success"`
	Data    []Webhook `json:"data"`
}

// Envelope says that it surrounds a record.
func (WebhookList) Envelope() {}

// WebhookDelivery is an event that was or is sent to a webhook.
type WebhookDelivery struct {
	ID         int64        `json:"id"`
	MessageID  string       `json:"message_id"`
	Event      string       `json:"event"`
	Number     *int64       `json:"number"`
	Resource   *string      `json:"resource"`
	ResourceID *int64       `json:"resource_id"`
	State      string       `json:"state"`
	Failure    string       `json:"failure"`
	NextTryAt  *string      `json:"next_try_at"`
	CreatedAt  string       `json:"created_at"`
	FinishedAt *string      `json:"finished_at"`
	Tries      []WebhookTry `json:"tries"`
}

// WebhookTry is a request that was sent to a webhook.
type WebhookTry struct {
	At      string `json:"at"`
	Status  *int   `json:"status"`
	TookMS  int64  `json:"took_ms"`
	Failure string `json:"failure"`
	Answer  string `json:"answer"`
}

// WebhookDeliveryList is a part of the log of a webhook, newest first.
type WebhookDeliveryList struct {
	Success bool              `json:"success"`
	Data    []WebhookDelivery `json:"data"`
	HasMore bool              `json:"has_more"`
}

// Envelope says that it surrounds a record.
func (WebhookDeliveryList) Envelope() {}

// WebhookDeliveryParameters are the parameters of the log of a webhook.
var WebhookDeliveryParameters = parameters("GET /webhooks/{id}/deliveries", domain.InvalidParameters, func(f *jobs.DeliveryFilter) Fields {
	return Fields{
		defaulted("limit", integer(1, 100), 20, &f.Limit),
		value("before", integer(1, maxPage), &f.Before),
		value("state", oneWord(jobs.DeliveryStates...), &f.State),
	}
})

// WebhookChange is the content of a body about a webhook. A nil field was not sent.
type WebhookChange struct {
	Name, URL                   *string
	Events                      *[]string
	Agents, Services, Locations *[]int64
	Record, Enabled             *bool
	Skip                        bool
}

var webhookStatuses = map[string]bool{"enabled": true, "disabled": false}

// WebhookFields are the fields of PUT /webhooks/{id}.
var WebhookFields = declare("a webhook", func(c *WebhookChange) Fields {
	return append(webhookFields(c),
		optional("status", word(webhookStatuses, oneOf("enabled", "disabled")), &c.Enabled),
		flag("skip", &c.Skip),
	).changing()
})

// NewWebhookFields are the fields of POST /webhooks.
var NewWebhookFields = declare("a webhook", func(c *WebhookChange) Fields { return webhookFields(c).requiring("url", "events") })

func webhookFields(c *WebhookChange) Fields {
	return Fields{
		optional("url", filledText, &c.URL),
		optional("events", wordList, &c.Events),
		optional("name", filledText, &c.Name),
		clearable("agents", idList, &c.Agents),
		clearable("services", idList, &c.Services),
		clearable("locations", idList, &c.Locations),
		optional("include_record", boolean, &c.Record),
	}
}

const notTexts = "Must be a list of texts"

// sentWords returns the single values of a list, or the words of a comma-separated text, and whether some
// are not texts. ok is false if none was sent, or something else, which is recorded.
func sentWords(b *Body, name string) (words []string, numbers, ok bool) {
	value, sent := b.sent(name)
	if !sent {
		return nil, false, false
	}
	if text, isText, single := value.Scalar(); single && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), !isText, true
	}
	elements, ok := b.list(name)
	for _, e := range elements {
		text, isText, single := e.Scalar()
		if !single {
			b.addProblem(name, invalid(notAList))
			return nil, false, false
		}
		numbers = numbers || !isText
		words = append(words, strings.TrimSpace(text))
	}
	return words, numbers, ok
}

// wordList is a list of events.
var wordList = valueType[[]string]{
	description: description{blank: isValue, schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: jsonschema.Array, Items: &jsonschema.Schema{Type: jsonschema.String}, MinItems: 1}
	}},
	read: func(in input, name string) ([]string, bool) {
		words, numbers, ok := sentWords(in.(*Body), name)
		if numbers {
			in.addProblem(name, invalid(notTexts))
			return nil, false
		}
		if ok && len(words) == 0 {
			in.addProblem(name, rejected(mayNotBeEmpty))
		}
		if !ok || len(words) == 0 {
			return nil, false
		}
		events, err := jobs.CheckEvents(words)
		if err != nil {
			in.addProblem(name, rejected("Must be names of events, such as booking.created, booking.* or *"))
		}
		return events, err == nil
	},
}

// idList is a list of ids, which may be empty.
var idList = valueType[[]int64]{
	description: description{blank: isValue, schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: jsonschema.Array, Items: &jsonschema.Schema{Type: jsonschema.Integer, Minimum: jsonschema.Bound("1"), Maximum: jsonschema.Bound("2147483648")}, MaxItems: jobs.MaxIDs}
	}},
	read: func(in input, name string) ([]int64, bool) {
		words, _, ok := sentWords(in.(*Body), name)
		if !ok || len(words) == 0 {
			return []int64{}, ok
		}
		ids, err := jobs.ParseIDs(strings.Join(words, ","))
		if err != nil {
			in.addProblem(name, invalid(domain.Capitalize(err.Error())))
		}
		return ids, err == nil
	},
}

// ReadWebhookChange reads the body of POST /webhooks and PUT /webhooks/{id}; the error lists all problems.
// private says whether the URL may contain a non-public address.
func ReadWebhookChange(b *Body, fields Declaration[WebhookChange], private bool) (WebhookChange, error) {
	var c WebhookChange
	fields.read(b, &c)
	if c.URL != nil {
		parsed, err := jobs.ParseURL(*c.URL, private)
		if err != nil {
			b.addProblem("url", rejected(domain.Capitalize(err.Error())))
		}
		c.URL = &parsed
	}
	if c.Name != nil {
		parsed, err := jobs.ParseName(*c.Name)
		if err != nil {
			b.addProblem("name", rejected(domain.Capitalize(err.Error())))
		}
		c.Name = &parsed
	}
	return c, b.Err()
}

// Named returns the agents, services and locations named in the body.
func (c WebhookChange) Named() domain.Scope {
	return domain.Scope{Agents: domain.ValueOr(c.Agents, nil), Services: domain.ValueOr(c.Services, nil), Locations: domain.ValueOr(c.Locations, nil)}
}

// New returns the webhook described by the body.
func (c WebhookChange) New(private bool) jobs.NewHook {
	n := jobs.NewHook{URL: domain.ValueOr(c.URL, ""), Name: domain.ValueOr(c.Name, ""), Record: domain.ValueOr(c.Record, false), Private: private}
	n.Filter = c.filter(n.Filter)
	return n
}

// Patch returns the body's changes to a webhook.
func (c WebhookChange) Patch(h jobs.Hook, private bool) jobs.HookPatch {
	filter := c.filter(h.Filter)
	return jobs.HookPatch{Name: c.Name, URL: c.URL, Filter: &filter, Record: c.Record, Private: private}
}

func (c WebhookChange) filter(f jobs.HookFilter) jobs.HookFilter {
	f.Events = domain.ValueOr(c.Events, f.Events)
	f.Agents, f.Services, f.Locations = domain.ValueOr(c.Agents, f.Agents), domain.ValueOr(c.Services, f.Services), domain.ValueOr(c.Locations, f.Locations)
	return f
}

// WebhookReplay is the body of POST /webhooks/{id}/replay.
type WebhookReplay struct {
	DeliveryID *int64
	Since      *time.Time
}

// WebhookReplayFields are the fields of POST /webhooks/{id}/replay.
var WebhookReplayFields = declare("POST /webhooks/{id}/replay", func(r *WebhookReplay) Fields {
	return Fields{
		optional("delivery_id", integer(1, maxPage), &r.DeliveryID),
		optional("since", instant, &r.Since),
	}
})

const notAnInstant = "Must be a time such as 2026-11-22T10:00:00Z"

// instant is a time in RFC 3339.
var instant = parsed(plain(jsonschema.Schema{Type: jsonschema.String, Format: "date-time"}), notAnInstant, func(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
})

// ReadWebhookReplay reads the body of POST /webhooks/{id}/replay.
func ReadWebhookReplay(b *Body) (r WebhookReplay, err error) {
	WebhookReplayFields.read(b, &r)
	if (r.DeliveryID == nil) == (r.Since == nil) {
		b.addProblem("delivery_id", invalid("Send either delivery_id or since"))
	}
	return r, b.Err()
}

// WebhookRotationFields are the fields of POST /webhooks/{id}/rotate.
var WebhookRotationFields = declare("POST /webhooks/{id}/rotate", func(hours *int64) Fields {
	return Fields{defaulted("overlap_hours", integer(0, 720), 24, hours)}
})

// ReadWebhookRotation reads the body of POST /webhooks/{id}/rotate.
func ReadWebhookRotation(b *Body) (overlap time.Duration, err error) {
	var hours int64
	WebhookRotationFields.read(b, &hours)
	return time.Duration(hours) * time.Hour, b.Err()
}

// WebhookOf returns the record of a webhook.
func WebhookOf(h jobs.Hook) Webhook {
	return Webhook{
		ID: h.ID, Name: h.Name, URL: h.URL, Events: h.Filter.Events, Agents: orEmpty(h.Filter.Agents), Services: orEmpty(h.Filter.Services),
		Locations: orEmpty(h.Filter.Locations), IncludeRecord: h.Record, Status: string(h.Status), Reason: h.Reason,
		FailingSince: instantText(h.FailingSince), OldSecretUntil: instantText(h.OldSecretUntil), CreatedAt: domain.ValueOr(instantText(h.CreatedAt), ""),
	}
}

func orEmpty(ids []int64) []int64 { return append([]int64{}, ids...) }

// instantText returns a stored instant in RFC 3339, or nil if none is stored.
func instantText(t domain.Timestamp) *string {
	at, ok := t.Time()
	if !ok {
		return nil
	}
	return new(at.Format(time.RFC3339))
}

// WebhookListOf returns a list of webhooks.
func WebhookListOf(hooks ...jobs.Hook) WebhookList {
	return WebhookList{Success: true, Data: each(hooks, WebhookOf)}
}

// WebhookDetail returns one webhook.
func WebhookDetail(h jobs.Hook) Single[Webhook] { return single(WebhookOf(h)) }

// The responses to writes, without their records.
var (
	WebhookCreated = successMessage[Webhook]("Webhook created successfully. The secret is shown only now")
	WebhookUpdated = successMessage[Webhook]("Webhook updated successfully")
	WebhookRotated = successMessage[Webhook]("Secret changed successfully. It is shown only now")
	WebhookTested  = successMessage[WebhookDelivery]("Test event queued")
	WebhookDeleted = done("Webhook deleted successfully")
	WebhookReplays = done("The events are sent again")
)

// WebhookAnswer returns a response with a webhook, and with its secret if that is new.
func WebhookAnswer(answer SuccessMessage[Webhook], h jobs.Hook, secret string) SuccessMessage[Webhook] {
	record := WebhookOf(h)
	record.Secret = secret
	return answer.about(record)
}

// WebhookTestQueued returns the response to POST /webhooks/{id}/test.
func WebhookTestQueued(d jobs.Delivery) SuccessMessage[WebhookDelivery] {
	return WebhookTested.about(webhookDelivery(d, nil))
}

// WebhookDeliveriesOf returns a part of the log of a webhook.
func WebhookDeliveriesOf(deliveries []jobs.Delivery, tries map[int64][]jobs.Try, more bool) WebhookDeliveryList {
	shape := func(d jobs.Delivery) WebhookDelivery { return webhookDelivery(d, tries[d.ID]) }
	return WebhookDeliveryList{Success: true, Data: each(deliveries, shape), HasMore: more}
}

func webhookDelivery(d jobs.Delivery, tries []jobs.Try) WebhookDelivery {
	record := WebhookDelivery{
		ID: d.ID, MessageID: d.MessageID(), Event: d.Event, State: d.State, Failure: d.Failure, CreatedAt: domain.ValueOr(instantText(d.CreatedAt), ""),
		FinishedAt: instantText(d.FinishedAt), Tries: make([]WebhookTry, len(tries)),
	}
	if d.Number != 0 {
		record.Number, record.ResourceID, record.Resource = &d.Number, &d.ResourceID, (*string)(&d.Resource)
	}
	if d.Waits() {
		record.NextTryAt = instantText(d.DueAt)
	}
	for i, t := range tries {
		record.Tries[i] = WebhookTry{At: domain.ValueOr(instantText(t.At), ""), TookMS: t.Took.Milliseconds(), Failure: t.Failure, Answer: t.Answer}
		if t.Status != 0 {
			record.Tries[i].Status = &t.Status
		}
	}
	return record
}

// WebhookEvent is the body of a request to a webhook. The data includes the present record if the webhook
// asks for it.
type WebhookEvent struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      Change `json:"data"`
}

// Envelope says that it surrounds a record.
func (WebhookEvent) Envelope() {}
