package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) enableWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "enable ID",
		Short: "continue a disabled webhook",
		Long:  `Continues a disabled webhook. Changes since it was disabled are sent first; --skip skips them.`,
	}
	flags := p.configFlags(command)
	skip := flags.Bool("skip", false, "do not send the changes since it was disabled")
	command.RunE = p.withWebhook(func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		found, err := store.Enable(ctx, id, *skip)
		return fmt.Sprintf("Webhook %d is enabled.\n", id), found, err
	})
	return command
}
