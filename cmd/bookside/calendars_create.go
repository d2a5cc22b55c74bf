package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bookside/adapter/bookings"
	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/session"
	"bookside/cmd/internal/exit"
	"bookside/wpdb"
)

func (p *program) createCalendar() *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "make a secret address at which calendar programs see bookings",
		Long: `Makes a secret address at which calendar programs can subscribe to the bookings of an agent or of a
location, and prints its path. Put the address of the site before it. Only a hash of the secret is
stored, so it cannot be shown again. Missing tables of Bookside are created first.

  bookside calendars create --agent 3 --details names
  bookside calendars create --location 1 --name "screen in the lobby" --expires 365d

With --details busy, events show when somebody is booked; with names, also the service, the customer
and the address; with full, also how to reach the customer and what they wrote. That cannot be
changed later: make another address, and revoke this one.

Whoever has the address can read the calendar, and nothing else.`,
	}
	flags := p.configFlags(command)
	var options calendarFlags
	options.define(flags)
	quiet := flags.Bool("quiet", false, "print the path and nothing else")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		subject, n, err := options.parse(p.now())
		if err != nil {
			return err
		}
		c, err := p.config()
		if err != nil {
			return err
		}
		return p.withOwnTables(ctx, wpdb.APIKeys, func(db *wpdb.DB) error {
			if err := p.resolveChoices(ctx, db, subject); err != nil {
				return err
			}
			id, err := keys.ParseID(*subject.text)
			if err != nil {
				return usageErrorf("--%s: %v", subject.name, err)
			}
			n.Scope = keys.CalendarScope(subject.of, id)
			name, err := calendarName(ctx, db, p.now, subject.of, id)
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

// calendarFlags are the properties of a calendar as written on the command line, nil for flags
// that are not set.
type calendarFlags struct{ agent, location, name, details, expires *string }

func (f *calendarFlags) define(flags *pflag.FlagSet) {
	optional(flags, &f.agent, "agent", "`ID` or name of the agent whose bookings it shows; this or --location is required")
	optional(flags, &f.location, "location", "`ID` or name of the location whose bookings it shows")
	optional(flags, &f.name, "name", "`NAME` in the list of calendars, 1 to 190 characters; default that of the agent or location")
	optional(flags, &f.details, "details", "what it shows: `DETAILS` busy, names or full; default busy")
	optional(flags, &f.expires, "expires", "`WHEN` the address expires: 90d from now, after the day 2027-01-31 (UTC), or never; default never")
}

// parse returns whose calendar is asked for, and what it should be, but for its limits.
func (f calendarFlags) parse(now time.Time) (subject choiceFlag, n keys.NewKey, err error) {
	if (f.agent == nil) == (f.location == nil) {
		return subject, n, usageErrorf("name either --agent or --location")
	}
	busy := string(keys.Busy)
	subject = choiceFlag{"agent", domain.AgentResource, f.agent}
	if f.location != nil {
		subject = choiceFlag{"location", domain.LocationResource, f.location}
	}
	parseFlag(&err, subject.name, subject.text, keys.ParseChoice)
	n.Kind = keys.Calendar
	n.Name = parseFlag(&err, "name", f.name, keys.ParseName)
	n.Details = parseFlag(&err, "details", cmp.Or(f.details, &busy), keys.ParseDetails)
	n.ExpiresAt = parseFlag(&err, "expires", f.expires, func(text string) (*time.Time, error) { return keys.ParseExpiry(text, now) })
	return subject, n, err
}

// calendarName returns the name of the agent or location, cut to what the list of calendars
// holds.
func calendarName(ctx context.Context, db *wpdb.DB, now domain.Clock, of domain.Resource, id int64) (string, error) {
	site, err := session.NewPlatform(db, now).Session(ctx)
	if err != nil {
		return "", err
	}
	name, err := bookings.CalendarName(ctx, site, of, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return "", exit.Errorf(exit.Failure, nil, "there is no %s with the ID %d", of, id)
	}
	return keys.CutName(name, fmt.Sprintf("%s %d", of, id)), err
}

// describeCalendar returns a line with all that is not secret about a calendar.
func describeCalendar(k keys.Key) string {
	end := keys.NeverExpires
	if k.ExpiresAt != "" {
		end = string(k.ExpiresAt) + " UTC"
	}
	return fmt.Sprintf("ID %d, name %s, %s, details %s, expires %s\n", k.ID, k.Name, subjectText(k, nil), k.Details, end)
}
