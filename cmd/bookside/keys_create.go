package main

import (
	"cmp"
	"context"
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

func (p *program) createKey() *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "create an API key, or the secret address of a calendar",
		Long: `Creates an API key and prints it. Only a hash of it is stored, so it cannot be shown again. Missing
tables of Bookside are created first.

A permission is read, write or delete for everything, or one of them for a resource, such as
write_bookings. Resources are bookings, customers, agents, services, locations, payments, orders,
coupons and availability. read_changes, write_users and write_webhooks must be named.

With --networks the key is accepted only from these addresses; from others it is rejected like an
unknown key, and the log names its ID. Behind a proxy this requires server.trusted_proxies (see
help config).

With --agents, --services or --locations the key reaches only bookings with these and their times,
and no customers, orders and payments. These limits are combined. With --mask-personal, e-mail
addresses, phone numbers, addresses and notes are masked, and it can neither search nor write them.

With --calendar it creates a secret address for calendar programs instead, to subscribe to the
bookings of an agent or a location, and prints its path. Put the address of the site before it.
Anybody who has the address can read the calendar, but nothing else. What it shows (--details)
cannot be changed later.

  bookside keys create --name shop --permissions read,write_bookings
  bookside keys create --calendar --agent 3 --details names`,
	}
	flags := p.configFlags(command)
	onlyOfCalendars := attributesWithout(calendarAttributes, keys.NewAttributes) // others, such as the name, have one flag for both
	given := defineAttributes(flags, slices.Concat(keys.NewAttributes, onlyOfCalendars))
	calendar := flags.Bool("calendar", false, "create the secret address of a calendar, of --agent or --location")
	quiet := flags.Bool("quiet", false, "print the key or the path and nothing else")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		if *calendar {
			return p.createCalendar(ctx, given, *quiet)
		}
		options, err := given.only(keys.NewAttributes, "only with --calendar")
		if err != nil {
			return err
		}
		n, err := parseNewKey(options, p.now())
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, func(store keyStore) error {
			if err := options.resolveChoices(ctx, p, store.db, &n); err != nil {
				return err
			}
			n.Kind, n.CreatedBy = cmp.Or(n.Kind, keys.Live), p.creator()
			secret, key, err := store.Create(ctx, n)
			if err != nil {
				return err
			}
			if *quiet {
				return p.print(secret + "\n")
			}
			return p.print(secret + "\n\nIt is shown only once: only a hash of it is stored.\n" + describeKey(key))
		})
	}
	return command
}

// calendarAttributes are the attributes of a new calendar.
var calendarAttributes = slices.Concat(keys.CalendarSubjects, keys.CalendarAttributes)

func (p *program) createCalendar(ctx context.Context, given attributeFlags[keys.Key, keys.NewKey], quiet bool) error {
	options, err := given.only(calendarAttributes, "not with --calendar")
	if err != nil {
		return err
	}
	_, agent := options.texts[string(domain.AgentResource)]
	if _, location := options.texts[string(domain.LocationResource)]; agent == location {
		return usageErrorf("--calendar: name either --agent or --location")
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
	return p.withNewKeys(ctx, func(store keyStore) error {
		if err := options.resolveChoices(ctx, p, store.db, &n); err != nil {
			return err
		}
		resource, id := keys.Key{Scope: n.Scope}.Subject()
		name, err := calendarName(ctx, store.db, p.now, resource, id)
		if err != nil {
			return err
		}
		n.Name, n.CreatedBy = cmp.Or(n.Name, name), p.creator()
		secret, calendar, err := store.Create(ctx, n)
		if err != nil {
			return err
		}
		path := calendar.Address(c.Server.BasePaths[0], secret)
		if quiet {
			return p.print(path + "\n")
		}
		return p.print(fmt.Sprintf("%s\n\nPut the address of the site before it. It is shown only once: only a hash of it is stored.\nID %d, name %s, %s %d, details %s, expires %s\n",
			path, calendar.ID, calendar.Name, resource, id, calendar.Details, expiryText(calendar)))
	})
}

// calendarName returns the name of the agent or location, cut to fit the list of keys.
func calendarName(ctx context.Context, db *wpdb.DB, now domain.Clock, resource domain.Resource, id int64) (string, error) {
	site, err := session.NewPlatform(db, now).Session(ctx)
	if err != nil {
		return "", err
	}
	name, err := bookings.CalendarName(ctx, site, resource, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return "", exit.Errorf(exit.Failure, nil, "there is no %s with the ID %d", resource, id)
	}
	if err != nil {
		return "", err
	}
	return keys.NameOr(name, fmt.Sprintf("%s %d", resource, id)), nil
}
