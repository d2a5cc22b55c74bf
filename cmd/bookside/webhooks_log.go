package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/webhooks"
)

func (p *program) logWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "log ID",
		Short: "show what was sent to a webhook",
		Long: `Shows what was sent to the webhook with this ID (see webhooks list) in the last 30 days, the newest
first, with each try: its time, the status of the response, how long it took, and the beginning of the
response.`,
	}
	flags := p.configFlags(command)
	filter := webhooks.DeliveryFilter{}
	flags.Int64Var(&filter.Limit, "limit", 20, "show at most `N` deliveries")
	flags.Int64Var(&filter.Before, "before", 0, "only those with a smaller `ID` than this")
	flags.StringVar(&filter.State, "state", "", "only those in this `STATE`: "+strings.Join(webhooks.DeliveryStates, ", "))
	act := p.withWebhook(func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		if _, found, err := store.Find(ctx, id); err != nil || !found {
			return "", found, err
		}
		deliveries, more, err := store.Deliveries(ctx, id, filter)
		if err != nil {
			return "", true, err
		}
		tries, err := store.Tries(ctx, deliveries)
		return deliveryText(deliveries, tries, more), true, err
	})
	command.RunE = func(command *cobra.Command, operands []string) error {
		if filter.Limit < 1 || filter.Limit > 1000 {
			return usageErrorf("--limit: write a number from 1 to 1000")
		}
		return act(command, operands)
	}
	return command
}

// deliveryText formats deliveries, each with its tries.
func deliveryText(deliveries []webhooks.Delivery, tries map[int64][]webhooks.Try, more bool) string {
	if len(deliveries) == 0 {
		return "Nothing was sent yet.\n"
	}
	var b strings.Builder
	for _, d := range deliveries {
		about := d.Event
		if d.ResourceID != 0 {
			about += fmt.Sprintf(" of %s %d", d.Resource, d.ResourceID)
		}
		state := d.State
		if d.Waits() && d.Tries > 0 {
			state = "next try at " + string(d.DueAt)
		}
		fmt.Fprintf(&b, "%d  %s  %s  %s  %s\n", d.ID, d.CreatedAt, about, state, d.MessageID())
		for _, t := range tries[d.ID] {
			fmt.Fprintf(&b, "    %s\n", tryText(t))
		}
	}
	if more {
		fmt.Fprintf(&b, "There are older ones: --before %d\n", deliveries[len(deliveries)-1].ID)
	}
	return b.String()
}
