package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"

	"bookside/adapter/bookings"
	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/session"
	"bookside/adapter/slots"
	"bookside/wpdb"
)

const aboutCalendarsCreate = `Makes a secret address at which calendar programs can subscribe to the bookings of an agent or of a
location, and prints its path. Put the address of the site before it. Only a hash of the secret is
stored, so it cannot be shown again. Missing tables of Bookside are created first.

  bookside calendars create --agent 3 --details names
  bookside calendars create --location 1 --name "screen in the lobby" --expires 365d

With --details busy, events show when somebody is booked; with names, also the service, the customer
and the address; with full, also how to reach the customer and what they wrote. That cannot be
changed later: make another address, and revoke this one.

Whoever has the address can read the calendar, and nothing else.`

const aboutCalendarsList = `Lists the secret addresses of all calendars, including revoked and expired ones, with the number of
requests to each. The addresses themselves are not stored.`

const aboutCalendarsRevoke = `Revokes the secret address of the calendar with this ID (see calendars list). It takes effect at once,
on every server of this database.`

// calendarFlags are the properties of a calendar as written on the command line, nil for flags
// that are not set.
type calendarFlags struct{ agent, location, name, details, expires *string }

func (f *calendarFlags) define(flags *flag.FlagSet) {
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

func (p *program) createCalendar(flags *flag.FlagSet) action {
	var common configFlags
	var options calendarFlags
	common.define(flags)
	options.define(flags)
	quiet := flags.Bool("quiet", false, "print the path and nothing else")
	return func(ctx context.Context, _ []string) error {
		subject, n, err := options.parse(p.now())
		if err != nil {
			return err
		}
		c, err := readConfig(p.env, common)
		if err != nil {
			return err
		}
		return p.withOwnTables(ctx, common, wpdb.APIKeys, func(db *wpdb.DB) error {
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
		return "", failf(exitFailure, nil, "there is no %s with the ID %d", of, id)
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

func subjectText(k keys.Key, labels slots.Labels) string {
	of, id := k.Subject()
	return string(of) + " " + labels.Text(of, []int64{id})
}

func (p *program) listCalendars(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	asJSON := flags.Bool("json", false, "print a JSON array")
	return func(ctx context.Context, _ []string) error {
		return p.withKeys(ctx, common, func(store keyStore) error {
			list, err := store.Calendars(ctx)
			switch {
			case err != nil && !errors.Is(err, wpdb.ErrSchema): // without a table there are no calendars
				return err
			case *asJSON:
				return p.printJSON(calendarRecords(list, p.now()))
			case len(list) == 0:
				return p.print("There are no calendars; calendars create creates one.\n")
			}
			labels, err := p.labels(ctx, store.db, true)
			if err != nil {
				return err
			}
			return p.print(calendarTable(list, labels, p.now()))
		})
	}
}

func calendarTable(list []keys.Key, labels slots.Labels, now time.Time) string {
	rows := [][]string{{"ID", "NAME", "BOOKINGS OF", "DETAILS", "SECRET", "STATUS", "CREATED (UTC)", "REQUESTS", "LAST USED", "EXPIRES"}}
	for _, k := range list {
		rows = append(rows, []string{
			strconv.FormatInt(k.ID, 10), k.Name, subjectText(k, labels), string(k.Details), "…" + k.LastFour, string(k.Status(now)), string(k.CreatedAt),
			strconv.FormatInt(k.Requests, 10), cmp.Or(string(k.LastUsedAt), "never"), cmp.Or(string(k.ExpiresAt), keys.NeverExpires),
		})
	}
	return columns(rows)
}

// calendarRecord is a calendar in the output of calendars list --json. Times are in RFC 3339.
type calendarRecord struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	AgentID    *int64     `json:"agent_id"` // either this or the next is null
	LocationID *int64     `json:"location_id"`
	Details    string     `json:"details"`
	LastFour   string     `json:"last_four"`
	Status     string     `json:"status"`
	Requests   int64      `json:"requests"`
	CreatedAt  *time.Time `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
}

func calendarRecords(list []keys.Key, now time.Time) []calendarRecord {
	records := make([]calendarRecord, len(list))
	for i, k := range list {
		records[i] = calendarRecord{
			ID: k.ID, Name: k.Name, Details: string(k.Details), LastFour: k.LastFour, Status: string(k.Status(now)), Requests: k.Requests,
			CreatedAt: instant(k.CreatedAt), LastUsedAt: instant(k.LastUsedAt), ExpiresAt: instant(k.ExpiresAt),
		}
		of, id := k.Subject()
		if of == domain.AgentResource {
			records[i].AgentID = &id
		} else {
			records[i].LocationID = &id
		}
	}
	return records
}

func (p *program) revokeCalendar(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	return func(ctx context.Context, operands []string) error {
		id, err := strconv.ParseInt(operands[0], 10, 64)
		if err != nil || id < 1 {
			return usageErrorf("ID: write the number that calendars list shows")
		}
		return p.withKeys(ctx, common, func(store keyStore) error {
			found, err := store.RevokeCalendar(ctx, id)
			switch {
			case err != nil && !errors.Is(err, wpdb.ErrSchema): // without a table there are no calendars
				return err
			case !found:
				return failf(exitFailure, nil, "there is no calendar with the ID %d; see calendars list", id)
			default:
				return p.print(fmt.Sprintf("Calendar %d is revoked.\n", id))
			}
		})
	}
}
