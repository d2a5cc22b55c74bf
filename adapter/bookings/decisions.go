package bookings

import (
	"context"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
)

// askWordPress returns WordPress's answer about a booking, on the subjects that extensions of the site
// decide; nil if there are none. It rejects refused bookings.
func askWordPress(ctx context.Context, tx *session.Tx, draft extensions.Draft, p *domain.Validation, subjects ...extensions.Subject) (*extensions.Decision, error) {
	asked, err := tx.Asked(ctx)
	if err != nil || p.Err() != nil {
		return nil, err
	}
	question := extensions.Question{Draft: draft}
	var titles []string
	for _, subject := range subjects {
		names := asked[subject]
		if len(names) == 0 {
			continue
		}
		titles = append(titles, names...)
		switch subject {
		case extensions.Times:
			question.Times = true
		case extensions.Prices:
			question.Price = true
		default:
			question.Acceptance = true
		}
	}
	if len(titles) == 0 {
		return nil, nil
	}
	slices.Sort(titles)
	decision, err := tx.Decide(question, slices.Compact(titles))
	if err == nil && decision != nil && decision.Judgement != nil && question.Acceptance && decision.Judgement.Refusal != "" {
		p.Reject("extension", strings.Join(asked[extensions.Acceptance], ", ")+": "+decision.Judgement.Refusal)
	}
	return decision, err
}

// decide asks WordPress about a new booking.
func (plan *bookingPlan) decide(ctx context.Context, tx *session.Tx, p *domain.Validation, subjects ...extensions.Subject) error {
	if len(plan.resources) == 0 {
		return nil
	}
	location := plan.resources[0].Location
	if slots.IsAny(plan.LocationID) {
		location = 0
	}
	draft := slots.NewDraft(plan.service.ID, plan.AgentID, location, plan.duration, plan.slot.Request, slots.ChosenOf(plan.extras))
	draft.StartDate, draft.StartTime = plan.Start.Day.String(), int(plan.Start.Minutes)
	draft.HoldID, draft.Status, draft.CustomerID, draft.CouponCode = plan.HoldID, plan.status, plan.customer.ID, plan.CouponCode
	var err error
	if draft.CustomFields, err = plan.fields.asked(); err != nil {
		return err
	}
	decision, err := askWordPress(ctx, tx, draft, p, subjects...)
	if err != nil || decision == nil {
		return err
	}
	if decision.Offer != nil {
		plan.slot.Offers = slots.OffersOf(plan.service.ID, *decision.Offer)
		plan.slot.Duration = availability.Minutes(decision.Offer.Duration)
		plan.decidedLength = int64(decision.Offer.Duration)
	}
	said := decision.Judgement
	switch {
	case said == nil:
	case !said.Available && plan.slot.Offers != nil:
		plan.slot.Offers = plan.slot.Offers.Without(plan.Start)
	case said.Available:
		chosen := func(r availability.Resource) bool { return r.Agent == said.AgentID && r.Location == said.LocationID }
		if slices.ContainsFunc(plan.resources, chosen) { // the key may only book others
			plan.chosen = len(plan.resources) > 1
			plan.resources = slices.DeleteFunc(slices.Clone(plan.resources), func(r availability.Resource) bool { return !chosen(r) })
		}
	}
	if said != nil {
		plan.decidedPrice = said.Price
	}
	return nil
}

// assign gives the booking its slot, see slots.Assign. If WordPress chose by whom and where and that is taken, another booking may
// have taken it since, and WordPress may choose others.
func (plan *bookingPlan) assign(ctx context.Context, tx *session.Tx) (*slots.AssignedSlot, error) {
	assigned, err := slots.Assign(ctx, tx, plan.service, plan.resources, plan.slot)
	if plan.chosen && domain.CodeOf(err) == domain.CodeSlotUnavailable {
		return nil, session.Reconsider(tx, err)
	}
	return assigned, err
}

// decide asks WordPress about a booking's new slot.
func (plan *updatePlan) decide(ctx context.Context, tx *session.Tx, p *domain.Validation) error {
	if plan.slot == nil || len(plan.resources) == 0 {
		return nil
	}
	b, c := plan.before.Booking, plan.slotChange()
	chosen := slots.ExtrasOf(b.Booking)
	if plan.newExtras {
		chosen = slots.ChosenOf(plan.extras)
	}
	location := c.location
	if plan.slot.AnyLocation {
		location = 0
	}
	duration := b.Duration
	if plan.newSpan {
		duration = plan.duration
	}
	draft := slots.NewDraft(plan.service.ID, c.agent, location, duration, plan.slot.Request, chosen)
	draft.ID, draft.StartDate, draft.StartTime = b.ID, c.at.Day.String(), int(c.at.Minutes)
	draft.Status, draft.CustomerID = plan.status, domain.ValueOr(plan.CustomerID, b.Customer.ID)
	var err error
	if draft.CustomFields, err = plan.custom.asked(); err != nil {
		return err
	}
	decision, err := askWordPress(ctx, tx, draft, p, extensions.Times, extensions.Acceptance)
	if err != nil || decision == nil || decision.Offer == nil {
		return err
	}
	plan.slot.Offers = slots.OffersOf(plan.service.ID, *decision.Offer)
	if plan.newSpan {
		plan.slot.Duration = availability.Minutes(decision.Offer.Duration)
	}
	return nil
}

// chargeAsked returns the charge with WordPress's price.
func chargeAsked(c charge, price extensions.Price) charge {
	c.asked, c.coupon = &price, price.CouponCode
	c.item = records.PricedItem{Subtotal: price.Item.Subtotal, Discount: price.Item.Discount}
	c.Totals = records.Totals{
		Subtotal: price.Subtotal, Discount: price.Discount, Tax: price.Tax, Total: price.Total,
	}
	return c
}
