package bookings

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
)

// Verification is a comparison of the site's answers with the API's.
type Verification struct {
	Days, Prices int // compared
	Different    []Difference
}

// Difference is an answer of the API that differs from the site's.
type Difference struct {
	Service, Agent int64
	Day            string
	Text           string // the difference
}

const (
	verifiedAhead = 60  // days from tomorrow on, some of which are compared
	verifiedPairs = 100 // pairs of services and agents; a random selection of more
)

// Verify compares the times of random days ahead, for services and agents, and prices of bookings then,
// with WordPress's answers. It stores no booking.
func Verify(ctx context.Context, s *session.Session, site *extensions.Asker, random *rand.Rand, days int) (v Verification, err error) {
	pairs, err := bookablePairs(ctx, s)
	if err != nil {
		return v, err
	}
	random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	pairs = pairs[:min(len(pairs), verifiedPairs)]
	tomorrow := availability.MomentOf(s.LocalNow()).Day + 1
	var wanted []availability.Day
	for _, offset := range random.Perm(verifiedAhead)[:min(days, verifiedAhead)] {
		wanted = append(wanted, tomorrow+availability.Day(offset))
	}
	slices.Sort(wanted)
	for _, pair := range pairs {
		if err := v.compare(ctx, s, site, pair, wanted); err != nil {
			return v, err
		}
	}
	return v, nil
}

// bookablePairs returns the resource of each service and agent at the agent's first location for it.
func bookablePairs(ctx context.Context, s *session.Session) (pairs []availability.Resource, err error) {
	services, err := slots.Choices(ctx, s, domain.ServiceResource)
	if err != nil {
		return nil, err
	}
	for _, service := range services {
		_, resources, _, err := slots.LoadBookable(ctx, s, service.ID, 0, new(int64))
		if err != nil {
			return nil, err
		}
		first := map[int64]availability.Resource{}
		for _, r := range resources {
			if known, found := first[r.Agent]; !found || r.Location < known.Location {
				first[r.Agent] = r
			}
		}
		for _, r := range first {
			pairs = append(pairs, availability.Resource{Agent: r.Agent, Service: service.ID, Location: r.Location})
		}
	}
	slices.SortFunc(pairs, func(a, b availability.Resource) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return pairs, nil
}

// compare compares the days of a service and an agent, and the price of the first start that both offer.
func (v *Verification) compare(ctx context.Context, s *session.Session, site *extensions.Asker, pair availability.Resource, days []availability.Day) error {
	service, _, _, err := slots.LoadBookable(ctx, s, pair.Service, pair.Agent, &pair.Location)
	if err != nil {
		return err
	}
	draft := slots.NewDraft(pair.Service, pair.Agent, pair.Location, service.Duration, service.Request(service.Duration, 1), nil)
	draft.Status = records.StatusApproved
	var questions []extensions.OfferedTimes
	for _, day := range days {
		draft.StartDate = day.String()
		questions = append(questions, extensions.OfferedTimes{Draft: draft, DateTo: day.String()})
	}
	answers, err := site.Offers(ctx, questions)
	if err != nil {
		return err
	}
	priced := false
	for i, day := range days {
		var theirs []availability.Minutes
		for _, starts := range slots.OffersOf(pair.Service, answers[i])[pair] {
			for _, start := range availability.Offered(starts) {
				theirs = append(theirs, start.Start)
			}
		}
		grid, err := slots.Search(ctx, s, slots.Query{ServiceID: pair.Service, AgentID: &pair.Agent, LocationID: &pair.Location, From: day, To: day})
		if err != nil {
			return err
		}
		var ours []availability.Minutes
		for _, start := range availability.Offered(grid.Days[0].Slots) {
			ours = append(ours, start.Start)
		}
		v.Days++
		v.differ(pair, day, "the site offers %s, which the API does not", missing(theirs, ours))
		v.differ(pair, day, "the API offers %s, which the site does not", missing(ours, theirs))
		if both := slices.DeleteFunc(slices.Clone(ours), func(m availability.Minutes) bool { return !slices.Contains(theirs, m) }); len(both) > 0 && !priced {
			priced = true
			draft.StartDate, draft.StartTime = day.String(), int(both[0])
			if err := v.comparePrice(ctx, s, site, draft, pair, availability.Moment{Day: day, Minutes: both[0]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns the times of day in a list that another one lacks.
func missing(list, other []availability.Minutes) string {
	var texts []string
	for _, m := range list {
		if !slices.Contains(other, m) {
			texts = append(texts, fmt.Sprintf("%02d:%02d", m/60, m%60))
		}
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}

func (v *Verification) differ(pair availability.Resource, day availability.Day, format, what string) {
	if what != "" {
		v.Different = append(v.Different, Difference{pair.Service, pair.Agent, day.String(), fmt.Sprintf(format, what)})
	}
}

// comparePrice compares what the API would charge a new customer for a booking with what the site says. A booking that the API
// refuses has no price.
func (v *Verification) comparePrice(ctx context.Context, s *session.Session, site *extensions.Asker, draft extensions.Draft, pair availability.Resource, at availability.Moment) error {
	var created Created
	stranger := records.CustomerFields{FirstName: new("Verification"), LastName: new("Verification"), Email: new("verification@bookside.invalid"), Phone: new("+15550100")}
	err := s.DryRun(ctx, "verify", func(tx *session.Tx) (err error) {
		created, err = Create(ctx, tx, New{ServiceID: pair.Service, AgentID: pair.Agent, LocationID: &pair.Location, Start: at, Attendees: 1, Customer: stranger})
		return err
	})
	switch domain.CodeOf(err) {
	case domain.CodeValidationFailed, domain.CodeInvalidRequest, domain.CodeSlotUnavailable:
		return nil
	}
	if err != nil {
		return err
	}
	decision, err := site.Decide(ctx, extensions.Question{Draft: draft, Price: true})
	if err != nil {
		return err
	}
	v.Prices++
	for _, amount := range []struct {
		what         string
		theirs, ours decimal.Decimal
	}{
		{"a booking", decision.Judgement.Price.Item.Total, created.Price}, {"an order", decision.Judgement.Price.Total, created.Order.Total},
	} {
		if !amount.theirs.Equal(amount.ours) {
			text := fmt.Sprintf("%s costs %s on the site, and %s by the API", amount.what, domain.AmountText(amount.theirs), domain.AmountText(amount.ours))
			v.Different = append(v.Different, Difference{pair.Service, pair.Agent, at.Day.String(), text})
		}
	}
	return nil
}
