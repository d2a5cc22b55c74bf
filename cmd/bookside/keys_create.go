package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
)

func (p *program) createKey() *cobra.Command {
	command := &cobra.Command{
		Use:   "create",
		Short: "create an API key",
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
addresses, phone numbers, addresses and notes are masked, and it can neither search nor write them.`,
	}
	flags := p.configFlags(command)
	options := defineAttributes(flags, keys.NewTerms)
	quiet := flags.Bool("quiet", false, "print the key and nothing else")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		n, err := parseNewKey(options, p.now())
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, func(store keyStore) error {
			if err := options.choose(ctx, p, store.db, &n); err != nil {
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
