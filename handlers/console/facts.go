package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/page"
)

// The contents of pages for WordPress, which shows them in its own style and in the site's language. Times
// are UTC, as 2026-11-22 09:30:00; "" is none.

// messageFacts is a page that only has a text.
type messageFacts struct {
	Message string `json:"message"`
}

// formFacts is a form, with the submitted values and their errors.
type formFacts struct {
	Fields  []fieldFacts `json:"fields"`
	Nonce   string       `json:"nonce"`   // to be sent with the form
	Version string       `json:"version"` // to be sent with the form
	Problem string       `json:"problem"` // of the form as a whole; "" for none
}

// fieldFacts is a field. Type is text, date, lines, box, choices or permissions.
type fieldFacts struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"`
	Label   string          `json:"label"`
	Hint    string          `json:"hint"`
	Value   string          `json:"value"`
	Error   string          `json:"error"`
	Choices []keys.Choice   `json:"choices,omitempty"`
	Presets []keys.Preset   `json:"presets,omitempty"` // sets of permissions
	Verbs   []string        `json:"verbs,omitempty"`   // heads of the columns of Rows
	Rows    []permissionRow `json:"rows,omitempty"`    // of the table of permissions
}

// factsOf returns a form for attributes.
func factsOf[S, N any](f *page.Form, attributes []keys.Attribute[S, N]) formFacts {
	facts := formFacts{Nonce: f.Nonce, Version: f.Version, Problem: f.Problem}
	for _, a := range attributes {
		field := fieldFacts{Name: a.Name, Type: "text", Label: a.Label, Hint: a.Hint, Value: f.Value(a.Name), Error: f.ErrorFor(a.Name), Choices: a.Choices}
		switch {
		case len(a.Choices) > 0:
			field.Type = "choices"
		case a.Lines:
			field.Type = "lines"
		case a.Box:
			field.Type = "box"
		case a.Date:
			field.Type = "date"
		}
		facts.Fields = append(facts.Fields, field)
	}
	return facts
}

func (f *keyForm) facts() formFacts {
	facts := factsOf(&f.Form, f.attributes())
	i := slices.IndexFunc(facts.Fields, func(field fieldFacts) bool { return field.Name == permissionsField })
	field := &facts.Fields[i]
	field.Type, field.Presets, field.Verbs, field.Rows = permissionsField, keys.Presets, keys.PermissionVerbs, f.rows()
	return facts
}

// createdFacts is a new key, whose secret is shown once.
type createdFacts struct {
	Secret string `json:"secret"`
	ID     int64  `json:"id"`
}

// scopeFacts are ids of agents, services and locations with their names, for example 3 Ada, 4 Ben.
type scopeFacts struct {
	Agents    string `json:"agents"`
	Services  string `json:"services"`
	Locations string `json:"locations"`
}

func scopeFactsOf(scope domain.Scope, labels slots.Labels) scopeFacts {
	return scopeFacts{labels.Text(domain.AgentResource, scope.Agents), labels.Text(domain.ServiceResource, scope.Services), labels.Text(domain.LocationResource, scope.Locations)}
}

type keyFacts struct {
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
	scopeFacts
}

// listFacts is a list under its name.
type listFacts[T any] map[string][]T

// facts returns all keys, those in use first.
func (l keyList) facts() listFacts[keyFacts] {
	list := []keyFacts{}
	for _, r := range slices.Concat(l.Active, l.Inactive) {
		key := keyFacts{
			ID: r.ID, Name: r.Name, Kind: r.Kind, Key: r.maskedSecret(), Status: r.Status, Permissions: r.Permissions, Networks: []string{}, MaskPersonal: r.MaskPersonal,
			PerMinute: r.Key.PerMinute, PerHour: r.Key.PerHour, ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt, scopeFacts: scopeFactsOf(r.Scope, r.Labels),
		}
		for _, network := range r.Networks {
			key.Networks = append(key.Networks, keys.FormatNetwork(network))
		}
		list = append(list, key)
	}
	return listFacts[keyFacts]{"keys": list}
}

type webhookFacts struct {
	ID           int64            `json:"id"`
	Name         string           `json:"name"`
	URL          string           `json:"url"` // without anything that may be secret
	Events       []string         `json:"events"`
	Enabled      bool             `json:"enabled"`
	Reason       string           `json:"reason"` // why it is disabled
	FailingSince domain.Timestamp `json:"failing_since"`
	scopeFacts
}

func webhookFactsOf(hook webhooks.Hook, labels slots.Labels) webhookFacts {
	return webhookFacts{
		hook.ID, hook.Name, webhooks.MaskURL(hook.URL), hook.Filter.Events, hook.Status == webhooks.Enabled, hook.Reason, hook.FailingSince,
		scopeFactsOf(hook.Filter.Scope(), labels),
	}
}

func webhookListFactsOf(all []webhooks.Hook, labels slots.Labels) listFacts[webhookFacts] {
	list := []webhookFacts{}
	for _, hook := range all {
		list = append(list, webhookFactsOf(hook, labels))
	}
	return listFacts[webhookFacts]{"webhooks": list}
}

// deliveryFacts is a delivery with its last attempt: the status of the response, or the error.
type deliveryFacts struct {
	Event      string           `json:"event"`
	ResourceID int64            `json:"resource_id"`
	CreatedAt  domain.Timestamp `json:"created_at"`
	State      string           `json:"state"`
	Tries      int              `json:"tries"`
	Status     int              `json:"status"`
	Failure    string           `json:"failure"`
	TookMS     int64            `json:"took_ms"`
}

type webhookLogFacts struct {
	Webhook    webhookFacts    `json:"webhook"`
	Deliveries []deliveryFacts `json:"deliveries"`
}

func webhookLogFactsOf(hook webhooks.Hook, labels slots.Labels, deliveries []webhooks.Delivery, tries map[int64][]webhooks.Try) webhookLogFacts {
	log := webhookLogFacts{Webhook: webhookFactsOf(hook, labels), Deliveries: []deliveryFacts{}}
	for _, d := range deliveries {
		delivery := deliveryFacts{Event: d.Event, ResourceID: d.ResourceID, CreatedAt: d.CreatedAt, State: d.State, Tries: d.Tries}
		if all := tries[d.ID]; len(all) > 0 {
			last := all[len(all)-1]
			delivery.Status, delivery.Failure, delivery.TookMS = last.Status, last.Failure, last.Took.Milliseconds()
		}
		log.Deliveries = append(log.Deliveries, delivery)
	}
	return log
}

// changeFacts is an entry of the journal. The key is the name of the key that made the change, the person that of an
// administrator on the console.
type changeFacts struct {
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

func changeListFactsOf(entries []journal.Entry, names map[int64]string) listFacts[changeFacts] {
	list := []changeFacts{}
	for _, e := range entries {
		change := changeFacts{Number: e.Number, Resource: e.Resource, ResourceID: e.ID, Kind: e.Kind, Origin: e.Origin, ActorID: e.ActorID, Person: e.Person, At: domain.Timestamp(e.At.Format(time.DateTime))}
		if e.Origin == journal.FromAPI {
			change.Key = names[e.ActorID]
		}
		if e.Booking != nil {
			change.OldStatus, change.NewStatus = e.Booking.OldStatus, e.Booking.NewStatus
		}
		list = append(list, change)
	}
	return listFacts[changeFacts]{"changes": list}
}

// overlapFacts are two bookings that their agent, or an asset, cannot both have.
type overlapFacts struct {
	Agent       string                     `json:"agent"`
	BuffersOnly bool                       `json:"buffers_only"`
	Bookings    [2]overlappingBookingFacts `json:"bookings"`
}

type overlappingBookingFacts struct {
	ID       int64  `json:"id"`
	Code     string `json:"code"`
	Service  string `json:"service"`
	Customer string `json:"customer"`
	Date     string `json:"date"`
	Start    int    `json:"start"` // minutes after midnight
	End      int    `json:"end"`
}

type overlapListFacts struct {
	Overlaps []overlapFacts `json:"overlaps"`
	More     bool           `json:"more"` // whether there are more than are listed
}

// listedOverlaps is how many pairs WordPress lists.
const listedOverlaps = 100

// listOverlaps answers with the overlapping bookings from today on.
func (c *Console) listOverlaps(v *visit) error {
	site, err := v.Platform.Session(v.ctx())
	if err != nil {
		return err
	}
	report, err := slots.FindConflicts(v.ctx(), site)
	if err != nil {
		return err
	}
	pairs := report.Conflicts[:min(len(report.Conflicts), listedOverlaps)]
	list := overlapListFacts{Overlaps: []overlapFacts{}, More: report.Cut || len(pairs) < len(report.Conflicts)}
	var bookings map[int64]slots.ConflictingBooking
	if len(pairs) > 0 {
		if bookings, err = slots.ConflictingBookings(v.ctx(), site, pairs); err != nil {
			return err
		}
	}
	facts := func(id int64) overlappingBookingFacts {
		b := bookings[id]
		return overlappingBookingFacts{id, b.Code, b.Service, b.Customer, b.Date, b.Start, b.End}
	}
	for _, pair := range pairs {
		list.Overlaps = append(list.Overlaps, overlapFacts{cmp.Or(report.Assets[pair.Asset], bookings[pair.First].Agent), pair.BuffersOnly, [2]overlappingBookingFacts{facts(pair.First), facts(pair.Second)}})
	}
	v.send(http.StatusOK, list)
	return nil
}
