package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) deleteWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "delete ID",
		Short: "delete a webhook and its log",
		Long:  `Deletes the webhook with this ID (see webhooks list), its secret and its log.`,
	}
	p.configFlags(command)
	command.RunE = p.withWebhook(func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		found, err := store.Delete(ctx, id)
		return fmt.Sprintf("Webhook %d is deleted.\n", id), found, err
	})
	return command
}
