package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) revokeCalendar() *cobra.Command {
	command := &cobra.Command{
		Use:   "revoke ID",
		Short: "revoke the secret address of a calendar",
		Long: `Revokes the secret address of the calendar with this ID (see calendars list). It takes effect at once,
on every server of this database.`,
	}
	p.configFlags(command)
	command.RunE = func(command *cobra.Command, operands []string) error {
		ctx := command.Context()
		id, err := listedID(operands[0], "calendars")
		if err != nil {
			return err
		}
		return p.withKeys(ctx, func(store keyStore) error {
			found, err := store.RevokeCalendar(ctx, id)
			switch {
			case err != nil && !errors.Is(err, wpdb.ErrSchema): // without a table there are no calendars
				return err
			case !found:
				return exit.Errorf(exit.Failure, nil, "there is no calendar with the ID %d; see calendars list", id)
			default:
				return p.print(fmt.Sprintf("Calendar %d is revoked.\n", id))
			}
		})
	}
	return command
}
