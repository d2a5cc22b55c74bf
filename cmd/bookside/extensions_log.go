package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) logExtensions() *cobra.Command {
	command := &cobra.Command{
		Use:   "log",
		Short: "show the events sent to the extensions of the site",
		Long: `Shows the events that the companion sent to the site's extensions in the last 30 days, the newest
first: the event, the record, its state, and the error of an extension. To send a failed one again,
see extensions replay.`,
	}
	flags := p.configFlags(command)
	limit := flags.Uint64("limit", 50, "show at most `N` events")
	state := flags.String("state", "", "only those in this `STATE`: "+strings.Join(events.States, ", "))
	asJSON := flags.Bool("json", false, "print a JSON array")
	command.RunE = func(command *cobra.Command, _ []string) error {
		switch {
		case *limit < 1 || *limit > 1000:
			return usageErrorf("--limit: write a number from 1 to 1000")
		case *state != "" && !slices.Contains(events.States, *state):
			return usageErrorf("--state: write %s", strings.Join(events.States, ", "))
		}
		ctx := command.Context()
		return p.withOwnTables(ctx, wpdb.Events, func(db *wpdb.DB) error {
			list, err := events.List(ctx, db, *state, *limit)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return p.printJSON(eventRecords(list))
			case len(list) == 0:
				return p.print("There are no such events.\n")
			}
			return p.print(eventTable(list))
		})
	}
	return command
}

func eventTable(list []events.Stored) string {
	rows := [][]string{{"ID", "QUEUED (UTC)", "EVENT", "RECORD", "STATE", "ENDED (UTC)", "FAILURE"}}
	for _, e := range list {
		rows = append(rows, []string{
			strconv.FormatInt(e.ID, 10), string(e.CreatedAt), e.Name, strconv.FormatInt(e.RecordID, 10), e.State, cmp.Or(string(e.FinishedAt), "-"), cmp.Or(printable(e.Failure), "-"),
		})
	}
	return columns(rows)
}

// eventRecord is an event in the output of extensions log --json. Times are in RFC 3339.
type eventRecord struct {
	ID         int64      `json:"id"`
	Event      string     `json:"event"`
	RecordID   int64      `json:"record_id"`
	State      string     `json:"state"`
	Tries      int        `json:"tries"`
	Failure    string     `json:"failure"`
	CreatedAt  *time.Time `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
}

func eventRecords(list []events.Stored) []eventRecord {
	records := make([]eventRecord, len(list))
	for i, e := range list {
		records[i] = eventRecord{e.ID, e.Name, e.RecordID, e.State, e.Tries, e.Failure, instant(e.CreatedAt), instant(e.FinishedAt)}
	}
	return records
}

func (p *program) replayExtensions() *cobra.Command {
	command := &cobra.Command{
		Use:   "replay ID",
		Short: "send a failed event to extensions again",
		Long: `Sends a failed event to the site's extensions again; extensions log has its ID. If they may already
have received it, they get an update instead of a creation, so that no second meeting is created, and
a payment is not sent at all. Messages are not sent again.`,
	}
	p.configFlags(command)
	command.RunE = func(command *cobra.Command, operands []string) error {
		id, err := strconv.ParseInt(operands[0], 10, 64)
		if err != nil || id < 1 {
			return usageErrorf("ID: write the number that extensions log shows")
		}
		ctx := command.Context()
		return p.withOwnTables(ctx, wpdb.Events, func(db *wpdb.DB) error {
			found, err := events.Again(ctx, db, p.now(), id)
			switch {
			case err != nil:
				return err
			case !found:
				return exit.Errorf(exit.Failure, nil, "there is no failed event with the ID %d that can be sent again; see extensions log", id)
			}
			return p.print(fmt.Sprintf("The server tells extensions about event %d again.\n", id))
		})
	}
	return command
}
