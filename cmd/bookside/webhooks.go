package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/wpdb"
)

// webhookStore is the webhooks of a site and their database.
type webhookStore struct {
	*webhooks.Store
	db *wpdb.DB
}

// withWebhooks calls use with the webhooks of the site, after creating our own tables.
func (p *program) withWebhooks(ctx context.Context, use func(webhookStore) error) error {
	c, err := p.config()
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return err
	}
	vault, err := server.NewVault(c)
	if err != nil {
		return err
	}
	return p.withOwnTables(ctx, wpdb.Webhooks, func(db *wpdb.DB) error {
		return use(webhookStore{webhooks.NewStore(db, p.now, rand.Reader, vault, journal.New(db, p.now)), db})
	})
}

func noSuchWebhook(id int64) error {
	return exit.Errorf(exit.Failure, nil, "there is no webhook with the ID %d; see webhooks list", id)
}

// withWebhook returns the action of a command for one webhook: act performs it, and returns what to print
// and whether the webhook exists.
func (p *program) withWebhook(act func(ctx context.Context, store webhookStore, id int64) (done string, found bool, err error)) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, operands []string) error {
		id, err := listedID(operands[0], "webhooks")
		if err != nil {
			return err
		}
		ctx := command.Context()
		return p.withWebhooks(ctx, func(store webhookStore) error {
			done, found, err := act(ctx, store, id)
			switch {
			case err != nil:
				return err
			case !found:
				return noSuchWebhook(id)
			default:
				return p.print(done)
			}
		})
	}
}

// tryText describes a try in one line.
func tryText(t webhooks.Try) string {
	outcome := t.Failure
	if outcome == "" {
		outcome = fmt.Sprintf("answered %d", t.Status)
	}
	return printable(fmt.Sprintf("%s  %s after %v", t.At, joinNonEmpty(": ", outcome, t.Answer), max(t.Took, time.Millisecond).Round(time.Millisecond)))
}

func joinNonEmpty(separator string, texts ...string) string {
	var filled []string
	for _, text := range texts {
		if text != "" {
			filled = append(filled, text)
		}
	}
	return strings.Join(filled, separator)
}

// printable replaces line breaks and control characters, which a receiver could use to write to the
// terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
