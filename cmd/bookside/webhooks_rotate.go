package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/webhooks"
)

func (p *program) rotateWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "rotate ID",
		Short: "create a new secret for a webhook",
		Long: `Creates a new secret for the webhook with this ID and prints it. Until --overlap has passed, requests
are signed with both secrets, so that receivers can switch in the meantime.`,
	}
	flags := p.configFlags(command)
	overlap := 24 * time.Hour
	flags.Func("overlap", "how long both secrets are valid, a `DURATION` up to 720h; default 24h; 0s ends the old one at once", func(text string) (err error) {
		overlap, err = webhooks.ParseOverlap(text)
		return err
	})
	quiet := flags.Bool("quiet", false, "print the secret and nothing else")
	command.RunE = p.withWebhook(func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		secret, found, err := store.Rotate(ctx, id, overlap)
		switch {
		case *quiet:
			return secret + "\n", found, err
		case overlap == 0:
			return secret + "\n\nIt is shown only once. The old secret has ended.\n", found, err
		default:
			return fmt.Sprintf("%s\n\nIt is shown only once. The old secret ends at %s UTC.\n", secret, domain.Stamp(p.now().Add(overlap))), found, err
		}
	})
	return command
}
