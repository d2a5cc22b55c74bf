package main

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) listCalendars() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "list the secret addresses of calendars",
		Long: `Lists the secret addresses of all calendars, including revoked and expired ones, with the number of
requests to each. The addresses themselves are not stored.`,
	}
	flags := p.configFlags(command)
	asJSON := flags.Bool("json", false, "print a JSON array")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		return p.withKeys(ctx, func(store keyStore) error {
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
	return command
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
	AgentID    *int64     `json:"agent_id"` // either this or location_id is null
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
		resource, id := k.Subject()
		if resource == domain.AgentResource {
			records[i].AgentID = &id
		} else {
			records[i].LocationID = &id
		}
	}
	return records
}

func subjectText(k keys.Key, labels slots.Labels) string {
	resource, id := k.Subject()
	return string(resource) + " " + labels.Text(resource, []int64{id})
}
