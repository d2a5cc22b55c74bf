// Package facts has the contents of the console's pages for WordPress, which shows them in its own style and in the site's
// language. Instants are UTC, as 2026-11-22 09:30:00, and "" is none; days and times of day are those of the site. It imports the adapter's packages whose records it describes,
// handlers/console/page and terms for the forms.
package facts

import (
	"strconv"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
)

// Message is a page that only has a text.
type Message struct {
	Message string `json:"message"`
}

// Form is a form, with the submitted values and their errors.
type Form struct {
	Fields  []Field `json:"fields"`
	Nonce   string  `json:"nonce"`   // to be sent with the form
	Version string  `json:"version"` // to be sent with the form
	Problem string  `json:"problem"` // of the form as a whole; "" for none
}

// Field is a field. Type is text, date, lines, box, boxes (any number of choices), choices (one of them) or permissions.
type Field struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Label   string          `json:"label"`
	Hint    string          `json:"hint"`
	Value   string          `json:"value"`
	Error   string          `json:"error"`
	Choices []keys.Choice   `json:"choices,omitempty"`
	Presets []keys.Preset   `json:"presets,omitempty"` // sets of permissions
	Verbs   []string        `json:"verbs,omitempty"`   // heads of the columns of Rows
	Rows    []PermissionRow `json:"rows,omitempty"`    // of the table of permissions
}

// FormOf returns a form for attributes. Names are those of agents, services and locations; without them, people write ids.
func FormOf[S, N any](f *page.Form, attributes []keys.Attribute[S, N], names slots.Labels) Form {
	form := Form{Nonce: f.Nonce, Version: f.Version, Problem: string(f.Problem)}
	for _, a := range attributes {
		field := Field{Name: a.Name, Type: "text", Label: a.Label, Hint: a.Hint, Value: f.Value(a.Name), Error: string(f.ErrorFor(a.Name)), Choices: a.Choices}
		switch {
		case a.Of != "":
			field.setBoxes(a.Of, names)
		case len(a.Choices) > 0:
			field.Type = "choices"
		case a.Lines:
			field.Type = "lines"
		case a.Box:
			field.Type = "box"
		case a.Date:
			field.Type = "date"
		}
		form.Fields = append(form.Fields, field)
	}
	return form
}

// setBoxes offers agents, services or locations, or all of them.
func (f *Field) setBoxes(of domain.Resource, names slots.Labels) {
	if names == nil {
		f.Value, f.Hint = terms.Ticked(f.Value), terms.WriteIDs
		return
	}
	f.Type, f.Choices = "boxes", []keys.Choice{{Text: terms.All}}
	for _, c := range terms.Choices(of, names, f.Value) {
		f.Choices = append(f.Choices, keys.Choice{Value: strconv.FormatInt(c.ID, 10), Text: c.String()})
	}
}

// Created is a new key, whose secret is shown once.
type Created struct {
	Secret string `json:"secret"`
	ID     int64  `json:"id"`
}

// Scope are ids of agents, services and locations with their names, for example 3 Ada, 4 Ben.
type Scope struct {
	Agents    string `json:"agents"`
	Services  string `json:"services"`
	Locations string `json:"locations"`
}

// ScopeOf returns a scope with the names that labels has.
func ScopeOf(scope domain.Scope, labels slots.Labels) Scope {
	return Scope{labels.Text(domain.AgentResource, scope.Agents), labels.Text(domain.ServiceResource, scope.Services), labels.Text(domain.LocationResource, scope.Locations)}
}

// Key is a key without its secret.
type Key struct {
	ID           int64            `json:"id"`
	Name         string           `json:"name"`
	Kind         keys.Kind        `json:"kind"`
	Key          string           `json:"key"` // the first and last characters of the secret
	Status       keys.Status      `json:"status"`
	Permissions  []string         `json:"permissions"`
	Networks     []string         `json:"networks"`
	MaskPersonal bool             `json:"mask_personal"`
	PerMinute    *int64           `json:"per_minute"`
	PerHour      *int64           `json:"per_hour"`
	ExpiresAt    domain.Timestamp `json:"expires_at"`
	LastUsedAt   domain.Timestamp `json:"last_used_at"`
	Scope
}

// List is a list under its name.
type List[T any] map[string][]T

// Webhook is a webhook.
type Webhook struct {
	ID           int64            `json:"id"`
	Name         string           `json:"name"`
	URL          string           `json:"url"` // without anything that may be secret
	Events       []string         `json:"events"`
	Enabled      bool             `json:"enabled"`
	Reason       string           `json:"reason"` // why it is disabled
	FailingSince domain.Timestamp `json:"failing_since"`
	Scope
}

// WebhookOf returns a webhook.
func WebhookOf(hook webhooks.Hook, labels slots.Labels) Webhook {
	return Webhook{
		hook.ID, hook.Name, webhooks.MaskURL(hook.URL), hook.Filter.Events, hook.Status == webhooks.Enabled, hook.Reason, hook.FailingSince,
		ScopeOf(hook.Filter.Scope(), labels),
	}
}

// WebhooksOf returns webhooks as a list.
func WebhooksOf(all []webhooks.Hook, labels slots.Labels) List[Webhook] {
	list := []Webhook{}
	for _, hook := range all {
		list = append(list, WebhookOf(hook, labels))
	}
	return List[Webhook]{"webhooks": list}
}

// Delivery is a delivery with its last attempt: the status of the response, or the error.
type Delivery struct {
	Event      string           `json:"event"`
	ResourceID int64            `json:"resource_id"`
	CreatedAt  domain.Timestamp `json:"created_at"`
	State      string           `json:"state"`
	Tries      int              `json:"tries"`
	Status     int              `json:"status"`
	Failure    string           `json:"failure"`
	TookMS     int64            `json:"took_ms"`
}

// WebhookLog is a webhook with its latest deliveries.
type WebhookLog struct {
	Webhook    Webhook    `json:"webhook"`
	Deliveries []Delivery `json:"deliveries"`
}

// WebhookLogOf returns a webhook with deliveries and their attempts.
func WebhookLogOf(hook webhooks.Hook, labels slots.Labels, deliveries []webhooks.Delivery, tries map[int64][]webhooks.Try) WebhookLog {
	log := WebhookLog{Webhook: WebhookOf(hook, labels), Deliveries: []Delivery{}}
	for _, d := range deliveries {
		delivery := Delivery{Event: d.Event, ResourceID: d.ResourceID, CreatedAt: d.CreatedAt, State: d.State, Tries: d.Tries}
		if all := tries[d.ID]; len(all) > 0 {
			last := all[len(all)-1]
			delivery.Status, delivery.Failure, delivery.TookMS = last.Status, last.Failure, last.Took.Milliseconds()
		}
		log.Deliveries = append(log.Deliveries, delivery)
	}
	return log
}

// Change is an entry of the journal. The key is the name of the key that made the change, the person that of an
// administrator on the console.
type Change struct {
	Number     int64            `json:"number"`
	Resource   journal.Resource `json:"resource"`
	ResourceID int64            `json:"resource_id"`
	Kind       journal.Kind     `json:"kind"`
	Origin     journal.Origin   `json:"origin"`
	ActorID    int64            `json:"actor_id"`
	Key        string           `json:"key"`
	Person     string           `json:"person"`
	At         domain.Timestamp `json:"at"`
	OldStatus  string           `json:"old_status"`
	NewStatus  string           `json:"new_status"`
}

// ChangesOf returns entries of the journal as a list, with the names of keys.
func ChangesOf(entries []journal.Entry, names map[int64]string) List[Change] {
	list := []Change{}
	for _, e := range entries {
		change := Change{Number: e.Number, Resource: e.Resource, ResourceID: e.ID, Kind: e.Kind, Origin: e.Origin, ActorID: e.ActorID, Person: e.Person, At: domain.Timestamp(e.At.Format(time.DateTime))}
		if e.Origin == journal.FromAPI {
			change.Key = names[e.ActorID]
		}
		if e.Booking != nil {
			change.OldStatus, change.NewStatus = e.Booking.OldStatus, e.Booking.NewStatus
		}
		list = append(list, change)
	}
	return List[Change]{"changes": list}
}

// Overlap are two bookings that their agent, or an asset, cannot both have.
type Overlap struct {
	Agent       string     `json:"agent"`
	BuffersOnly bool       `json:"buffers_only"`
	Bookings    [2]Booking `json:"bookings"`
}

// Overlaps is a list of overlaps.
type Overlaps struct {
	Overlaps []Overlap `json:"overlaps"`
	More     bool      `json:"more"` // whether there are more than are listed
}

// Event is an event that extensions were told about.
type Event struct {
	ID         int64            `json:"id"`
	Event      string           `json:"event"`
	RecordID   int64            `json:"record_id"`
	State      string           `json:"state"`
	Failure    string           `json:"failure"`
	CreatedAt  domain.Timestamp `json:"created_at"`
	FinishedAt domain.Timestamp `json:"finished_at"`
	Repeatable bool             `json:"repeatable"`
}

// Extension is an active extension of the site.
type Extension struct {
	Title string          `json:"title"`
	Parts []ExtensionPart `json:"parts"` // those that are not honoured come first
}

// ExtensionPart is a part of an extension, and how the API treats it.
type ExtensionPart struct {
	Subject extensions.Subject `json:"subject"`
	Kind    extensions.Kind    `json:"kind"`
}

// Extensions are the extensions of the site, and the events that they were told about.
type Extensions struct {
	Extensions []Extension `json:"extensions"` // null while LatePoint is inactive
	Events     []Event     `json:"events"`
}

// ExtensionsOf returns extensions.
func ExtensionsOf(active []extensions.Active) []Extension {
	list := []Extension{}
	for _, a := range active {
		extension := Extension{Title: a.Title}
		for _, part := range a.Parts {
			extension.Parts = append(extension.Parts, ExtensionPart{part.Subject, part.Kind})
		}
		list = append(list, extension)
	}
	return list
}

// EventsOf returns events that extensions were told about.
func EventsOf(told []events.Stored) []Event {
	list := []Event{}
	for _, e := range told {
		list = append(list, Event{e.ID, e.Name, e.RecordID, e.State, e.Failure, e.CreatedAt, e.FinishedAt, e.Repeatable()})
	}
	return list
}

// PermissionRow is a row of the table of permissions.
type PermissionRow struct {
	Resource string           `json:"resource"` // "" for everything
	Label    string           `json:"-"`
	Cells    []PermissionCell `json:"cells"`
}

// PermissionCell is a box in the table of permissions.
type PermissionCell struct {
	Value   string `json:"value"` // "" where there is no such permission; so is the label
	Label   string `json:"-"`
	Checked bool   `json:"checked"`
}
