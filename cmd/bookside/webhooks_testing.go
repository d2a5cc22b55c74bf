package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/cmd/internal/exit"
)

func (p *program) testWebhook() *cobra.Command {
	command := &cobra.Command{
		Use:   "test ID",
		Short: "send a test event to a webhook",
		Long: `Sends the event bookside.test to the webhook with this ID (see webhooks list), once and from here, even
if the webhook is disabled, and prints the response.`,
	}
	p.configFlags(command)
	command.RunE = p.withWebhook(func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		worker := webhooks.NewWorker(store.Store, keys.NewStore(store.db, p.now, rand.Reader), slog.New(slog.DiscardHandler), webhooks.Options{})
		try, found, err := worker.TestNow(ctx, id)
		if err != nil || !found {
			return "", found, err
		}
		if try.Failure != "" {
			return "", true, exit.Errorf(exit.Failure, nil, "the test failed: %s", printable(joinNonEmpty(": ", try.Failure, try.Answer)))
		}
		return fmt.Sprintf("The receiver accepted the event: %s\n", tryText(try)), true, nil
	})
	return command
}
