package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) createCalendar() *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "create a secret address for calendar programs",
		Long: `Creates a secret address for calendar programs to subscribe to the bookings of an agent or a
location, and prints its path. Put the address of the site before it. Only a hash of the secret is
stored, so it cannot be shown again. Missing tables of Bookside are created first.

  bookside calendars create --agent 3 --details names
  bookside calendars create --location 1 --name "screen in the lobby" --expires 365d

With --details busy, events show when somebody is booked; with names, also the service, the customer
and the address; with full, also the customer's contacts and comment. That cannot be changed later:
create another address, and revoke this one.

Anybody who has the address can read the calendar, but nothing else.`,
	}
	flags := p.configFlags(command)
	options := defineAttributes(flags, slices.Concat(keys.CalendarSubjects, keys.CalendarTerms))
	quiet := flags.Bool("quiet", false, "print the path and nothing else")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		_, agent := options.texts[string(domain.AgentResource)]
		if _, location := options.texts[string(domain.LocationResource)]; agent == location {
			return usageErrorf("name either --agent or --location")
		}
		options.setOr("details", string(keys.Busy))
		n := keys.NewKey{Kind: keys.Calendar}
		if err := options.parse(nil, p.now(), &n); err != nil {
			return err
		}
		c, err := p.config()
		if err != nil {
			return err
		}
		return p.withOwnTables(ctx, wpdb.APIKeys, func(db *wpdb.DB) error {
			if err := options.choose(ctx, p, db, &n); err != nil {
				return err
			}
			resource, id := keys.Key{Scope: n.Scope}.Subject()
			name, err := calendarName(ctx, db, p.now, resource, id)
			if err != nil {
				return err
			}
			n.Name, n.CreatedBy = cmp.Or(n.Name, name), p.creator()
			secret, calendar, err := keys.NewStore(db, p.now, rand.Reader).Create(ctx, n)
			if err != nil {
				return err
			}
			path := calendar.Address(c.Server.BasePaths[0], secret)
			if *quiet {
				return p.print(path + "\n")
			}
			return p.print(path + "\n\nPut the address of the site before it. It is shown only once: only a hash of it is stored.\n" + describeCalendar(calendar))
		})
	}
	return command
}

// calendarName returns the name of the agent or location, cut to fit the list of calendars.
func calendarName(ctx context.Context, db *wpdb.DB, now domain.Clock, resource domain.Resource, id int64) (string, error) {
	site, err := session.NewPlatform(db, now).Session(ctx)
	if err != nil {
		return "", err
	}
	name, err := bookings.CalendarName(ctx, site, resource, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return "", exit.Errorf(exit.Failure, nil, "there is no %s with the ID %d", resource, id)
	}
	return keys.CutName(name, fmt.Sprintf("%s %d", resource, id)), err
}

// describeCalendar returns a line with everything about a calendar that is not secret.
func describeCalendar(k keys.Key) string {
	return fmt.Sprintf("ID %d, name %s, %s, details %s, expires %s\n", k.ID, k.Name, subjectText(k, nil), k.Details, expiryText(k))
}
