package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
)

func (f *keyForm) facts(names slots.Labels) facts.Form {
	form := facts.FormOf(&f.Form, f.attributes(), names)
	i := slices.IndexFunc(form.Fields, func(field facts.Field) bool { return field.Name == permissionsField })
	field := &form.Fields[i]
	field.Type, field.Presets, field.Verbs, field.Rows = permissionsField, keys.Presets, keys.PermissionVerbs, f.rows()
	return form
}

// facts returns all keys, those in use first.
func (l keyList) facts() facts.List[facts.Key] {
	list := []facts.Key{}
	for _, r := range slices.Concat(l.Active, l.Inactive) {
		key := facts.Key{
			ID: r.ID, Name: r.Name, Kind: r.Kind, Key: r.maskedSecret(), Status: r.Status, Permissions: r.Permissions, Networks: []string{}, MaskPersonal: r.MaskPersonal,
			PerMinute: r.Key.PerMinute, PerHour: r.Key.PerHour, ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt, Scope: facts.ScopeOf(r.Scope, r.Labels),
		}
		for _, network := range r.Networks {
			key.Networks = append(key.Networks, keys.FormatNetwork(network))
		}
		list = append(list, key)
	}
	return facts.List[facts.Key]{"keys": list}
}

// sendExtensions answers with the extensions of the site, unless LatePoint is inactive, and with the events that they were
// told about.
func (v *visit) sendExtensions(told []events.Stored) error {
	var active []extensions.Active
	site, err := v.site()
	if err == nil {
		active, err = site.Extensions(v.ctx())
	}
	list := facts.Extensions{Events: facts.EventsOf(told)}
	switch {
	case err == nil:
		list.Extensions = facts.ExtensionsOf(active)
	case !session.IsUnavailable(err):
		return err
	}
	return v.send(http.StatusOK, list)
}

// listedOverlaps is how many pairs WordPress lists.
const listedOverlaps = 100

// listOverlaps answers with the overlapping bookings from today on.
func (c *Console) listOverlaps(v *visit) error {
	site, err := v.site()
	if err != nil {
		return err
	}
	report, err := slots.FindConflicts(v.ctx(), site)
	if err != nil {
		return err
	}
	pairs := report.Conflicts[:min(len(report.Conflicts), listedOverlaps)]
	list := facts.Overlaps{Overlaps: []facts.Overlap{}, More: report.Cut || len(pairs) < len(report.Conflicts)}
	var bookings map[int64]slots.ConflictingBooking
	if len(pairs) > 0 {
		if bookings, err = slots.ConflictingBookings(v.ctx(), site, pairs); err != nil {
			return err
		}
	}
	booking := func(id int64) facts.Booking {
		b := bookings[id]
		return facts.Booking{ID: id, Code: b.Code, Service: b.Service, Customer: b.Customer, Date: b.Date, Start: b.Start, End: b.End}
	}
	for _, pair := range pairs {
		list.Overlaps = append(list.Overlaps, facts.Overlap{
			Agent: cmp.Or(report.Assets[pair.Asset], bookings[pair.First].Agent), BuffersOnly: pair.BuffersOnly, Bookings: [2]facts.Booking{booking(pair.First), booking(pair.Second)},
		})
	}
	return v.send(http.StatusOK, list)
}

// midnight is when today began on the site, or in UTC while LatePoint is inactive.
func (v *visit) midnight() (time.Time, error) {
	site, err := v.site()
	if session.IsUnavailable(err) {
		return v.Platform.Now().UTC().Truncate(24 * time.Hour), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	midnight, _ := site.Zone.Instant(site.Today(), 0)
	return midnight, nil
}

func (l requestList) facts() facts.Requests {
	list := facts.Requests{Requests: []facts.Request{}, Keys: l.Keys, More: len(l.Entries) == shownRequests, Off: l.Off, Dropped: l.Dropped}
	for _, e := range l.Entries {
		list.Requests = append(list.Requests, facts.RequestOf(e, l.Keys))
	}
	for _, choice := range statusChoices {
		list.Statuses = append(list.Statuses, choice.Value)
	}
	return list
}

func (p *freeTimesPage) facts() facts.FreeTimes {
	explain := p.answer.Data.Explain
	times := facts.FreeTimes{
		Day: p.Day.String(), Service: p.Service, Agent: p.Agent, Location: p.Location, Problems: p.problems, Missing: explain.Message,
		Services: facts.NamesOf(p.choices[domain.ServiceResource]), Agents: facts.NamesOf(p.choices[domain.AgentResource]), Locations: facts.NamesOf(p.choices[domain.LocationResource]),
		Free: len(p.answer.Data.Free), All: len(p.answer.Data.Free) + len(explain.Unavailable),
		Starts: []facts.Starts{}, Places: p.placeFacts(p.PlacesOfMissing(p.address, cmp.Or(explain.Missing, slots.MissingHours))),
	}
	for _, s := range p.grid {
		starts := facts.Starts{Times: s.Times, Reason: s.Reason, Message: s.Message, Extension: s.Extension, Places: p.placeFacts(p.Places(p.address, s.Start))}
		if b, known := p.bookings[s.Booking]; known {
			booking := facts.BookingOf(p.site, b)
			starts.Booking = &booking
		}
		times.Starts = append(times.Starts, starts)
	}
	return times
}

// placeFacts returns places without the address of wp-admin, which WordPress knows better.
func (p *freeTimesPage) placeFacts(links []page.Link) []facts.Place {
	places := []facts.Place{}
	for _, link := range links {
		places = append(places, facts.Place{Text: string(link.Text), Page: strings.TrimPrefix(link.Path, p.address+"/wp-admin/")})
	}
	return places
}

// showAddress says where browsers find the agenda.
func (c *Console) showAddress(v *visit) error {
	var agenda facts.Agenda
	if !v.Closed {
		agenda = facts.Agenda{Address: v.Proxy.Address, Path: bookingsPath}
	}
	return v.send(http.StatusOK, agenda)
}
