package main

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) listKeys() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "list the API keys and calendars",
		Long: `Lists all API keys and secret addresses of calendars, including revoked and expired ones, with the
number of requests. The secrets themselves are not stored: only their first and last characters are
shown, at most a third of a key, and none of a very short one.`,
	}
	flags := p.configFlags(command)
	asJSON := flags.Bool("json", false, "print a JSON array")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		return p.withKeys(ctx, func(store keyStore) error {
			list, err := store.List(ctx)
			if err == nil {
				var calendars []keys.Key
				calendars, err = store.Calendars(ctx)
				list = append(list, calendars...)
			}
			if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
				return err
			}
			if *asJSON {
				return p.printJSON(keyRecords(list, p.now()))
			}
			labels, err := p.labels(ctx, store.db, slices.ContainsFunc(list, func(k keys.Key) bool { return !k.Scope.Unlimited() }))
			if err != nil {
				return err
			}
			return p.print(keyTable(list, labels, p.now()))
		})
	}
	return command
}

func keyTable(list []keys.Key, labels slots.Labels, now time.Time) string {
	if len(list) == 0 {
		return "There are no keys; keys create creates one.\n"
	}
	rows := [][]string{{"ID", "NAME", "KIND", "KEY", "STATUS", "PERMISSIONS", "LIMITED TO", "NETWORKS", "CREATED (UTC)", "REQUESTS", "LAST USED", "EXPIRES"}}
	for _, k := range list {
		rows = append(rows, []string{
			strconv.FormatInt(k.ID, 10), k.Name, string(k.Kind), k.Start + "…" + k.LastFour, string(k.Status(now)), cmp.Or(strings.Join(k.Permissions, ","), string(k.Details)), cmp.Or(strings.Join(k.ScopeSummary(labels.Text), "; "), "-"), keys.FormatNetworks(k.Networks),
			string(k.CreatedAt), strconv.FormatInt(k.Requests, 10), cmp.Or(string(k.LastUsedAt), "never"), cmp.Or(string(k.ExpiresAt), keys.NeverExpires),
		})
	}
	return columns(rows)
}

// keyRecord is a key in the output of keys list --json. Times are in RFC 3339.
type keyRecord struct {
	ID           int64      `json:"id"`
	Name         string     `json:"name"`
	Kind         string     `json:"kind"`
	Start        string     `json:"start"`
	LastFour     string     `json:"last_four"`
	Status       string     `json:"status"`
	Permissions  []string   `json:"permissions"`
	Details      string     `json:"details,omitempty"` // that a calendar shows
	Networks     []string   `json:"networks"`          // empty for any network
	CreatedAt    *time.Time `json:"created_at"`
	LastUsedAt   *time.Time `json:"last_used_at"`
	ExpiresAt    *time.Time `json:"expires_at"`
	Requests     int64      `json:"requests"`
	PerMinute    *int64     `json:"requests_per_minute"`
	PerHour      *int64     `json:"requests_per_hour"`
	Agents       []int64    `json:"agents"` // empty for all, like the next two
	Services     []int64    `json:"services"`
	Locations    []int64    `json:"locations"`
	MaskPersonal bool       `json:"mask_personal"`
	CreatedBy    string     `json:"created_by"` // empty if unknown
}

func keyRecords(list []keys.Key, now time.Time) []keyRecord {
	records := make([]keyRecord, len(list))
	for i, k := range list {
		records[i] = keyRecord{
			ID: k.ID, Name: k.Name, Kind: string(k.Kind), Start: k.Start, LastFour: k.LastFour, Status: string(k.Status(now)), Permissions: notNil(k.Permissions), Details: string(k.Details),
			Networks: []string{}, CreatedAt: instant(k.CreatedAt), LastUsedAt: instant(k.LastUsedAt), ExpiresAt: instant(k.ExpiresAt), Requests: k.Requests, PerMinute: k.PerMinute, PerHour: k.PerHour,
			Agents: notNil(k.Scope.Agents), Services: notNil(k.Scope.Services), Locations: notNil(k.Scope.Locations), MaskPersonal: k.MaskPersonal,
			CreatedBy: k.CreatedBy,
		}
		for _, network := range k.Networks {
			records[i].Networks = append(records[i].Networks, network.String())
		}
	}
	return records
}
