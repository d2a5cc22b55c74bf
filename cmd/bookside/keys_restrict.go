package main

import (
	"errors"

	"github.com/spf13/cobra"

	"bookside/wpdb"
)

func (p *program) restrictKey() *cobra.Command {
	command := &cobra.Command{
		Use:   "restrict ID",
		Short: "change an API key",
		Long: `Changes what the flags name about the API key with this ID (see keys list), and nothing else. It
takes effect at once, on every server of this database. The key itself stays the same, and a
revoked one stays revoked.

  bookside keys restrict 3 --permissions read_bookings --networks 192.0.2.0/24,2001:db8::7
  bookside keys restrict 3 --networks any --expires never --per-minute default`,
	}
	flags := p.configFlags(command)
	var options keyFlags
	options.define(flags)
	command.RunE = func(command *cobra.Command, operands []string) error {
		ctx := command.Context()
		id, err := keyID(operands[0])
		if err != nil {
			return err
		}
		patch, err := options.patch(p.now())
		if err != nil {
			return err
		}
		return p.withKeys(ctx, func(store keyStore) error {
			scope, err := options.scope(ctx, p, store.db)
			if err != nil {
				return err
			}
			patch.Agents, patch.Services, patch.Locations = ifSet(options.agents, &scope.Agents), ifSet(options.services, &scope.Services), ifSet(options.locations, &scope.Locations)
			key, found, err := store.Restrict(ctx, id, patch)
			switch {
			case err != nil && !errors.Is(err, wpdb.ErrSchema): // without a table there are no keys
				return err
			case !found:
				return noSuchKey(id)
			default:
				return p.print("Changed.\n" + describeKey(key))
			}
		})
	}
	return command
}
