package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bookside/adapter/domain"
	"bookside/adapter/session"
	"bookside/adapter/slots"
	"bookside/cmd/internal/exit"
	"bookside/wpdb"
)

// choiceFlag is a flag that names agents, services or locations, by ids or names; text is nil if it is not
// set.
type choiceFlag struct {
	name string
	of   domain.Resource
	text *string
}

// resolveChoices puts ids into the place of what flags name, and fails if they name what does not exist.
func (p *program) resolveChoices(ctx context.Context, db *wpdb.DB, flags ...choiceFlag) error {
	var site *session.Session
	var wrong []string
	for _, f := range flags {
		if f.text == nil {
			continue
		}
		if site == nil {
			var err error
			if site, err = session.NewPlatform(db, p.now).Session(ctx); err != nil {
				return err
			}
		}
		numbers, err := slots.Numbers(ctx, site, f.of, *f.text)
		var unknown *slots.ChoiceError
		switch {
		case errors.As(err, &unknown):
			wrong = append(wrong, fmt.Sprintf("--%s: %v", f.name, unknown))
		case err != nil:
			return err
		default:
			*f.text = numbers
		}
	}
	if len(wrong) > 0 {
		return exit.Errorf(exit.Failure, nil, "%s", strings.Join(wrong, "; "))
	}
	return nil
}

// labels returns the names of agents, services and locations, if any are needed.
func (p *program) labels(ctx context.Context, db *wpdb.DB, needed bool) (slots.Labels, error) {
	if !needed {
		return nil, nil
	}
	site, err := session.NewPlatform(db, p.now).Session(ctx)
	if err != nil {
		return nil, err
	}
	return slots.LoadLabels(ctx, site)
}
