package adapter

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// TestRecordedWrites repeats the writes recorded on a real site, and compares the rows with those that the
// plugin wrote. They are equal except for differences that are listed and intended. Most writes need only a
// few of the site's bookings.
func TestRecordedWrites(t *testing.T) {
	fixtures.RequireServer(t)
	wantEveryWriteNamed(t)
	few, all := map[string]int{}, map[string]int{}
	t.Run("writes", func(t *testing.T) {
		t.Run("few bookings", func(t *testing.T) {
			t.Parallel()
			replayThose(t, fixtures.SiteA().WithFewBookings(), few, func(r replay) bool { return !r.allBookings })
		})
		t.Run("all bookings", func(t *testing.T) {
			t.Parallel()
			replayThose(t, fixtures.SiteA(), all, func(r replay) bool { return r.allBookings })
		})
	})
	got := maps.Clone(few)
	for difference, n := range all {
		got[difference] += n
	}
	expect.Equal(t, wantDifferences, got, "writes by difference")
}

// replayThose repeats the selected writes, on a database with the site.
func replayThose(t *testing.T, site fixtures.Site, differences map[string]int, chosen func(replay) bool) {
	t.Helper()
	r := newReplayer(t, site, differences)
	for _, w := range fixtures.RecordedWrites(t) {
		if play, ok := replays[w.Name]; ok && chosen(play) {
			r.replay(w, play)
		}
	}
}

// wantEveryWriteNamed checks that each recorded write is replayed or has a reason why not.
func wantEveryWriteNamed(t *testing.T) {
	t.Helper()
	recorded := map[string]bool{}
	for _, w := range fixtures.RecordedWrites(t) {
		recorded[w.Name] = true
		_, replayed := replays[w.Name]
		_, skipped := notReplayed[w.Name]
		if replayed == skipped {
			t.Errorf("%s: replayed %t, skipped %t", w.Name, replayed, skipped)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(replays)), slices.Collect(maps.Keys(notReplayed))) {
		if !recorded[name] {
			t.Errorf("%s: not recorded", name)
		}
	}
}

// replays are the writes that can be replayed.
var replays = bookingReplays

// replay is how a recorded write is replayed.
type replay struct {
	do func(ctx context.Context, s *session.Session, command json.RawMessage) error
	// prepare are statements that make the write possible: the plugin's forms check neither working hours
	// nor other bookings.
	prepare []string
	code    domain.Code // of the error; "" for success
	// allBookings is set if the write depends on bookings other than the few.
	allBookings bool
	differ      []difference // in addition to those of all writes
}

// difference is where we intentionally write something other than the plugin.
type difference struct {
	name string
	// edit turns the recorded rows into what is written here.
	edit func(e *expectation)
}

// expectation is a recorded write being turned into what is written here.
type expectation struct {
	*testing.T
	fixtures.RecordedWrite
	before *fixtures.Snapshot
}

// replayer replays recorded writes on its own database.
type replayer struct {
	t           *testing.T
	database    *fixtures.Database
	platform    *session.Platform
	now         time.Time
	original    *fixtures.Snapshot
	differences map[string]int
}

func newReplayer(t *testing.T, site fixtures.Site, differences map[string]int) *replayer {
	t.Helper()
	r := &replayer{t: t, database: fixtures.New(t, site), differences: differences}
	r.platform = session.NewPlatform(wpdbtest.Open(t, r.database, 2), func() time.Time { return r.now })
	r.original = r.database.Snapshot(t)
	return r
}

func (r *replayer) replay(w fixtures.RecordedWrite, play replay) {
	r.t.Run(w.Name, func(t *testing.T) {
		var after *fixtures.Snapshot
		defer func() { r.original.RestoreFrom(t, after) }()
		for _, statement := range slices.Concat(w.Setup, play.prepare, []string{withJobCron}) {
			r.database.Execute(t, statement)
			if strings.Contains(statement, session.SettingUsersAsCustomers) {
				r.database.AllowUsers(t)
			}
		}
		r.now = w.Now
		site, err := r.platform.Session(t.Context())
		expect.NoError(t, err)
		before := r.original.Again(t)
		err = play.do(t.Context(), site, w.Command)
		if domain.CodeOf(err) != play.code || play.code == "" && err != nil {
			t.Fatalf("error %v, want code %q", err, play.code)
		}
		e := &expectation{T: t, RecordedWrite: w, before: before}
		r.expect(e, play.differ)
		after = before.Again(t)
		changes := fixtures.Changes(before, after)
		for _, unlike := range e.Compare(changes) {
			t.Error(unlike)
		}
		wantEntered(t, r.database, changes)
	})
}

// expect applies the differences: those of all writes where they occur, and the
// write's own, which must occur.
func (r *replayer) expect(e *expectation, own []difference) {
	e.Helper()
	plain := true
	for i, d := range slices.Concat(differencesOfAll, own) {
		before := rowsText(e)
		d.edit(e)
		if rowsText(e) != before {
			r.differences[d.name]++
			plain = false
		} else if i >= len(differencesOfAll) {
			e.Errorf("no difference any more: %s", d.name)
		}
	}
	if plain {
		r.differences[equalAnswer]++
	}
}

func rowsText(e *expectation) string {
	e.Helper()
	text, err := json.Marshal(e.Rows)
	expect.NoError(e, err)
	return string(text)
}

// drop removes rows from the expectation.
func (e *expectation) drop(which func(fixtures.Change) bool) {
	e.Rows = slices.DeleteFunc(e.Rows, which)
}

// rows returns the expected rows of a table.
func (e *expectation) rows(table string) []fixtures.Change {
	return slices.DeleteFunc(slices.Clone(e.Rows), func(row fixtures.Change) bool { return row.Table != table })
}

// replace replaces texts within all values.
func (e *expectation) replace(oldnew ...string) {
	replacer := strings.NewReplacer(oldnew...)
	for _, row := range e.Rows {
		for column, value := range row.Values {
			if text, ok := value.(string); ok {
				row.Values[column] = replacer.Replace(text)
			}
		}
		for column, values := range row.Changed {
			if text, ok := values[1].(string); ok {
				row.Changed[column] = [2]any{values[0], replacer.Replace(text)}
			}
		}
	}
}

// replaceTexts returns a difference in some texts.
func replaceTexts(name string, oldnew ...string) difference {
	return difference{name, func(e *expectation) { e.replace(oldnew...) }}
}

// writesNothing returns the difference that nothing is written, where that is allowed.
func writesNothing(name string) difference {
	return difference{name, func(e *expectation) { e.Rows = nil }}
}

// queuedMessages: the plugin sends while it works; we leave sending to the site's next job run.
const queuedMessages = "messages are queued for the site to send"

// checkoutPrices: the forms were posted without JavaScript, and so without what it makes of prices.
const checkoutPrices = "prices are as a visitor's checkout writes them"

// postedIDs are ids that come from a form to the plugin, as numbers.
var postedIDs = regexp.MustCompile(`"(agent_id|service_id)":(\d+)`)

// withJobCron makes the site send what is due in its cron.
const withJobCron = `INSERT INTO wp_options (option_name, option_value) VALUES
	('cron', 'a:1:{i:1795000000;a:1:{s:32:"latepoint_process_scheduled_jobs";a:0:{}}}')`

// differencesOfAll are the differences that may occur in every write.
var differencesOfAll = []difference{
	{"sent messages are recorded by the sender", func(e *expectation) {
		e.drop(func(row fixtures.Change) bool {
			return row.Table == "latepoint_activities" && (row.Values["code"] == "email_sent" || row.Values["code"] == "process_job_run")
		})
	}},
	{queuedMessages, func(e *expectation) {
		for _, row := range e.rows("latepoint_process_jobs") {
			if row.Op == "insert" {
				row.Values["process_id"], row.Values["object_model_type"], row.Values["status"], row.Values["run_result"] = "0", "n/a", "scheduled", nil
			}
		}
	}},
	{"the settings of a message about a change have ids as texts", func(e *expectation) {
		for _, row := range e.rows("latepoint_process_jobs") {
			if info, _ := row.Values["process_info"].(string); strings.Contains(info, "booking_updated") {
				row.Values["settings"] = postedIDs.ReplaceAllString(row.Values["settings"].(string), `"$1":"$2"`)
			}
		}
	}},
	{checkoutPrices, func(e *expectation) { e.UseCheckoutPrices() }},
	{"no user of the site is logged in", func(e *expectation) {
		for _, row := range e.rows("latepoint_activities") {
			row.Values["initiated_by"], row.Values["initiated_by_id"] = "", "0"
		}
	}},
}

// wantDifferences is how many writes have each difference; the writes without any are equal.
var wantDifferences = map[string]int{
	"a blocked customer cannot book":                              1,
	"a booking is approved unless a status is sent":               2,
	"a booking that ends at midnight ends on that day":            1,
	"a booking that starts at midnight has its instants":          1,
	"a new customer with a known e-mail address is that customer": 1,
	"a deleted booking gets no new keys":                          3,
	"a status transition outside the contract is rejected":        3,
	"a new service brings its duration and buffers":               1,
	"a time outside working hours is rejected":                    1,
	"an occupied time is rejected":                                1,
	"an order follows its only booking to another customer":       1,
	"a payment goes to another customer with its order":           2,
	checkoutPrices:        26,
	queuedMessages:        52,
	noMail.name:           1,
	bookingUnchanged.name: 1,
	"the settings of a message about a change have ids as texts":               11,
	"no user of the site is logged in":                                         56,
	"notes lose their tags":                                                    1,
	"the activity log has the old note":                                        1,
	"a time that the clock skips is rejected":                                  1,
	"the activity log has the first of two hours of the day the clock changes": 1,
	"the price breakdown names the new service":                                2,
	"the activity log has an order's items before and after":                   2,
	"the order item's data follows its booking":                                19,
	"a guest's password hash matches no password":                              4,
	"unchanged records are not written":                                        10,
	"the activity log has values of the database as texts":                     1,
	"sent messages are recorded by the sender":                                 52,
	equalAnswer: 7,
}

// notReplayed are the other recorded writes, with the reason.
var notReplayed = because(map[string]string{
	"the public form goes through carts and order intents":        "create_public_flow create_public_flow_new_customer create_public_flow_taken",
	"the abilities of WordPress leave columns empty":              "create_by_ability update_booking_ability order_ability_update agent_disable_ability location_disable_ability",
	"the same as status_pending_to_approved, without the history": "status_by_model_no_hook",
	"the same as notes_order_form and change_customer_order_form": "notes_order_model change_customer_order_model",
	"meta of bookings is only read":                               "booking_meta_set",
	"only bookings are deleted, and payments":                     "delete_order delete_order_two_items delete_customer service_delete",
	"agents and locations are only read":                          "agent_disable location_disable",
	"a payment's, not a booking's":                                "transaction_create transaction_create_full_intent transaction_create_partial_intent transaction_create_processing transaction_create_failed transaction_create_refund_kind transaction_create_comma_amount transaction_in_order_form_new transaction_update_order_form transaction_update_failed_in_form transaction_update_model transaction_delete transaction_refund_flow",
	"an order's, not a booking's":                                 "order_totals_form order_totals_model order_status_completed order_status_cancelled order_payment_status order_status_model",
	"an invoice's, not a booking's":                               "invoice_status_paid invoice_status_void invoice_status_uncollectible invoice_status_draft invoice_status_partially_paid invoice_status_paid_to_open invoice_status_same invoice_data",
	"a customer's, not a booking's":                               "customer_create_guest customer_create_full customer_create_no_email customer_create_bad_email customer_create_duplicate_email customer_create_wpusers_on customer_create_wpusers_on_admin_unknown customer_create_registered_model customer_create_registered_wp_user customer_link_existing_wp_user customer_link_admin_refused customer_update_phone customer_update_email_linked customer_update_email_linked_wpusers_on customer_update_email_model_linked customer_update_email_taken customer_update_email_empty customer_update_nothing customer_update_names customer_block customer_block_by_form customer_set_guest customer_password customer_cf_set_new customer_cf_change customer_cf_empty customer_cf_zero customer_cf_delete",
	"a service's, not a booking's":                                "service_create_form service_create_form_agents service_create_minimal service_create_no_name service_update_form service_update_model",
})

// because turns a map of reasons with their writes into one of writes with their reason.
func because(reasons map[string]string) map[string]string {
	writes := map[string]string{}
	for reason, names := range reasons {
		for name := range strings.FieldsSeq(names) {
			writes[name] = reason
		}
	}
	return writes
}
