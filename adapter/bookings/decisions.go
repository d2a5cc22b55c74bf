package bookings

import (
	"context"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
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
	if draft.CustomFields, err = plan.custom.encoded(); err != nil {
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
