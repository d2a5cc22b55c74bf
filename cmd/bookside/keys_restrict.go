package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) restrictKey() *cobra.Command {
	command := &cobra.Command{
		Use:   "restrict ID",
		Short: "change an API key",
		Long: `Changes the given terms of the API key with this ID (see keys list), and nothing else. It
takes effect at once, on every server of this database. The key itself stays the same, and a
revoked one stays revoked.

  bookside keys restrict 3 --permissions read_bookings --networks 192.0.2.0/24,2001:db8::7
  bookside keys restrict 3 --networks any --expires never --per-minute default`,
	}
	flags := p.configFlags(command)
	options := defineAttributes(flags, keys.ChangeableAttributes)
	command.RunE = func(command *cobra.Command, operands []string) error {
		ctx := command.Context()
		id, err := listedID(operands[0], "keys")
		if err != nil {
			return err
		}
		if len(options.texts) == 0 {
			return usageErrorf("name what to change, such as --networks 192.0.2.0/24")
		}
		var n keys.NewKey
		if err := options.parse(nil, p.now(), &n); err != nil {
			return err
		}
		return p.withKeys(ctx, func(store keyStore) error {
			if err := options.resolveChoices(ctx, p, store.db, &n); err != nil {
				return err
			}
			key, found, err := store.Restrict(ctx, id, n.Patch(options.names()...))
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
