package bookings

import (
	"context"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
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
