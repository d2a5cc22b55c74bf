package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/wpdb"
)

func (p *program) revokeKey() *cobra.Command {
	command := &cobra.Command{
		Use:   "revoke ID",
		Short: "revoke an API key or a calendar",
		Long: `Revokes the API key or the secret address of a calendar with this ID (see keys list). It takes
effect at once, on every server of this database.`,
	}
	p.configFlags(command)
	command.RunE = func(command *cobra.Command, operands []string) error {
		ctx := command.Context()
		id, err := listedID(operands[0], "keys")
		if err != nil {
			return err
		}
		return p.withKeys(ctx, func(store keyStore) error {
			what := "Key"
			found, err := store.Revoke(ctx, id)
			if err == nil && !found {
				what = "Calendar"
				found, err = store.RevokeCalendar(ctx, id)
			}
			if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
				return err
			}
			if !found {
				return noSuchKey(id)
			}
			return p.print(fmt.Sprintf("%s %d is revoked.\n", what, id))
		})
	}
	return command
}
