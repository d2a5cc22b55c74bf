package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/webhooks"
)

func (p *program) addWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "add URL",
		Short: "send changes to a URL",
		Long: `Sends all changes from now on to a URL, and prints the secret that signs the requests (see webhooks
listen). It is shown only once. A running server sends within seconds.

  bookside webhooks add https://example.com/hooks --events booking.created,customer.updated
  bookside webhooks add https://example.com/hooks --events 'booking.*' --agents 3,5 --record

Events are booking, customer, order, payment, invoice, service, agent, location or coupon, each with
.created, .updated, .deleted or .* for all, and booking.status_changed; * is everything. A booking
whose status changed is sent as booking.status_changed, or as booking.updated to a webhook that lists
only that.

The URL must have a public address, unless --allow-private is set. Redirects are not followed.`,
	}
	flags := p.configFlags(command)
	options := defineAttributes(flags, webhooks.Terms)
	private := flags.Bool("allow-private", false, "the URL may lead to a private address, such as one of this machine")
	quiet := flags.Bool("quiet", false, "print the secret and nothing else")
	command.RunE = func(command *cobra.Command, operands []string) error {
		ctx := command.Context()
		n := webhooks.NewHook{Private: *private}
		var err error
		if n.URL, err = webhooks.ParseURL(operands[0], *private); err != nil {
			err = usageErrorf("URL: %v", err)
		}
		options.setOr("events", "")
		if err := options.parse(err, p.now(), &n); err != nil {
			return err
		}
		return p.withWebhooks(ctx, func(store webhookStore) error {
			if err := options.choose(ctx, p, store.db, &n); err != nil {
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
