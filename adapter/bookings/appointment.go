package bookings

import (
	"context"
	"fmt"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// appointment is what a booking or a hold is for: a service with extras, the slot that it needs, and the
// resources that can have it.
type appointment struct {
	service   slots.Service
	resources []availability.Resource
	request   slots.SlotRequest // its duration includes the extras
	duration  int64             // minutes, without the extras
	extras    []records.PricedExtra
	meta      map[string]string // of the service, see metaKeys; nil without Pro Features
	chosen    bool              // WordPress chose the resource out of several
}

// newAppointment checks the start of a new booking, and reads its service with resources and extras.
func newAppointment(ctx context.Context, s *session.Session, b New, hold *slots.Hold, p *domain.Validation) (appointment, error) {
	if !p.Has("start_date") && hold == nil && b.Start.Day < availability.MomentOf(s.LocalNow()).Day {
		p.Reject("start_date", "May not be in the past")
	}
	if !p.Has("start_date") && !p.Has("start_time") {
		records.CheckClock(s, p, b.Start)
	}
	if p.Has("service_id") {
		return appointment{}, nil
	}
	service, resources, err := slots.LoadServiceToBook(ctx, s, p, b.ServiceID, b.AgentID, b.LocationID)
	if err != nil {
		return appointment{}, err
	}
	if err := refuseLinked(ctx, s, service, p); err != nil {
		return appointment{}, err
	}
	duration := domain.ValueOr(b.Duration, service.Duration)
	slots.CheckDuration(p, duration)
	var extras []records.PricedExtra
	var meta map[string]string
	if service.With(s, extensions.ProFeatures) && !p.Has("service_id") {
		if extras, meta, err = loadExtras(ctx, s, service, b.Extras, p); err != nil {
			return appointment{}, err
		}
		checkLength(p, duration, slots.ExtraMinutes(extras))
	}
	request := service.Request(duration+slots.ExtraMinutes(extras), b.Attendees)
	request.Agent = b.AgentID
	return appointment{
		service: service, resources: resources, duration: duration, extras: extras, meta: meta,
		request: slots.SlotRequest{Request: request, At: b.Start, Window: true, AnyLocation: slots.IsAny(b.LocationID), Hold: hold},
	}, nil
}

// loadExtras reads the extras of a booking, and the service's other settings of Pro Features, which lets a
// service require extras and limit their number.
func loadExtras(ctx context.Context, s *session.Session, service slots.Service, requested *slots.Extras, p *domain.Validation) ([]records.PricedExtra, map[string]string, error) {
	extras, err := slots.LoadExtras(ctx, s, p, service, requested)
	if err != nil {
		return nil, nil, err
	}
	metas, err := session.LoadMetas(ctx, s, wpdb.ServiceMeta, []int64{service.ID}, sq.Eq{"meta_key": metaKeys})
	if err != nil {
		return nil, nil, err
	}
	meta := metas[service.ID]
	switch fewest, most := slots.NumberOfExtras(meta); {
	case most > 0 && len(extras) > most:
		p.Reject("extras", fmt.Sprintf("The service can be booked with at most %d extras", most))
	case fewest > 0 && len(extras) < fewest:
		offers, err := slots.OffersExtras(ctx, s, service.ID) // without any, the form does not ask
		if err != nil {
			return nil, nil, err
		}
		if offers {
			p.Reject("extras", fmt.Sprintf("The service has to be booked with at least %d extras", fewest))
		}
	}
	return extras, meta, nil
}

// checkLength rejects extras that make a booking longer than a day, which the plugin cannot store.
func checkLength(p *domain.Validation, duration, extras int64) {
	if extras > 0 && duration+extras > records.MinutesPerDay {
		p.Reject("extras", "The booking would take longer than a day")
	}
}

// draft returns the booking to ask WordPress about. It has resources.
func (a appointment) draft() extensions.Draft {
	location := a.resources[0].Location
	if a.request.AnyLocation {
		location = 0
	}
	draft := slots.NewDraft(a.service.ID, a.request.Agent, location, a.duration, a.request.Request, slots.ChosenOf(a.extras))
	draft.StartDate, draft.StartTime = a.request.At.Day.String(), int(a.request.At.Minutes)
	return draft
}

// decide asks WordPress about a new booking, unless it is invalid. It returns the appointment as WordPress decides about it,
// and the price; nil if WordPress was not asked for one.
func (a appointment) decide(ctx context.Context, tx *session.Tx, b New, status string, customer int64, fields customFields, p *domain.Validation, subjects ...extensions.Subject) (appointment, *extensions.Price, error) {
	if !p.Valid() {
		return a, nil, nil
	}
	draft := a.draft()
	draft.HoldID, draft.Status, draft.CustomerID, draft.CouponCode = b.HoldID, status, customer, b.CouponCode
	var err error
	if draft.CustomFields, err = fields.encoded(); err != nil {
		return a, nil, err
	}
	decision, err := askWordPress(ctx, tx, draft, p, subjects...)
	if err != nil || decision == nil {
		return a, nil, err
	}
	if decision.Offer != nil {
		a.request.Offers = slots.OffersOf(a.service.ID, *decision.Offer)
		a.request.Duration = availability.Minutes(decision.Offer.Duration)
	}
	judgement := decision.Judgement
	if judgement == nil {
		return a, nil, nil
	}
	if !judgement.Available && a.request.Offers != nil {
		a.request.Offers = a.request.Offers.Without(b.Start)
	}
	chosen := availability.Resource{Agent: judgement.AgentID, Service: a.service.ID, Location: judgement.LocationID}
	if judgement.Available && slices.Contains(a.resources, chosen) { // the key may only book others
		a.chosen = len(a.resources) > 1
		a.resources = []availability.Resource{chosen}
	}
	return a, judgement.Price, nil
}

// assign gives the appointment its slot, see slots.Assign. If WordPress chose by whom and where and that is taken, another
// booking may have taken it since, and WordPress may choose others.
func (a appointment) assign(ctx context.Context, tx *session.Tx) (*slots.AssignedSlot, error) {
	assigned, err := slots.Assign(ctx, tx, a.service, a.resources, a.request)
	if a.chosen && domain.CodeOf(err) == domain.CodeSlotUnavailable {
		return nil, session.Reconsider(tx, err)
	}
	return assigned, err
}

// span returns when the appointment takes place.
func (a appointment) span(s *session.Session) records.BookingSpan {
	return records.SpanOf(s, a.request.At, int64(a.request.Duration))
}

// columns returns the columns of a booking or hold of a resource, except for those of its span.
func (a appointment) columns(r availability.Resource) session.Row {
	return session.Row{
		{Name: "service_id", Value: r.Service}, {Name: "agent_id", Value: r.Agent}, {Name: "location_id", Value: r.Location},
		{Name: "duration", Value: a.duration}, {Name: "total_attendees", Value: int64(a.request.Attendees)},
		{Name: "buffer_before", Value: int64(a.request.BufferBefore)}, {Name: "buffer_after", Value: int64(a.request.BufferAfter)},
	}
}
