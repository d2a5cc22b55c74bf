package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestRecordedCustomerWrites repeats the customer writes recorded on a real site, as
// TestRecordedWrites does for bookings.
func TestRecordedCustomerWrites(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	differences := map[string]int{}
	r := newReplayer(t, fixtures.SiteA(), differences)
	seen := map[string]bool{}
	for _, w := range fixtures.RecordedWrites(t) {
		play, ok := customerReplays[w.Name]
		switch {
		case ok:
			seen[w.Name] = true
			r.replay(w, play)
		case strings.HasPrefix(w.Name, "customer_") && customersNotReplayed[w.Name] == "":
			t.Errorf("%s: neither replayed nor skipped", w.Name)
		}
	}
	for name := range customerReplays {
		if !seen[name] {
			t.Errorf("%s: not recorded", name)
		}
	}
	want := map[string]int{
		noPassword.name:                    7,
		activeByDefault.name:               4,
		sentStatus.name:                    2,
		emptyNotes.name:                    6,
		idNumberInActivity.name:            1,
		metaChangesCustomer.name:           5,
		zeroValue.name:                     1,
		userStays.name:                     1,
		bookingsDeletedFirst.name:          1,
		"no user of the site is logged in": 13,
		equalAnswer:                        7,
	}
	expect.Equal(t, want, differences, "writes by difference")
}

var customersNotReplayed = because(map[string]string{
	"what the plugin does for the administrator who is logged in": "customer_create_wpusers_on_admin_unknown",
	"passwords are not written":                                   "customer_password",
})

// newGuestDifferences are the differences of every new customer.
var newGuestDifferences = []difference{noPassword, emptyNotes, activeByDefault}

// newCustomerDifferences are those of a customer created with a status.
var newCustomerDifferences = []difference{noPassword, emptyNotes}

// recordedMetaIDs gives rows of the setup their recorded ids, which earlier replays may have used up.
const recordedMetaIDs = `UPDATE wp_latepoint_customer_meta AS m
	JOIN (SELECT MIN(id) AS first FROM wp_latepoint_customer_meta WHERE created_at = '2026-10-01 10:00:00') AS n
	SET m.id = m.id - n.first + 332 WHERE m.created_at = '2026-10-01 10:00:00'`

// customerReplays are the recorded writes of customers.
var customerReplays = map[string]replay{
	"customer_create_guest":              {do: createCustomer, differ: newGuestDifferences},
	"customer_create_full":               {do: createCustomer, differ: []difference{noPassword, sentStatus}},
	"customer_create_no_email":           {do: createCustomer, code: domain.CodeValidationFailed},
	"customer_create_bad_email":          {do: createCustomer, code: domain.CodeValidationFailed},
	"customer_create_duplicate_email":    {do: createCustomer, code: domain.CodeValidationFailed},
	"customer_create_wpusers_on":         {do: createCustomer, differ: newGuestDifferences},
	"customer_create_registered_model":   {do: createCustomer, differ: newCustomerDifferences},
	"customer_create_registered_wp_user": {do: createCustomer, differ: newCustomerDifferences},
	"customer_link_existing_wp_user":     {do: createCustomer, differ: newGuestDifferences},
	"customer_link_admin_refused":        {do: createCustomer, differ: newGuestDifferences},

	"customer_update_phone":                   {do: changeCustomer},
	"customer_update_email_linked":            {do: changeCustomer, differ: []difference{userStays}},
	"customer_update_email_linked_wpusers_on": {do: changeCustomer},
	"customer_update_email_model_linked":      {do: changeCustomer, differ: []difference{idNumberInActivity}},
	"customer_update_email_taken":             {do: changeCustomer, code: domain.CodeValidationFailed},
	"customer_update_email_empty":             {do: changeCustomer, code: domain.CodeValidationFailed},
	"customer_update_nothing":                 {do: changeCustomer},
	"customer_update_names":                   {do: changeCustomer},
	"customer_block":                          {do: changeCustomer},
	"customer_block_by_form":                  {do: changeCustomer, differ: []difference{sentStatus}},
	"customer_set_guest": {do: func(ctx context.Context, s *session.Session, _ json.RawMessage) error {
		_, err := txUpdate(ctx, s, customers.Update, 5, customers.Patch{IsGuest: new(true)})
		return err
	}},

	"customer_cf_set_new": {do: changeCustomFields, differ: []difference{metaChangesCustomer}},
	"customer_cf_change":  {do: changeCustomFields, prepare: []string{recordedMetaIDs}, differ: []difference{metaChangesCustomer}},
	"customer_cf_empty":   {do: changeCustomFields, prepare: []string{recordedMetaIDs}, differ: []difference{metaChangesCustomer}},
	"customer_cf_zero":    {do: changeCustomFields, prepare: []string{recordedMetaIDs}, differ: []difference{metaChangesCustomer, zeroValue}},
	"customer_cf_delete":  {do: changeCustomFields, prepare: []string{recordedMetaIDs}, differ: []difference{metaChangesCustomer}},

	"delete_customer": {
		do: func(ctx context.Context, s *session.Session, _ json.RawMessage) error {
			return txDelete(ctx, s, customers.Delete, 268)
		},
		prepare: []string{
			"DELETE FROM wp_latepoint_booking_meta WHERE object_id IN (SELECT id FROM wp_latepoint_bookings WHERE customer_id = 268)",
			"DELETE FROM wp_latepoint_bookings WHERE customer_id = 268",
			"UPDATE wp_latepoint_transactions SET status = 'failed' WHERE customer_id = 268",
		},
		differ: []difference{bookingsDeletedFirst},
	},
}

// The differences of customers.
var (
	noPassword = replaceTexts("a new customer's password hash matches no password",
		"<wp_hash:customer.password:1>", "<phpass:customer.password:1>")
	emptyNotes = difference{"a missing note is an empty text", func(e *expectation) {
		for _, row := range e.rows("latepoint_customers") {
			row.Values["notes"], row.Values["admin_notes"] = "", ""
		}
	}}
	activeByDefault = difference{"a customer is active unless a status is sent", func(e *expectation) {
		e.rows("latepoint_customers")[0].Values["status"] = "active"
	}}
	sentStatus = difference{"a status that is sent is stored", func(e *expectation) {
		switch row := e.rows("latepoint_customers")[0]; row.Op {
		case fixtures.Insert:
			row.Values["status"] = "active"
		default:
			row.Changed["status"] = [2]any{"active", "blocked"}
		}
	}}
	idNumberInActivity  = replaceTexts("the activity log has a changed customer's id as a number", `"new":{"id":"5"`, `"new":{"id":5`)
	metaChangesCustomer = difference{"a custom field that changes is a change of the customer", func(e *expectation) {
		key := fmt.Sprint(e.commandID())
		stored := e.before.Row("latepoint_customers", key)["updated_at"]
		e.Rows = append(e.Rows, fixtures.Change{Table: "latepoint_customers", Op: fixtures.Update, Key: key, Changed: map[string][2]any{"updated_at": {stored, "<now_utc>"}}})
	}}
	zeroValue = difference{"zero is a value", func(e *expectation) {
		for i := range e.Rows {
			if row := &e.Rows[i]; row.Op == fixtures.Delete {
				row.Op, row.Values = fixtures.Update, nil
				row.Changed = map[string][2]any{"meta_value": {"1980-02-03", "0"}, "updated_at": {"2026-10-01 10:00:00", "<now_utc>"}}
			}
		}
	}}
	userStays = difference{"a user of the site stays as it is where customers are no users", func(e *expectation) {
		e.drop(func(row fixtures.Change) bool { return row.Table == "users" })
	}}
	// Their payments also stop being successful.
	bookingsDeletedFirst = difference{"bookings are deleted before their customer", func(e *expectation) {
		e.drop(func(row fixtures.Change) bool { return strings.HasPrefix(row.Table, "latepoint_booking") })
		for _, row := range e.rows("latepoint_transactions") {
			row.Values["status"] = "failed"
		}
	}}
)

func (e *expectation) commandID() int64 {
	e.Helper()
	var command struct {
		ID int64 `json:"id"`
	}
	expect.NoError(e, json.Unmarshal(e.Command, &command))
	return command.ID
}

// customerCommand is a customer as the recorder names its fields, from a form or a model.
type customerCommand struct {
	ID            int64           `json:"id"`
	Customer, Set json.RawMessage // fields
}

func (c customerCommand) values() (id int64, v customers.Patch, err error) {
	var fields struct {
		commandCustomer
		ID         int64   `json:"id"`
		Status     *string `json:"status"`
		Notes      *string `json:"notes"`
		AdminNotes *string `json:"admin_notes"`
		IsGuest    *int    `json:"is_guest"`
	}
	sent := c.Customer
	if sent == nil {
		sent = c.Set
	}
	if err := json.Unmarshal(sent, &fields); err != nil {
		return 0, v, err
	}
	v = customers.Patch{CustomerFields: records.CustomerFields(fields.commandCustomer), Status: fields.Status, Notes: fields.Notes, AdminNotes: fields.AdminNotes}
	if fields.IsGuest != nil {
		v.IsGuest = new(*fields.IsGuest != 0)
	}
	return max(c.ID, fields.ID), v, nil
}

func createCustomer(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var c customerCommand
	if err := json.Unmarshal(command, &c); err != nil {
		return err
	}
	_, v, err := c.values()
	if err != nil {
		return err
	}
	_, err = txCreate(ctx, s, customers.Create, v)
	return err
}

func changeCustomer(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var c customerCommand
	if err := json.Unmarshal(command, &c); err != nil {
		return err
	}
	id, v, err := c.values()
	if err != nil {
		return err
	}
	_, err = txUpdate(ctx, s, customers.Update, id, v)
	return err
}

func changeCustomFields(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var c struct {
		ID  int64              `json:"id"`
		Set map[string]*string `json:"set"`
	}
	if err := json.Unmarshal(command, &c); err != nil {
		return err
	}
	fields := map[string]string{}
	for name, value := range c.Set {
		fields[name] = domain.ValueOr(value, "")
	}
	_, err := txUpdate(ctx, s, customers.Update, c.ID, customers.Patch{CustomFields: fields})
	return err
}
