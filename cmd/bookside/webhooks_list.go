package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/webhooks"
)

func (p *program) listWebhooks() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "list the webhooks",
		Long: `Lists all webhooks. One that has failed for three days is disabled. The values in the query of a URL
are not shown, because they may be secret.`,
	}
	flags := p.configFlags(command)
	asJSON := flags.Bool("json", false, "print a JSON array")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		return p.withWebhooks(ctx, func(store webhookStore) error {
			list, err := store.List(ctx)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return p.printJSON(webhookRecords(list))
			case len(list) == 0:
				return p.print("There are no webhooks; webhooks add adds one.\n")
			}
			limited := func(h webhooks.Hook) bool { return !h.Filter.Scope().Unlimited() }
			labels, err := p.labels(ctx, store.db, slices.ContainsFunc(list, limited))
			if err != nil {
				return err
			}
			return p.print(webhookTable(list, labels))
		})
	}
	return command
}

func webhookTable(list []webhooks.Hook, labels slots.Labels) string {
	rows := [][]string{{"ID", "NAME", "URL", "EVENTS", "BOOKINGS OF", "RECORD", "KEY", "STATUS", "CREATED (UTC)"}}
	for _, h := range list {
		status := string(h.Status)
		switch {
		case h.Reason != "":
			status += ": " + h.Reason
		case h.FailingSince != "":
			status += ", failing since " + string(h.FailingSince)
		}
		key := "none"
		if h.KeyID != 0 {
			key = strconv.FormatInt(h.KeyID, 10)
		}
		rows = append(rows, []string{
			strconv.FormatInt(h.ID, 10), h.Name, webhooks.MaskURL(h.URL), strings.Join(h.Filter.Events, ","), filterText(h.Filter, labels), yesNo(h.Record), key, status, string(h.CreatedAt),
		})
	}
	return columns(rows)
}

// filterText describes which bookings pass a filter.
func filterText(f webhooks.Filter, labels slots.Labels) string {
	return cmp.Or(strings.Join(keys.Key{Scope: f.Scope()}.ScopeSummary(labels.Text), "; "), "all")
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// webhookRecord is a webhook in the output of webhooks list --json. Times are in RFC 3339.
type webhookRecord struct {
	ID           int64      `json:"id"`
	Name         string     `json:"name"`
	URL          string     `json:"url"`
	Events       []string   `json:"events"`
	Agents       []int64    `json:"agents"`
	Services     []int64    `json:"services"`
	Locations    []int64    `json:"locations"`
	Record       bool       `json:"record"`
	AllowPrivate bool       `json:"allow_private"`
	KeyID        *int64     `json:"key_id"`
	Status       string     `json:"status"`
	Reason       string     `json:"reason"`
	FailingSince *time.Time `json:"failing_since"`
	CreatedAt    *time.Time `json:"created_at"`
}

func webhookRecords(list []webhooks.Hook) []webhookRecord {
	records := make([]webhookRecord, len(list))
	for i, h := range list {
		records[i] = webhookRecord{
			ID: h.ID, Name: h.Name, URL: webhooks.MaskURL(h.URL), Events: h.Filter.Events, Agents: notNil(h.Filter.Agents), Services: notNil(h.Filter.Services),
			Locations: notNil(h.Filter.Locations), Record: h.Record, AllowPrivate: h.Private, Status: string(h.Status), Reason: h.Reason,
			FailingSince: instant(h.FailingSince), CreatedAt: instant(h.CreatedAt),
		}
		if h.KeyID != 0 {
			records[i].KeyID = &list[i].KeyID
		}
	}
	return records
}

// notNil returns an empty list for nil, which JSON shows as [].
func notNil(ids []int64) []int64 { return append([]int64{}, ids...) }
