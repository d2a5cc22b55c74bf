package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/webhooks"
)

func (p *program) addWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "add URL",
		Short: "tell a URL about changes",
		Long: `Tells a URL about changes from now on, whoever makes them, and prints the secret that signs what is
sent (see webhooks listen). It is shown only once. A running server sends within seconds.

  bookside webhooks add https://example.com/hooks --events booking.created,customer.updated
  bookside webhooks add https://example.com/hooks --events 'booking.*' --agents 3,5 --record

Events are booking, customer, order, payment, invoice, service, agent, location or coupon, each with
.created, .updated, .deleted or .* for all, and booking.status_changed; * is everything. A booking
whose status changed is sent as booking.status_changed, or as booking.updated to a webhook that lists
only that.

The URL must lead to a public address, unless --allow-private is set. Redirects are not followed.`,
	}
	flags := p.configFlags(command)
	var events, name, agents, services, locations *string
	optional(flags, &events, "events", "comma-separated `LIST` of events, such as booking.created,customer.updated or *; required")
	optional(flags, &name, "name", "`NAME` of the webhook; default the host of the URL")
	optional(flags, &agents, "agents", "only bookings with one of these agents, comma-separated `IDS` or names")
	optional(flags, &services, "services", "only bookings with one of these services, comma-separated `IDS` or names")
	optional(flags, &locations, "locations", "only bookings at one of these locations, comma-separated `IDS` or names")
	record := flags.Bool("record", false, "also send the present record, with personal data")
	private := flags.Bool("allow-private", false, "the URL may lead to a private address, such as one of this machine")
	quiet := flags.Bool("quiet", false, "print the secret and nothing else")
	command.RunE = func(command *cobra.Command, operands []string) error {
		ctx := command.Context()
		n := webhooks.NewHook{Record: *record, Private: *private}
		var err error
		if n.URL, err = webhooks.ParseURL(operands[0], *private); err != nil {
			err = usageErrorf("URL: %v", err)
		}
		if events == nil {
			events = new(string)
		}
		n.Filter.Events = parseFlag(&err, "events", events, webhooks.ParseEvents)
		n.Name = parseFlag(&err, "name", name, webhooks.ParseName)
		choices := []choiceFlag{{"agents", domain.AgentResource, agents}, {"services", domain.ServiceResource, services}, {"locations", domain.LocationResource, locations}}
		for _, f := range choices {
			parseFlag(&err, f.name, f.text, keys.ParseChoices)
		}
		if err != nil {
			return err
		}
		return p.withWebhooks(ctx, func(store webhookStore) error {
			err := p.resolveChoices(ctx, store.db, choices...)
			if err != nil {
				return err
			}
			n.Filter.Agents = parseFlag(&err, "agents", agents, webhooks.ParseIDs)
			n.Filter.Services = parseFlag(&err, "services", services, webhooks.ParseIDs)
			n.Filter.Locations = parseFlag(&err, "locations", locations, webhooks.ParseIDs)
			if err != nil {
				return err
			}
			secret, hook, err := store.Add(ctx, n)
			switch {
			case err != nil:
				return err
			case *quiet:
				return p.print(secret + "\n")
			}
			return p.print(fmt.Sprintf("%s\n\nIt is shown only once: give it to the receiver.\nID %d, name %s, events %s\n", secret, hook.ID, hook.Name, strings.Join(hook.Filter.Events, ",")))
		})
	}
	return command
}
