package mcp

import "fmt"

// addBookings adds the tools that write.
func (s *server) addBookings() {
	add(s, tool{
		name: "book", title: "Book an appointment", uses: []string{createBookingOperation}, writes: true,
		about: "Books a time that find_free_times offers, for a customer given by customer_id or described. A described customer is found by e-mail address (by phone number on sites that tell customers apart by it), or added. " +
			"With dry_run nothing is written: the result shows the booking, who would give it and what it would cost. Use dry_run first, book only what the person has confirmed, and name the agent of the dry run then: with any agent it may be another one. " +
			"If the time is not free, the error lists free ones.",
		arguments: map[string]string{"start_date": "date", "total_attendees": "attendees"},
	}, (*call).book)
	add(s, tool{
		name: "reschedule", title: "Move an appointment", uses: []string{updateBookingOperation}, writes: true, destroys: true,
		about: "Moves a booking to another time, and to another agent if agent_id is sent. find_free_times with booking_id lists where it can go. " +
			"With dry_run nothing is written. If the time is not free, the error lists free ones.",
		arguments: map[string]string{"start_date": "date", "id": "booking_id", "reschedule_reason": "reason"},
	}, (*call).reschedule)
	add(s, tool{
		name: "cancel", title: "Cancel an appointment", uses: []string{updateBookingOperation}, writes: true, destroys: true,
		about:     "Cancels a booking; it stays on record and its time becomes free. Cancel only what the person has confirmed. With dry_run nothing is written.",
		arguments: map[string]string{"id": "booking_id", "cancellation_reason": "reason"},
	}, (*call).cancel)
	add(s, tool{
		name: "decide", title: "Approve or decline a pending appointment", uses: []string{approveOperation, declineOperation}, writes: true, destroys: true,
		about:     "Approves a booking that is pending, or declines it: then it is cancelled, and its time becomes free. Decide only what the person has confirmed. With dry_run nothing is written.",
		arguments: map[string]string{"id": "booking_id"},
	}, (*call).decide)
}

type customerDetails struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
	Phone     string `json:"phone,omitempty"`
}

type bookInput struct {
	Key        token            `json:"idempotency_key" jsonschema:"A text of your own making, 8 to 255 printable characters, one for each booking. Sent again, it repeats the answer instead of booking twice"`
	ServiceID  id               `json:"service_id"`
	AgentID    id               `json:"agent_id,omitempty" jsonschema:"Leave out for any agent"`
	LocationID id               `json:"location_id,omitempty" jsonschema:"Leave out for the site's default location"`
	Date       date             `json:"date" jsonschema:"YYYY-MM-DD"`
	StartTime  clock            `json:"start_time" jsonschema:"HH:MM"`
	Duration   count            `json:"duration,omitempty" jsonschema:"Minutes; by default the service's own"`
	Attendees  count            `json:"attendees,omitempty" jsonschema:"1 unless sent"`
	Extras     []extra          `json:"extras,omitempty" jsonschema:"Extras of the service, on sites that have them"`
	CouponCode string           `json:"coupon_code,omitempty" jsonschema:"On sites that have coupons"`
	Fields     map[string]any   `json:"custom_fields,omitempty" jsonschema:"Custom fields of the booking by id, if the site has some; an error names those that it requires"`
	CustomerID id               `json:"customer_id,omitempty" jsonschema:"Who books, if known; else send customer"`
	Customer   *customerDetails `json:"customer,omitzero" jsonschema:"Who books, if there is no customer_id"`
	Notes      string           `json:"notes,omitempty" jsonschema:"What the customer wants the staff to know"`
	Silent     bool             `json:"without_confirmation,omitempty" jsonschema:"Send no confirmation to the customer"`
	DryRun     bool             `json:"dry_run,omitempty" jsonschema:"Only say what would happen and what it would cost"`
}

// sentBookingFields is the body of operations that write bookings.
type sentBookingFields struct {
	ServiceID  id               `json:"service_id,omitempty"`
	AgentID    any              `json:"agent_id,omitempty"`
	LocationID id               `json:"location_id,omitempty"`
	Date       date             `json:"start_date,omitempty"`
	StartTime  clock            `json:"start_time,omitempty"`
	Duration   count            `json:"duration,omitempty"`
	Attendees  count            `json:"total_attendees,omitempty"`
	Extras     []extra          `json:"extras,omitempty"`
	CouponCode string           `json:"coupon_code,omitempty"`
	Fields     map[string]any   `json:"custom_fields,omitempty"`
	CustomerID id               `json:"customer_id,omitempty"`
	Customer   *customerDetails `json:"customer,omitempty"`
	Notes      string           `json:"notes,omitempty"`
	Status     string           `json:"status,omitempty"`

	CancellationReason string `json:"cancellation_reason,omitempty"`
	RescheduleReason   string `json:"reschedule_reason,omitempty"`

	Confirm *bool `json:"send_confirmation,omitempty"`
	Notify  bool  `json:"send_notification,omitempty"`
	DryRun  bool  `json:"dry_run,omitempty"`
}

type bookOutput struct {
	now
	written
	OrderTotal string `json:"order_total,omitempty" jsonschema:"What the whole order costs, with taxes and discounts"`
	Confirmed  bool   `json:"confirmation_sent" jsonschema:"Whether a confirmation goes to the customer"`
}

// written is a booking after a write.
type written struct {
	Done     bool     `json:"done" jsonschema:"false after dry_run: nothing was written"`
	Repeated bool     `json:"repeated,omitempty" jsonschema:"An earlier call with the same idempotency_key did this; nothing happened twice"`
	Booking  booking  `json:"booking"`
	Warnings []string `json:"warnings,omitempty" jsonschema:"What speaks against it: tell the person"`
}

func (c *call) book(in bookInput) (out bookOutput, brief string, err error) {
	if (in.CustomerID == 0) == (in.Customer == nil) {
		return out, "", &problem{Code: "invalid_arguments", Message: "Send either customer_id or customer", TryNext: "Find the customer_id with find_customer, or ask the person for first name, last name and e-mail address."}
	}
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	confirm := !in.Silent
	body := sentBookingFields{
		ServiceID: in.ServiceID, AgentID: in.AgentID.orAny(), LocationID: in.LocationID, Date: in.Date, StartTime: in.StartTime, Duration: in.Duration, Attendees: in.Attendees,
		Extras: in.Extras, CouponCode: in.CouponCode, Fields: in.Fields, CustomerID: in.CustomerID, Customer: in.Customer, Notes: in.Notes, Confirm: &confirm, DryRun: in.DryRun,
	}
	slot := slotArguments{ServiceID: in.ServiceID, AgentID: in.AgentID, LocationID: in.LocationID, Duration: in.Duration, AnyDuration: true, Attendees: in.Attendees, Extras: in.Extras}
	answer, err := c.Call(Call{Operation: createBookingOperation, Body: body, IdempotencyKey: string(in.Key)})
	if err != nil {
		return out, "", c.unavailable(err, in.Date, slot)
	}
	var made struct {
		single[sentBooking]
		Confirmed bool `json:"confirmation_sent"`
	}
	if err := decode(answer, &made); err != nil {
		return out, "", err
	}
	out.written, out.OrderTotal, out.Confirmed = written{!in.DryRun, answer.Replayed, made.Data.short(), answer.Warnings}, made.Data.total(), made.Confirmed
	if in.DryRun {
		return out, "Possible, nothing was written: " + out.Booking.brief() + ".", nil
	}
	return out, fmt.Sprintf("Booked as number %d: %s.", out.Booking.ID, out.Booking.brief()), nil
}

type rescheduleInput struct {
	Key       token          `json:"idempotency_key" jsonschema:"A text of your own making, 8 to 255 printable characters, one for each move. Sent again, it repeats the answer instead of moving twice"`
	BookingID id             `json:"booking_id"`
	Date      date           `json:"date" jsonschema:"YYYY-MM-DD"`
	StartTime clock          `json:"start_time" jsonschema:"HH:MM"`
	AgentID   id             `json:"agent_id,omitempty" jsonschema:"Leave out to keep the agent"`
	Fields    map[string]any `json:"custom_fields,omitempty" jsonschema:"Custom fields of the booking by id, if an error names some that it lacks"`
	Reason    string         `json:"reason,omitempty" jsonschema:"Why the person moves it, in their words, on sites that ask for it"`
	Notify    bool           `json:"send_notification,omitempty" jsonschema:"Tell the customer, as the site's workflows say"`
	DryRun    bool           `json:"dry_run,omitempty" jsonschema:"Only say what would happen"`
}

type writtenOutput struct {
	now
	written
}

func (c *call) reschedule(in rescheduleInput) (out writtenOutput, brief string, err error) {
	body := sentBookingFields{Date: in.Date, StartTime: in.StartTime, RescheduleReason: in.Reason, Fields: in.Fields, Notify: in.Notify, DryRun: in.DryRun}
	if in.AgentID != 0 {
		body.AgentID = int64(in.AgentID)
	}
	if out, err = c.update(in.BookingID, body, in.Key); err != nil {
		return out, "", c.unavailable(err, in.Date, slotArguments{BookingID: in.BookingID, AgentID: in.AgentID})
	}
	if in.DryRun {
		return out, "Possible, nothing was written: " + out.Booking.brief() + ".", nil
	}
	return out, fmt.Sprintf("Moved number %d: now %s.", out.Booking.ID, out.Booking.brief()), nil
}

type cancelInput struct {
	BookingID id     `json:"booking_id"`
	Reason    string `json:"reason,omitempty" jsonschema:"Why the person cancels it, in their words, on sites that ask for it"`
	Notify    bool   `json:"send_notification,omitempty" jsonschema:"Tell the customer, as the site's workflows say"`
	DryRun    bool   `json:"dry_run,omitempty" jsonschema:"Only say what would happen"`
}

func (c *call) cancel(in cancelInput) (out writtenOutput, brief string, err error) {
	if out, err = c.update(in.BookingID, sentBookingFields{Status: "cancelled", CancellationReason: in.Reason, Notify: in.Notify, DryRun: in.DryRun}, ""); err != nil {
		return out, "", err
	}
	if in.DryRun {
		return out, "Can be cancelled, nothing was written: " + out.Booking.brief() + ".", nil
	}
	return out, fmt.Sprintf("Cancelled number %d: %s.", out.Booking.ID, out.Booking.brief()), nil
}

func (c *call) update(id id, body sentBookingFields, key token) (out writtenOutput, err error) {
	if out.now, err = c.now(); err != nil {
		return out, err
	}
	out.written, err = c.changed(Call{Operation: updateBookingOperation, ID: int64(id), Body: body, IdempotencyKey: string(key)}, body.DryRun)
	return out, err
}

// changed calls an operation that changes a booking.
func (c *call) changed(operation Call, dryRun bool) (written, error) {
	answer, err := c.Call(operation)
	if err != nil {
		return written{}, err
	}
	var changed single[sentBooking]
	if err := decode(answer, &changed); err != nil {
		return written{}, err
	}
	return written{!dryRun, answer.Replayed, changed.Data.short(), answer.Warnings}, nil
}

type decideInput struct {
	BookingID id     `json:"booking_id"`
	Approve   bool   `json:"approve" jsonschema:"true approves, false declines"`
	Reason    string `json:"reason,omitempty" jsonschema:"Why, on sites that ask for it"`
	Notify    bool   `json:"send_notification,omitempty" jsonschema:"Tell the customer, as the site's workflows say"`
	DryRun    bool   `json:"dry_run,omitempty" jsonschema:"Only say what would happen"`
}

// sentMove is the body of operations that only change a booking's status.
type sentMove struct {
	Reason string `json:"reason,omitempty"`
	Notify bool   `json:"send_notification,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
}

func (c *call) decide(in decideInput) (out writtenOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	operation, done := declineOperation, "Declined"
	if in.Approve {
		operation, done = approveOperation, "Approved"
	}
	out.written, err = c.changed(Call{Operation: operation, ID: int64(in.BookingID), Body: sentMove{in.Reason, in.Notify, in.DryRun}}, in.DryRun)
	if err != nil {
		return out, "", err
	}
	if in.DryRun {
		return out, "Possible, nothing was written: " + out.Booking.brief() + ".", nil
	}
	return out, fmt.Sprintf("%s number %d: %s.", done, out.Booking.ID, out.Booking.brief()), nil
}
