package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
)

// allDay opens every location at every hour, past midnight too; emptyDay leaves a single booking.
const allDay = "UPDATE wp_latepoint_work_periods SET start_time = 0, end_time = 2880"

func emptyDay(day string, but int64) string {
	return fmt.Sprintf("DELETE FROM wp_latepoint_bookings WHERE start_date = '%s' AND id <> %d", day, but)
}

// bookingReplays are the recorded writes of bookings.
var bookingReplays = map[string]replay{
	"create_new_customer":              {do: placeBooking, differ: []difference{guestPassword}},
	"create_existing_customer":         {do: placeBooking, prepare: []string{allDay}},
	"create_existing_customer_blocked": {do: placeBooking, code: domain.CodeValidationFailed, differ: []difference{blockedCustomer}},
	"create_existing_email_as_new":     {do: placeBooking, differ: []difference{customerByEmail}},
	"create_status_pending":            {do: placeBooking, differ: []difference{guestPassword}},
	"create_status_cancelled":          {do: placeBooking},
	"create_default_status_override":   {do: placeBooking, differ: []difference{approvedByDefault}},
	"create_any_agent_busy_low":        {do: placeBooking, differ: []difference{guestPassword}},
	"create_any_agent_busy_high":       {do: placeBooking, allBookings: true},
	"create_any_agent_none_free":       {do: placeBooking, code: domain.CodeSlotUnavailable},
	"create_group_second_attendee":     {do: placeBooking},
	"create_custom_duration":           {do: placeBooking, prepare: []string{emptyDay("2026-12-15", 0)}},
	"create_unlisted_duration":         {do: placeBooking, prepare: []string{emptyDay("2026-12-15", 0)}},
	"create_location_omitted":          {do: placeBooking},
	"create_free_service":              {do: placeBooking},
	"create_end_of_day":                {do: placeBooking, prepare: []string{allDay}, differ: []difference{endAtMidnight}},
	"create_over_midnight":             {do: placeBooking, prepare: []string{allDay}, differ: []difference{approvedByDefault}},
	"create_at_midnight":               {do: placeBooking, prepare: []string{allDay}, differ: []difference{startAtMidnight}},
	"create_on_dst_day":                {do: placeBooking, prepare: []string{allDay}, code: domain.CodeValidationFailed, differ: []difference{skippedHour}},
	"create_on_autumn_dst_day":         {do: placeBooking, prepare: []string{allDay}, differ: []difference{autumnClock}},
	"create_notes_special":             {do: placeBooking, differ: []difference{guestPassword, notesWithoutTags}},
	"create_unavailable_slot":          {do: placeBooking, code: domain.CodeSlotUnavailable},
	"create_unavailable_forced":        {do: placeBooking, code: domain.CodeSlotUnavailable, differ: []difference{closedTime}},
	"create_invoices_off":              {do: placeBooking},
	"create_no_mail_processor":         {do: placeBooking, differ: []difference{noMail}},
	"create_no_process":                {do: placeBooking},
	"create_ip_log_off":                {do: placeBooking},
	"create_with_deposit_service":      {do: placeBooking},
	"create_twice_same_slot":           {do: placeBookings, code: domain.CodeSlotUnavailable, differ: []difference{occupiedTime}},

	"status_pending_to_approved":         {do: changeBooking, differ: []difference{itemDataFollows}},
	"status_pending_to_cancelled":        {do: changeBooking, differ: []difference{itemDataFollows}},
	"status_approved_to_completed":       {do: changeBooking, differ: []difference{itemDataFollows}},
	"status_approved_to_cancelled":       {do: changeBooking, differ: []difference{itemDataFollows}},
	"status_approved_to_no_show":         {do: changeBooking, differ: []difference{itemDataFollows}},
	"status_cancelled_to_pending":        {do: changeBooking, differ: []difference{itemDataFollows}},
	"status_cancelled_to_approved":       {do: changeBooking, prepare: []string{emptyDay("2026-12-22", 53)}},
	"status_completed_to_cancelled":      {do: changeBooking, differ: []difference{itemDataFollows}, allBookings: true},
	"status_no_show_to_approved":         {do: changeBooking},
	"status_no_show_to_cancelled":        {do: changeBooking, differ: []difference{itemDataFollows}},
	"status_pending_to_completed":        {do: changeBooking, code: domain.CodeValidationFailed, differ: []difference{unknownTransition}},
	"status_completed_to_approved":       {do: changeBooking, code: domain.CodeValidationFailed, differ: []difference{unknownTransition}, allBookings: true},
	"status_approved_to_pending":         {do: changeBooking, code: domain.CodeValidationFailed, differ: []difference{unknownTransition}},
	"status_approved_to_approved":        {do: changeBooking},
	"status_approved_to_confirmed":       {do: changeBooking, code: domain.CodeValidationFailed},
	"status_approved_to_payment_pending": {do: changeBooking, code: domain.CodeValidationFailed},
	"status_in_order_form":               {do: saveOrderForm, differ: []difference{unchangedRows, itemDataFollows}},

	"reschedule":             {do: changeBooking, differ: []difference{itemDataFollows}},
	"reschedule_longer":      {do: changeBooking, prepare: []string{emptyDay("2026-12-17", 0)}, differ: []difference{durationTexts, itemDataFollows}},
	"reschedule_unavailable": {do: changeBooking, code: domain.CodeSlotUnavailable},
	"reschedule_order_form":  {do: saveOrderForm, prepare: []string{emptyDay("2027-01-08", 0)}, differ: []difference{unchangedRows, itemDataFollows}},

	"change_agent":                      {do: changeBooking, differ: []difference{itemDataFollows}},
	"change_agent_order_form":           {do: saveOrderForm, differ: []difference{unchangedRows, itemDataFollows}},
	"change_service_order_form":         {do: saveOrderForm, differ: []difference{breakdownLabel, orderItemHistory, unchangedRows, itemDataFollows}},
	"change_service_model":              {do: changeBooking, differ: []difference{serviceDefaults, breakdownLabel, orderItemHistory, unchangedRows, itemDataFollows}},
	"change_location_order_form":        {do: saveOrderForm, prepare: []string{allDay}, differ: []difference{unchangedRows, itemDataFollows}},
	"change_customer_order_form":        {do: saveOrderForm, differ: []difference{unchangedRows, itemDataFollows, paymentFollows}},
	"change_customer_booking_model":     {do: changeBooking, differ: []difference{orderCustomer, itemDataFollows, paymentFollows}},
	"change_customer_fields_order_form": {do: saveOrderForm, differ: []difference{unchangedRows, bookingUnchanged}},
	"attendees_order_form":              {do: saveOrderForm, differ: []difference{unchangedRows}},
	"notes_order_form":                  {do: saveOrderForm, differ: []difference{unchangedRows, oldNote}},

	"delete_booking_pending":        {do: deleteBooking, differ: []difference{noNewKeys}},
	"delete_booking_cancelled_paid": {do: deleteBooking, differ: []difference{noNewKeys}},
	"delete_booking_of_two":         {do: deleteBooking, differ: []difference{noNewKeys}},
	"delete_booking_unknown":        {do: deleteBooking, code: domain.CodeNotFound},
}

// The differences of individual writes.
var (
	guestPassword = difference{"a guest's password hash matches no password", func(e *expectation) {
		for _, row := range e.rows("latepoint_customers") {
			if row.Op == fixtures.Insert {
				row.Values["password"] = "<phpass:customer.password:1>"
			}
		}
	}}
	itemDataFollows = difference{"the order item's data follows its booking", (*expectation).updateItemData}
	unchangedRows   = difference{"unchanged records are not written", (*expectation).dropUnchangedRows}
	// The recorded booking starts at 23:00 and lasts an hour.
	endAtMidnight = replaceTexts("a booking that ends at midnight ends on that day",
		"2026-12-16 23:00:00", "2026-12-15 23:00:00", "2026-12-17T00:00:00+01:00", "2026-12-16T00:00:00+01:00")
	startAtMidnight = difference{"a booking that starts at midnight has its instants", func(e *expectation) {
		for _, row := range e.rows("latepoint_bookings") {
			row.Values["start_datetime_utc"], row.Values["end_datetime_utc"] = "2026-12-14 23:00:00", "2026-12-15 00:00:00"
		}
	}}
	skippedHour = writesNothing("a time that the clock skips is rejected")
	autumnClock = replaceTexts("the activity log has the first of two hours of the day the clock changes",
		`"start_datetime":"2027-10-31T02:30:00+01:00"`, `"start_datetime":"2027-10-31T02:30:00+02:00"`)
	approvedByDefault = difference{"a booking is approved unless a status is sent", func(e *expectation) {
		e.replace(`"status":"pending"`, `"status":"approved"`)
		e.rows("latepoint_bookings")[0].Values["status"] = records.StatusApproved
	}}
	notesWithoutTags = replaceTexts("notes lose their tags", `<b>fett<\/b>`, "fett", "<b>fett</b>", "fett")
	closedTime       = writesNothing("a time outside working hours is rejected")
	occupiedTime     = difference{"an occupied time is rejected", func(e *expectation) {
		e.drop(func(row fixtures.Change) bool {
			text := fmt.Sprint(row.Values)
			return strings.Contains(text, "<id:booking:2>") || strings.Contains(text, "<id:order:2>") ||
				row.Table == "latepoint_customers" && row.Key == "12"
		})
	}}
	unknownTransition = writesNothing("a status transition outside the contract is rejected")
	blockedCustomer   = writesNothing("a blocked customer cannot book")
	customerByEmail   = difference{"a new customer with a known e-mail address is that customer", func(e *expectation) {
		e.useRowsOf("create_existing_customer")
		e.replace("690", "600", "750", "660", "11:30", "10:00", "12:30", "11:00", "10:30", "09:00")
	}}
	orderCustomer = difference{"an order follows its only booking to another customer", func(e *expectation) {
		e.useRowsOf("change_customer_order_form")
		e.dropUnchangedRows()
	}}
	// Payment 7 belongs to the order that moves.
	paymentFollows = difference{"a payment goes to another customer with its order", func(e *expectation) {
		stored := e.before.Row("latepoint_transactions", "7")
		e.Rows = append(e.Rows, fixtures.Change{Table: "latepoint_transactions", Op: fixtures.Update, Key: "7", Changed: map[string][2]any{
			"customer_id": {"268", "12"}, "updated_at": {stored["updated_at"], "<now_utc>"},
		}})
		for _, row := range e.rows("latepoint_activities") {
			text := fmt.Sprint(row.Values["description"])
			if at := strings.Index(text, `"old":`); at > 0 {
				row.Values["description"] = strings.ReplaceAll(text[:at], `"customer_id":"268","processor"`, `"customer_id":"12","processor"`) + text[at:]
			}
		}
	}}
	serviceDefaults = difference{"a new service brings its duration and buffers", func(e *expectation) {
		e.useRowsOf("change_service_order_form")
	}}
	breakdownLabel = difference{"the price breakdown names the new service", func(e *expectation) {
		for _, row := range e.rows("latepoint_orders") {
			stored := fmt.Sprint(e.before.Row(row.Table, row.Key)["price_breakdown"])
			row.Changed["price_breakdown"] = [2]any{stored, strings.Replace(stored, `"label":"Physiotherapy"`, `"label":"Follow-up consultation"`, 1)}
		}
	}}
	orderItemHistory = difference{"the activity log has an order's items before and after", func(e *expectation) {
		for _, row := range e.rows("latepoint_activities") {
			if row.Values["code"] == "order_updated" {
				// The form recomputes prices; here a price changes only if one is sent.
				description := strings.ReplaceAll(fmt.Sprint(row.Values["description"]), "60.0000", "85.0000")
				items := regexp.MustCompile(`"order_items":\[.*?\]`).FindAllString(description, 2)
				row.Values["description"] = strings.NewReplacer(items[0], items[1], items[1], items[0]).Replace(description)
			}
		}
	}}
	durationTexts = difference{"the activity log has values of the database as texts", func(e *expectation) {
		e.durationsAsTexts()
	}}
	oldNote = difference{"the activity log has the old note", func(e *expectation) {
		for _, row := range e.rows("latepoint_activities") {
			text := fmt.Sprint(row.Values["description"])
			at := strings.Index(text, `"old":`)
			row.Values["description"] = text[:at] + strings.ReplaceAll(text[at:], `"customer_comment":"new note"`, `"customer_comment":"First time here"`)
		}
	}}
	noNewKeys = difference{"a deleted booking gets no new keys", func(e *expectation) {
		for _, row := range e.rows("latepoint_booking_meta") {
			if row.Op == fixtures.Insert {
				e.replace(fmt.Sprint(row.Values["meta_value"]), e.storedKey(fmt.Sprint(row.Values["meta_key"])))
			}
		}
		e.drop(func(row fixtures.Change) bool {
			return row.Table == "latepoint_booking_meta" && row.Op == fixtures.Insert
		})
	}}
)

// useRowsOf takes the rows of another write.
func (e *expectation) useRowsOf(name string) {
	for _, w := range fixtures.RecordedWrites(e.T) {
		if w.Name == name {
			e.Rows = w.Rows
		}
	}
	for _, d := range differencesOfAll {
		d.edit(e)
	}
}

// dropUnchangedRows removes what the order form writes in addition to the changes: every row that it shows,
// and the item's price, recomputed.
func (e *expectation) dropUnchangedRows() {
	e.drop(func(row fixtures.Change) bool {
		return row.Table == "latepoint_order_items" || row.Op == fixtures.Update && row.Table != "latepoint_bookings" && len(row.Changed) == 1
	})
	orderChanges := len(e.rows("latepoint_orders")) > 0
	bookingChanges := orderChanges
	for _, row := range e.rows("latepoint_bookings") {
		bookingChanges = bookingChanges || len(row.Changed) > 1
	}
	e.drop(func(row fixtures.Change) bool {
		switch row.Values["code"] {
		case "order_updated":
			return !orderChanges
		case "booking_updated":
			return !bookingChanges
		case "booking_change_status":
			return true
		}
		return row.Table == "latepoint_bookings" && !bookingChanges
	})
	e.replace(`"new":{"id":"268","first_name"`, `"new":{"id":268,"first_name"`)
	e.durationsAsTexts()
}

// durationsAsTexts quotes durations, which are numbers in a booking that a form has just changed.
func (e *expectation) durationsAsTexts() {
	for _, row := range e.rows("latepoint_activities") {
		if row.Values["code"] == "booking_updated" {
			text := fmt.Sprint(row.Values["description"])
			row.Values["description"] = regexp.MustCompile(`"duration":(\d+)`).ReplaceAllString(text, `"duration":"$1"`)
		}
	}
}

// storedKey returns a key of the booking being deleted.
func (e *expectation) storedKey(name string) string {
	for _, row := range e.rows("latepoint_booking_meta") {
		if row.Op == fixtures.Delete && row.Values["meta_key"] == name {
			return fmt.Sprint(e.before.Row(row.Table, row.Key)["meta_value"])
		}
	}
	return ""
}

// updateItemData expects the item data of a changed booking to change likewise.
func (e *expectation) updateItemData() {
	for _, row := range e.rows("latepoint_bookings") {
		key := fmt.Sprint(e.before.Row(row.Table, row.Key)["order_item_id"])
		item := e.before.Row("latepoint_order_items", key)
		data := fmt.Sprint(item["item_data"])
		for column, values := range row.Changed {
			value := regexp.MustCompile(`"` + column + `":("?)[^",}]*("?)`)
			data = value.ReplaceAllString(data, `"`+column+`":${1}`+fmt.Sprint(values[1])+`${2}`)
		}
		if data != item["item_data"] {
			e.Rows = append(e.Rows, fixtures.Change{Table: "latepoint_order_items", Op: fixtures.Update, Key: key, Changed: map[string][2]any{
				"item_data": {item["item_data"], data}, "updated_at": {item["updated_at"], "<now_utc>"},
			}})
		}
	}
}

// commandFields are the fields of a booking as the recorder names them.
type commandFields struct {
	ID         int64           `json:"id"`
	ServiceID  *int64          `json:"service_id"`
	AgentID    json.RawMessage `json:"agent_id"`
	LocationID *int64          `json:"location_id"`
	CustomerID *int64          `json:"customer_id"`
	StartDate  *string         `json:"start_date"`
	StartTime  json.RawMessage `json:"start_time"` // minutes or HH:MM
	Duration   *int64          `json:"duration"`
	Attendees  *int64          `json:"total_attendees"`
	Status     *string         `json:"status"`
	Notes      string          `json:"notes"`
	Customer   commandCustomer `json:"customer"`
}

type commandCustomer struct {
	FirstName *string `json:"first_name"`
	LastName  *string `json:"last_name"`
	Email     *string `json:"email"`
	Phone     *string `json:"phone"`
}

func (f commandFields) day() (*availability.Day, error) {
	if f.StartDate == nil {
		return nil, nil
	}
	day, ok := availability.ParseDay(*f.StartDate)
	if !ok {
		return nil, fmt.Errorf("no day: %s", *f.StartDate)
	}
	return &day, nil
}

func (f commandFields) minutes() (*session.Minutes, error) {
	if f.StartTime == nil {
		return nil, nil
	}
	text := strings.Trim(string(f.StartTime), `"`)
	hours, minutes, clock := strings.Cut(text, ":")
	if !clock {
		hours, minutes = "0", text
	}
	h, err := strconv.Atoi(hours)
	if err != nil {
		return nil, err
	}
	m, err := strconv.Atoi(minutes)
	start := session.Minutes(h*60 + m)
	return &start, err
}

// address is where the recorder's requests came from.
const address = "127.0.0.1"

// placeBooking replays a booking made in the order form.
func placeBooking(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var f commandFields
	if err := json.Unmarshal(command, &f); err != nil {
		return err
	}
	day, err := f.day()
	if err != nil {
		return err
	}
	start, err := f.minutes()
	if err != nil {
		return err
	}
	b := bookings.New{
		ServiceID: *f.ServiceID, AgentID: anyID(f.AgentID), Start: availability.Moment{Day: *day, Minutes: *start}, Duration: f.Duration,
		Attendees: 1, Status: f.Status, Customer: records.CustomerFields(f.Customer), Notes: f.Notes, Confirm: true, Address: address,
		LocationID: f.LocationID,
	}
	if f.CustomerID != nil {
		b.CustomerID = *f.CustomerID
	}
	if f.Attendees != nil {
		b.Attendees = *f.Attendees
	}
	_, err = txCreate(ctx, s, bookings.Create, b)
	return err
}

// placeBookings replays several bookings, up to the first that fails.
func placeBookings(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var all struct {
		Items []json.RawMessage `json:"items"`
	}
	err := json.Unmarshal(command, &all)
	for i := 0; i < len(all.Items) && err == nil; i++ {
		err = placeBooking(ctx, s, all.Items[i])
	}
	return err
}

// changeBooking replays a change of one booking alone.
func changeBooking(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var c struct {
		commandFields
		Set commandFields `json:"set"` // of the booking's model
	}
	if err := json.Unmarshal(command, &c); err != nil {
		return err
	}
	fields := c.commandFields
	if fields.Status == nil && fields.StartDate == nil {
		fields = c.Set
	}
	return patchBooking(ctx, s, c.ID, fields, nil)
}

// saveOrderForm replays a change in the order form. The recorded orders have one
// booking, of the same id.
func saveOrderForm(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var form struct {
		OrderID  int64                   `json:"order_id"`
		Bookings map[int64]commandFields `json:"bookings"`
		Customer commandCustomer         `json:"customer"`
		Order    struct {
			CustomerID *int64  `json:"customer_id"`
			Comment    *string `json:"customer_comment"`
		} `json:"order"`
	}
	if err := json.Unmarshal(command, &form); err != nil {
		return err
	}
	fields := form.Bookings[form.OrderID]
	fields.CustomerID, fields.Customer = form.Order.CustomerID, form.Customer
	return patchBooking(ctx, s, form.OrderID, fields, form.Order.Comment)
}

func patchBooking(ctx context.Context, s *session.Session, id int64, f commandFields, notes *string) error {
	day, err := f.day()
	if err != nil {
		return err
	}
	start, err := f.minutes()
	if err != nil {
		return err
	}
	patch := bookings.Patch{
		ServiceID: f.ServiceID, LocationID: f.LocationID, CustomerID: f.CustomerID, StartDate: day, StartTime: start, Duration: f.Duration, Attendees: f.Attendees,
		Status: f.Status, Customer: records.CustomerFields(f.Customer), Notes: notes, Notify: true,
	}
	if agent := anyID(f.AgentID); agent != 0 {
		patch.AgentID = &agent
	}
	_, err = txUpdate(ctx, s, bookings.Update, id, patch)
	return err
}

func deleteBooking(ctx context.Context, s *session.Session, command json.RawMessage) error {
	var f commandFields
	if err := json.Unmarshal(command, &f); err != nil {
		return err
	}
	return s.Transact(ctx, "delete booking", func(tx *session.Tx) error { return bookings.Delete(ctx, tx, f.ID, true) })
}

// bookingUnchanged: the plugin's form saves the booking too.
var bookingUnchanged = difference{"a customer's change is none of the booking", func(e *expectation) {
	e.drop(func(row fixtures.Change) bool { return row.Table == "latepoint_process_jobs" })
}}

// noMail: on a site that sends no mail, the plugin records a failed job.
var noMail = difference{"nothing is queued where mail is off", func(e *expectation) {
	e.drop(func(row fixtures.Change) bool { return row.Table == "latepoint_process_jobs" })
}}
