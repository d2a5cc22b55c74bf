package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/cmd/internal/exit"
)

func (p *program) replayWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "replay ID",
		Short: "send events of a webhook again",
		Long: `Sends events to the webhook with this ID again, one delivery or all changes since a time:

  bookside webhooks replay 3 --delivery 117
  bookside webhooks replay 3 --since 2h
  bookside webhooks replay 3 --since 2026-11-22T10:00:00Z

They have the same webhook-id as before. Changes that are older than the journal (changes.keep) are
lost. Changes since a time also include those that the webhook did not list then.`,
	}
	flags := p.configFlags(command)
	var delivery, since *string
	optional(flags, &delivery, "delivery", "send this delivery again, an `ID` that webhooks log shows")
	optional(flags, &since, "since", "send all changes since `WHEN` again: a duration such as 2h, or a time such as 2026-11-22T10:00:00Z")
	act := p.withWebhook(func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		if since != nil {
			from, err := parseSince(*since, p.now())
			if err != nil {
				return "", true, usageErrorf("--since: %v", err)
			}
			found, err := store.ReplaySince(ctx, id, from)
			return fmt.Sprintf("Webhook %d gets all changes since %s UTC again.\n", id, domain.Stamp(from)), found, err
		}
		number, err := strconv.ParseInt(*delivery, 10, 64)
		if err != nil {
			return "", true, usageErrorf("--delivery: write an ID that webhooks log shows")
		}
		if _, found, err := store.Find(ctx, id); err != nil || !found {
			return "", found, err
		}
		found, err := store.Replay(ctx, id, number)
		switch {
		case errors.Is(err, webhooks.ErrSending):
			return "", true, exit.Errorf(exit.Failure, nil, "%v; try again in a few seconds", err)
		case err == nil && !found:
			return "", true, exit.Errorf(exit.Failure, nil, "webhook %d has no delivery with the ID %d; see webhooks log %d", id, number, id)
		}
		return fmt.Sprintf("Delivery %d is sent again.\n", number), true, err
	})
	command.RunE = func(command *cobra.Command, operands []string) error {
		if (delivery == nil) == (since == nil) {
			return usageErrorf("write either --delivery or --since")
		}
		return act(command, operands)
	}
	return command
}

// parseSince parses a duration before now, or a time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, errors.New("write a duration such as 2h, or a time such as 2026-11-22T10:00:00Z")
	}
	return at, nil
}
