package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// jobCron makes the site run its jobs.
const jobCron = `INSERT INTO wp_options (option_name, option_value) VALUES ('cron', 'a:1:{i:1795000000;a:1:{s:32:"latepoint_process_scheduled_jobs";a:0:{}}}')`

// condition is a condition of an automation.
type condition struct{ event, property, operator, value string }

// automation returns the statement that adds an automation with the condition, which sends a mail to the
// customer and is named after the condition.
func (c condition) automation() string {
	return fmt.Sprintf(`INSERT INTO wp_latepoint_processes (name, event_type, status, actions_json) VALUES ('%s', '%s', 'active',
		'[{"type":"group","trigger_condition":{"property":"%s"},"items":[{"type":"trigger_condition_branch","settings":{"operator":"%s","value":"%s"},"items":[{"type":"group","trigger_condition":false,
		"items":[{"type":"action","id":"pa_20","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{customer_email}}","subject":"S","content":"C"}}}]}]}],"time_offset":[]}]')`,
		c.name(), c.event, c.property, c.operator, c.value)
}

func (c condition) name() string {
	return fmt.Sprintf("%s: %s %s (%s)", c.event, c.property, c.operator, c.value)
}

// TestConditionsOfTheWorkflowForm: each condition that LatePoint's form offers for an event is true and
// false when it should be, for records that the API writes.
func TestConditionsOfTheWorkflowForm(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, jobCron)
	created := s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	booking := fmt.Sprintf("/bookings/%v", created.at("data", "id"))
	order := fmt.Sprint(s.get(booking).want(http.StatusOK).at("data", "order", "id"))

	for _, step := range []struct {
		name               string
		method, path, body string
		yes, no            []condition
	}{
		{
			name: "a booking is created", method: http.MethodPost, path: "/bookings", body: friday("start_date", `"2027-02-08"`),
			yes: []condition{
				{"booking_created", "booking__service_id", "equal", "3,4"},
				{"booking_created", "booking__agent_id", "equal", "5"},
				{"booking_created", "booking__status", "equal", "approved"},
				{"booking_created", "booking__order_item_counts", "equal", "1"},
				{"order_created", "order__status", "equal", "open"},
				{"order_created", "order__fulfillment_status", "equal", "not_fulfilled"},
				{"order_created", "order__payment_status", "equal", "not_paid"},
				{"order_created", "order__order_item_counts", "less_or_equal", "1"},
				{"booking_created", "order__status", "equal", "cancelled"}, // the event has no order
			},
			no: []condition{
				{"booking_created", "booking__service_id", "equal", "3"},
				{"booking_created", "booking__agent_id", "not_equal", "5"},
				{"booking_created", "booking__status", "equal", "pending"},
				{"booking_created", "booking__order_item_counts", "greater_than", "1"},
				{"order_created", "order__payment_status", "not_equal", "not_paid"},
			},
		},
		{
			name: "a booking is moved", method: http.MethodPut, path: booking, body: `{"start_time":"13:00","send_notification":true}`,
			yes: []condition{
				{"booking_updated", "old_booking__start_datetime_utc", "changed", ""},
				{"booking_updated", "old_booking__service_id", "equal", "4"},
				{"booking_updated", "old_booking__agent_id", "equal", "5"},
				{"booking_updated", "old_booking__order_item_counts", "not_equal", "1"}, // NULL in the plugin
			},
			no: []condition{
				{"booking_updated", "old_booking__status", "changed", ""},
				{"booking_updated", "old_booking__start_datetime_utc", "not_changed", ""}, // never true in the plugin
				{"booking_updated", "old_booking__order_item_counts", "equal", "1"},
			},
		},
		{
			name: "a booking is cancelled", method: http.MethodPut, path: booking, body: `{"status":"cancelled","send_notification":true}`,
			yes: []condition{
				{"booking_updated", "old_booking__status", "changed", ""},
				{"booking_updated", "old_booking__status", "equal", "approved"},
				{"booking_updated", "booking__status", "equal", "cancelled"},
			},
			no: []condition{
				{"booking_updated", "old_booking__start_datetime_utc", "changed", ""},
				{"booking_updated", "old_booking__status", "not_equal", "approved"},
			},
		},
		{
			name: "an order is updated", method: http.MethodPut, path: "/orders/" + order, body: `{"status":"completed","send_notification":true}`,
			yes: []condition{
				{"order_updated", "old_order__status", "changed", ""},
				{"order_updated", "old_order__status", "equal", "open"},
				{"order_updated", "old_order__fulfillment_status", "equal", "not_fulfilled"},
				{"order_updated", "old_order__payment_status", "equal", "not_paid"},
				{"order_updated", "old_order__order_item_counts", "not_equal", "1"}, // NULL in the plugin
				{"order_updated", "order__status", "equal", "completed"},
			},
			no: []condition{
				{"order_updated", "old_order__fulfillment_status", "changed", ""},
				{"order_updated", "old_order__payment_status", "not_equal", "not_paid"},
				{"order_updated", "old_order__order_item_counts", "equal", "1"},
			},
		},
		{
			name: "a payment is created", method: http.MethodPost, path: "/payments",
			body: `{"order_id":` + order + `,"amount":5,"payment_method":"card","processor":"stripe","payment_portion":"deposit","kind":"capture"}`,
			yes: []condition{
				{"transaction_created", "transaction__payment_method", "equal", "card"},
				{"transaction_created", "transaction__payment_portion", "equal", "deposit,remaining"},
				{"transaction_created", "transaction__kind", "equal", "capture"},
			},
			no: []condition{
				{"transaction_created", "transaction__payment_method", "equal", "cash"},
				{"transaction_created", "transaction__payment_portion", "not_equal", "deposit"},
				{"transaction_created", "transaction__kind", "equal", "authorization"},
			},
		},
	} {
		s.database.Execute(t, "DELETE FROM wp_latepoint_processes", "DELETE FROM wp_latepoint_process_jobs")
		want := map[string]bool{}
		for _, c := range step.yes {
			s.database.Execute(t, c.automation())
			want[c.name()] = true
		}
		for _, c := range step.no {
			s.database.Execute(t, c.automation())
		}
		if a := s.write(step.method, step.path, step.body); a.status/100 != 2 {
			t.Fatalf("%s: %d %s", step.name, a.status, a.body)
		}
		if diff := cmp.Diff(want, queuedProcesses(t, s.database)); diff != "" {
			t.Errorf("%s: automations with a job (-want +got):\n%s", step.name, diff)
		}
	}
}

// queuedProcesses returns the names of the automations with a job.
func queuedProcesses(t *testing.T, d *fixtures.Database) map[string]bool {
	t.Helper()
	rows, err := d.SQL.QueryContext(t.Context(), "SELECT JSON_UNQUOTE(JSON_EXTRACT(process_info, '$.name')) FROM wp_latepoint_process_jobs")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}
