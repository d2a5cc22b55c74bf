package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/cmd/internal/exit"
)

func (p *program) rollKey() *cobra.Command {
	command := &cobra.Command{
		Use:   "roll ID",
		Short: "replace an API key with a new one",
		Long: `Creates a new API key with the same terms as the one with this ID (see keys list), and prints it. The
old one stays valid for a while, so that its clients can switch, and then expires. Webhooks of the
old key pass to the new one at once, and so do its holds if it expires within 30 minutes; the
request count of the new one starts at zero.

  bookside keys roll 3 --overlap 7d

To end a key that somebody else may know, use --overlap 0.`,
	}
	flags := p.configFlags(command)
	overlapText := flags.String("overlap", "24h", "`DURATION` for which the old key stays valid: hours or days such as 12h or 7d, or 0")
	quiet := flags.Bool("quiet", false, "print the key and nothing else")
	command.RunE = func(command *cobra.Command, operands []string) error {
		ctx := command.Context()
		id, err := listedID(operands[0], "keys")
		if err != nil {
			return err
		}
		overlap, err := keys.ParseOverlap(*overlapText)
		if err != nil {
			return usageErrorf("--overlap: %v", err)
		}
		return p.withKeys(ctx, func(store keyStore) error {
			secret, key, old, found, err := store.Roll(ctx, id, overlap, p.creator())
			switch {
			case err != nil:
				return err
			case !found:
				return exit.Errorf(exit.Failure, nil, "there is no valid key with the ID %d; see keys list", id)
			case *quiet:
				return p.print(secret + "\n")
			default:
				return p.print(fmt.Sprintf("%s\n\nIt is shown only once: only a hash of it is stored. The old key, %d, expires %s UTC.\n%s", secret, id, old.ExpiresAt, describeKey(key)))
			}
		})
	}
	return command
}
