package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) disableWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "disable ID",
		Short: "pause a webhook",
		Long: `Pauses the webhook with this ID (see webhooks list) at once, on every server. Changes are kept for it as
long as the journal keeps them (changes.keep).`,
	}
	p.configFlags(command)
	command.RunE = p.withWebhook(func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		found, err := store.Disable(ctx, id, "disabled by an administrator")
		return fmt.Sprintf("Webhook %d is disabled.\n", id), found, err
	})
	return command
}
