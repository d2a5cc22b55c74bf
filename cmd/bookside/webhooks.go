package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/keys"
	"bookside/adapter/slots"
	"bookside/adapter/webhooks"
	"bookside/wpdb"
)

const aboutWebhooksAdd = `Tells a URL about changes from now on, whoever makes them, and prints the secret that signs what is
sent (see webhooks listen). It is shown only once. A running server sends within seconds.

  bookside webhooks add https://example.com/hooks --events booking.created,customer.updated
  bookside webhooks add https://example.com/hooks --events 'booking.*' --agents 3,5 --record

Events are booking, customer, order, payment, invoice, service, agent, location or coupon, each with
.created, .updated, .deleted or .* for all, and booking.status_changed; * is everything. A booking
whose status changed is sent as booking.status_changed, or as booking.updated to a webhook that lists
only that.

The URL must lead to a public address, unless --allow-private is set. Redirects are not followed.`

const aboutWebhooksList = `Lists all webhooks. One that has failed for three days is disabled. The values in the query of a URL
are not shown, because they may be secret.`

const aboutWebhooksTest = `Sends the event bookside.test to the webhook with this ID (see webhooks list), once and from here, even
if the webhook is disabled, and prints the response.`

const aboutWebhooksLog = `Shows what was sent to the webhook with this ID (see webhooks list) in the last 30 days, the newest
first, with each try: its time, the status of the response, how long it took, and the beginning of the
response.`

const aboutWebhooksReplay = `Sends events to the webhook with this ID again, one delivery or all changes since a time:

  bookside webhooks replay 3 --delivery 117
  bookside webhooks replay 3 --since 2h
  bookside webhooks replay 3 --since 2026-11-22T10:00:00Z

They have the same webhook-id as before. Changes that are older than the journal (changes.keep) are
lost. Changes since a time also include those that the webhook did not list then.`

const aboutWebhooksRotate = `Makes a new secret for the webhook with this ID and prints it. Until --overlap has passed, each request
is signed with both secrets, so that receivers can change theirs in the meantime.`

const aboutWebhooksDisable = `Pauses the webhook with this ID (see webhooks list) at once, on every server. Changes are kept for it as
long as the journal keeps them (changes.keep).`

const aboutWebhooksEnable = `Continues a disabled webhook. Changes since it was disabled are sent first; with --skip, they are not
sent.`

const aboutWebhooksDelete = `Deletes the webhook with this ID (see webhooks list), its secret and its log.`

// newVault requires a valid configuration.
func (c config) newVault() (webhooks.Vault, error) {
	vault, err := webhooks.NewVault(c.Webhooks.SecretKey)
	if err != nil {
		return vault, fmt.Errorf("%s: %w", keySecretKey, err)
	}
	return vault, nil
}

// webhookStore is the webhooks of a site, and the database that they are in.
type webhookStore struct {
	*webhooks.Store
	db *wpdb.DB
}

// withWebhooks calls use with the webhooks of the site, after creating our own tables.
func (p *program) withWebhooks(ctx context.Context, common configFlags, use func(webhookStore) error) error {
	c, err := readConfig(p.env, common)
	if err == nil {
		err = c.validate()
	}
	if err != nil {
		return err
	}
	vault, err := c.newVault()
	if err != nil {
		return err
	}
	return p.withOwnTables(ctx, common, wpdb.Webhooks, func(db *wpdb.DB) error {
		return use(webhookStore{webhooks.NewStore(db, p.now, rand.Reader, vault, journal.New(db, p.now)), db})
	})
}

func (p *program) addWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	var events, name, agents, services, locations *string
	optional(flags, &events, "events", "comma-separated `LIST` of events, such as booking.created,customer.updated or *; required")
	optional(flags, &name, "name", "`NAME` of the webhook; default the host of the URL")
	optional(flags, &agents, "agents", "only bookings with one of these agents, comma-separated `IDS` or names")
	optional(flags, &services, "services", "only bookings with one of these services, comma-separated `IDS` or names")
	optional(flags, &locations, "locations", "only bookings at one of these locations, comma-separated `IDS` or names")
	record := flags.Bool("record", false, "also send the present record, with personal data")
	private := flags.Bool("allow-private", false, "the URL may lead to a private address, such as one of this machine")
	quiet := flags.Bool("quiet", false, "print the secret and nothing else")
	return func(ctx context.Context, operands []string) error {
		n := webhooks.NewHook{Record: *record, Private: *private}
		var err error
		if n.URL, err = webhooks.ParseURL(operands[0], *private); err != nil {
			err = usageErrorf("URL: %v", err)
		}
		if events == nil {
			events = new(string)
		}
		n.Filter.Events = parseFlag(&err, "events", events, webhooks.ParseEvents)
		n.Name = parseFlag(&err, "name", name, webhooks.ParseName)
		choices := []choiceFlag{{"agents", domain.AgentResource, agents}, {"services", domain.ServiceResource, services}, {"locations", domain.LocationResource, locations}}
		for _, f := range choices {
			parseFlag(&err, f.name, f.text, keys.ParseChoices)
		}
		if err != nil {
			return err
		}
		return p.withWebhooks(ctx, common, func(store webhookStore) error {
			err := p.resolveChoices(ctx, store.db, choices...)
			if err != nil {
				return err
			}
			n.Filter.Agents = parseFlag(&err, "agents", agents, webhooks.ParseIDs)
			n.Filter.Services = parseFlag(&err, "services", services, webhooks.ParseIDs)
			n.Filter.Locations = parseFlag(&err, "locations", locations, webhooks.ParseIDs)
			if err != nil {
				return err
			}
			secret, hook, err := store.Add(ctx, n)
			switch {
			case err != nil:
				return err
			case *quiet:
				return p.print(secret + "\n")
			}
			return p.print(fmt.Sprintf("%s\n\nIt is shown only once: give it to the receiver.\nID %d, name %s, events %s\n", secret, hook.ID, hook.Name, strings.Join(hook.Filter.Events, ",")))
		})
	}
}

func (p *program) listWebhooks(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	asJSON := flags.Bool("json", false, "print a JSON array")
	return func(ctx context.Context, _ []string) error {
		return p.withWebhooks(ctx, common, func(store webhookStore) error {
			list, err := store.List(ctx)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return p.printJSON(webhookRecords(list))
			case len(list) == 0:
				return p.print("There are no webhooks; webhooks add adds one.\n")
			}
			limited := func(h webhooks.Hook) bool { return filterText(h.Filter, nil) != everyBooking }
			labels, err := p.labels(ctx, store.db, slices.ContainsFunc(list, limited))
			if err != nil {
				return err
			}
			return p.print(webhookTable(list, labels))
		})
	}
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

// everyBooking is the text of a filter that lets all bookings pass.
const everyBooking = "all"

// filterText describes which bookings a filter lets pass.
func filterText(f webhooks.Filter, labels slots.Labels) string {
	scope := domain.Scope{Agents: f.Agents, Services: f.Services, Locations: f.Locations}
	return cmp.Or(strings.Join(keys.Key{Scope: scope}.ScopeSummary(labels.Text), "; "), everyBooking)
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

// notNil returns an empty list for none, which JSON shows as [].
func notNil(ids []int64) []int64 { return append([]int64{}, ids...) }

// webhookID parses the operand ID.
func webhookID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usageErrorf("ID: write the number that webhooks list shows")
	}
	return id, nil
}

func noSuchWebhook(id int64) error {
	return failf(exitFailure, nil, "there is no webhook with the ID %d; see webhooks list", id)
}

// withWebhook returns the action of a command for one webhook: act does it, and reports
// what to print and whether the webhook exists.
func (p *program) withWebhook(common *configFlags, act func(ctx context.Context, store webhookStore, id int64) (done string, found bool, err error)) action {
	return func(ctx context.Context, operands []string) error {
		id, err := webhookID(operands[0])
		if err != nil {
			return err
		}
		return p.withWebhooks(ctx, *common, func(store webhookStore) error {
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

func (p *program) testWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	return p.withWebhook(&common, func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		worker := webhooks.NewWorker(store.Store, keys.NewStore(store.db, p.now, rand.Reader), slog.New(slog.DiscardHandler), webhooks.Options{})
		try, found, err := worker.TestNow(ctx, id)
		if err != nil || !found {
			return "", found, err
		}
		if try.Failure != "" {
			return "", true, failf(exitFailure, nil, "the test failed: %s", printable(joinNonEmpty(": ", try.Failure, try.Answer)))
		}
		return fmt.Sprintf("The receiver accepted the event: %s\n", tryText(try)), true, nil
	})
}

func (p *program) disableWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	return p.withWebhook(&common, func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		found, err := store.Disable(ctx, id, "disabled by an administrator")
		return fmt.Sprintf("Webhook %d is disabled.\n", id), found, err
	})
}

func (p *program) enableWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	skip := flags.Bool("skip", false, "do not send the changes since it was disabled")
	return p.withWebhook(&common, func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		found, err := store.Enable(ctx, id, *skip)
		return fmt.Sprintf("Webhook %d is enabled.\n", id), found, err
	})
}

func (p *program) deleteWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	return p.withWebhook(&common, func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		found, err := store.Delete(ctx, id)
		return fmt.Sprintf("Webhook %d is deleted.\n", id), found, err
	})
}

func (p *program) rotateWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	overlap := 24 * time.Hour
	flags.Func("overlap", "how long both secrets are valid, a `DURATION` up to 720h; default 24h; 0s ends the old one at once", func(text string) (err error) {
		overlap, err = webhooks.ParseOverlap(text)
		return err
	})
	quiet := flags.Bool("quiet", false, "print the secret and nothing else")
	return p.withWebhook(&common, func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
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
}

func (p *program) replayWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	var delivery, since *string
	optional(flags, &delivery, "delivery", "send this delivery again, an `ID` that webhooks log shows")
	optional(flags, &since, "since", "send all changes since `WHEN` again: a duration such as 2h, or a time such as 2026-11-22T10:00:00Z")
	act := p.withWebhook(&common, func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		if since != nil {
			from, err := parseSince(*since, p.now())
			if err != nil {
				return "", true, usageErrorf("--since: %v", err)
			}
			found, err := store.ReplaySince(ctx, id, from)
			return fmt.Sprintf("Webhook %d gets all changes since %s UTC again.\n", id, domain.Stamp(from)), found, err
		}
		number, err := strconv.ParseInt(*delivery, 10, 64)
		if err != nil {
			return "", true, usageErrorf("--delivery: write an ID that webhooks log shows")
		}
		if _, found, err := store.Find(ctx, id); err != nil || !found {
			return "", found, err
		}
		found, err := store.Replay(ctx, id, number)
		switch {
		case errors.Is(err, webhooks.ErrSending):
			return "", true, failf(exitFailure, nil, "%v; try again in a few seconds", err)
		case err == nil && !found:
			return "", true, failf(exitFailure, nil, "webhook %d has no delivery with the ID %d; see webhooks log %d", id, number, id)
		}
		return fmt.Sprintf("Delivery %d is sent again.\n", number), true, err
	})
	return func(ctx context.Context, operands []string) error {
		if (delivery == nil) == (since == nil) {
			return usageErrorf("write either --delivery or --since")
		}
		return act(ctx, operands)
	}
}

// parseSince parses a duration before now, or a time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, errors.New("write a duration such as 2h, or a time such as 2026-11-22T10:00:00Z")
	}
	return at, nil
}

func (p *program) logWebhook(flags *flag.FlagSet) action {
	var common configFlags
	common.define(flags)
	filter := webhooks.DeliveryFilter{}
	flags.Int64Var(&filter.Limit, "limit", 20, "show at most `N` deliveries")
	flags.Int64Var(&filter.Before, "before", 0, "only those with a smaller `ID` than this")
	flags.StringVar(&filter.State, "state", "", "only those in this `STATE`: "+strings.Join(webhooks.DeliveryStates, ", "))
	act := p.withWebhook(&common, func(ctx context.Context, store webhookStore, id int64) (string, bool, error) {
		if _, found, err := store.Find(ctx, id); err != nil || !found {
			return "", found, err
		}
		deliveries, more, err := store.Deliveries(ctx, id, filter)
		if err != nil {
			return "", true, err
		}
		tries, err := store.Tries(ctx, deliveries)
		return deliveryText(deliveries, tries, more), true, err
	})
	return func(ctx context.Context, operands []string) error {
		if filter.Limit < 1 || filter.Limit > 1000 {
			return usageErrorf("--limit: write a number from 1 to 1000")
		}
		return act(ctx, operands)
	}
}

// deliveryText shows deliveries, each with its tries.
func deliveryText(deliveries []webhooks.Delivery, tries map[int64][]webhooks.Try, more bool) string {
	if len(deliveries) == 0 {
		return "Nothing was sent yet.\n"
	}
	var b strings.Builder
	for _, d := range deliveries {
		about := d.Event
		if d.ResourceID != 0 {
			about += fmt.Sprintf(" of %s %d", d.Resource, d.ResourceID)
		}
		state := d.State
		if d.Waits() && d.Tries > 0 {
			state = "next try at " + string(d.DueAt)
		}
		fmt.Fprintf(&b, "%d  %s  %s  %s  %s\n", d.ID, d.CreatedAt, about, state, d.MessageID())
		for _, t := range tries[d.ID] {
			fmt.Fprintf(&b, "    %s\n", tryText(t))
		}
	}
	if more {
		fmt.Fprintf(&b, "There are older ones: --before %d\n", deliveries[len(deliveries)-1].ID)
	}
	return b.String()
}

// tryText describes a try in a line.
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

// printable replaces line breaks and control characters, with which a receiver could
// write to the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
