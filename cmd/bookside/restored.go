package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) restored() *cobra.Command {
	command := &cobra.Command{
		Use:   "restored",
		Short: "tell Bookside that a backup of the database was restored",
		Long: `Tells Bookside that a backup of the database was restored. Run it before serve is started again:

  - Cursors of GET /changes expire, because their numbers will be reused.
  - Webhooks are disabled, because what waits may have been sent since. Enable each on the console or
    by the API, there with skip to send only future events.
  - Events that wait for extensions of the site are dropped, because they may have been sent since.
  - Holds of slots are dropped, and console sessions end.

Keys that were revoked after the backup are valid again: check keys list.`,
	}
	p.configFlags(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		return p.withOwnTables(ctx, wpdb.Webhooks, func(db *wpdb.DB) error {
			platform := session.NewPlatform(db, p.now)
			hooks := jobs.NewHookStore(db, p.now, nil, jobs.Vault{}, platform.Journal)
			done, err := jobs.CleanUpRestored(ctx, platform, hooks)
			if err != nil {
				return err
			}
			return p.print(restoredText(done))
		})
	}
	return command
}

func restoredText(r jobs.Restored) string {
	var text strings.Builder
	text.WriteString("Cursors of GET /changes have expired.\n")
	fmt.Fprintf(&text, "%d holds and %d logins of the console have ended.\n", r.Holds, r.Sessions)
	if r.Events > 0 {
		fmt.Fprintf(&text, "%d events for extensions of the site are dropped: bookside check names those.\n", r.Events)
	}
	for _, id := range r.Webhooks {
		fmt.Fprintf(&text, "Webhook %d is disabled: enable it on the console, or by the API.\n", id)
	}
	text.WriteString("Keys that were revoked after the backup are valid again: bookside keys list.\n")
	return text.String()
}
