package slots

import (
	"context"
	"time"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
)

// NewDraft returns a booking of a service to ask WordPress about. The duration does not include extras.
func NewDraft(service, agent, location int64, duration int64, request availability.Request, extras []ChosenExtra) extensions.Draft {
	return extensions.Draft{
		ServiceID: service, AgentID: agent, LocationID: location, Duration: duration,
		BufferBefore: int(request.BufferBefore), BufferAfter: int(request.BufferAfter), Attendees: int64(request.Attendees), Extras: ExtrasText(extras),
	}
}

// extensionOffers are the starts that extensions of the site offer.
type extensionOffers struct {
	starts   availability.Offers  // nil if no extension decides about starts
	titles   []string             // of the extensions that do
	duration availability.Minutes // of the booking, which they may lengthen
}

// askOffers asks WordPress which starts it offers, if an extension of the site changes them. It asks by month, and the asker
// keeps answers for a while, so that the next days cost nothing.
func askOffers(ctx context.Context, s *session.Session, draft extensions.Draft, duration availability.Minutes, from, to availability.Day) (extensionOffers, error) {
	asked, err := s.Asked(ctx)
	titles := asked[extensions.Times]
	if err != nil || len(titles) == 0 {
		return extensionOffers{duration: duration}, err
	}
	months := monthsToAsk(s, draft, from, to)
	if len(months) == 0 { // all days have passed
		return extensionOffers{availability.Offers{}, titles, duration}, nil
	}
	answers, err := s.Platform.Asker.Offers(ctx, months)
	if err != nil {
		return extensionOffers{nil, titles, duration}, s.Away(err, titles)
	}
	return extensionOffers{OffersOf(draft.ServiceID, answers...), titles, availability.Minutes(answers[0].Duration)}, nil
}

// monthsToAsk returns the questions about the months of a range of days, from today on.
func monthsToAsk(s *session.Session, draft extensions.Draft, from, to availability.Day) (months []extensions.OfferedTimes) {
	today := availability.MomentOf(s.LocalNow()).Day
	for day := max(from, today); day <= to; {
		year, month, _ := day.Date()
		first, _ := availability.ParseDay(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		next, known := availability.ParseDay(time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		if !known { // beyond the last day that can be stored
			next = availability.LastDay + 1
		}
		draft.StartDate = max(first, today).String()
		months = append(months, extensions.OfferedTimes{Draft: draft, DateTo: (next - 1).String()})
		day = next
	}
	return months
}

// OffersOf returns WordPress's answers about a service.
func OffersOf(service int64, answers ...extensions.Offer) availability.Offers {
	offers := availability.Offers{}
	for _, answer := range answers {
		for _, of := range answer.Resources {
			r := availability.Resource{Agent: of.Agent, Service: service, Location: of.Location}
			if offers[r] == nil {
				offers[r] = map[availability.Day][]availability.Slot{}
			}
			for date, starts := range of.Days {
				day, known := availability.ParseDay(date)
				for _, start := range starts {
					if known {
						offers[r][day] = append(offers[r][day], availability.Slot{Start: availability.Minutes(start[0]), Capacity: start[1]})
					}
				}
			}
		}
	}
	return offers
}

// draft returns the booking of a search, with the booking to move if there is one.
func (q slotSearch) draft() extensions.Draft {
	draft := NewDraft(q.ServiceID, domain.ValueOr(q.AgentID, 0), domain.ValueOr(q.LocationID, 0), q.plainDuration, q.request, q.chosen)
	draft.ID = q.BookingID
	return draft
}
