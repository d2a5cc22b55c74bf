package bookings

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Created is a booking that Create created.
type Created struct {
	records.BookingDetail
	// ConfirmationSent reports whether a message to the customer was queued or sent.
	ConfirmationSent bool
}

// Create creates a booking with its order, as the plugin's order form does
// (OsOrdersController::create_or_update, LatePoint 5.6.5), but only at a time that the
// site offers to customers.
//
// If anything is wrong with the booking, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field; if the time is not available, or
// its hold is lost, a CodeSlotUnavailable. A dry run writes nothing: see draftBooking.
func Create(ctx context.Context, tx *session.Tx, b New) (Created, error) {
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return Created{}, err
	}
	plan, err := planBooking(ctx, tx, w, b)
	if err != nil {
		return Created{}, err
	}
	if b.HoldID != 0 {
		used, err := useHold(ctx, tx, b.HoldID)
		if err != nil {
			return Created{}, err
		}
		plan.slot.Lost = !used
	}
	assigned, err := plan.assign(ctx, tx)
	if err != nil {
		return Created{}, err
	}
	plan.resource = assigned.Resource
	if err := plan.fields.check(plan.resource); err != nil {
		return Created{}, err
	}
	if tx.DryRun {
		draft, err := draftBooking(ctx, tx.Session, w, plan)
		return Created{BookingDetail: draft.SeenBy(tx.AsCaller())}, err
	}
	created, err := insertBooking(ctx, tx, w, &plan)
	if err != nil {
		return Created{}, err
	}
	assigned.Exclude = append(assigned.Exclude, created.Booking.ID)
	events := []notify.Event{
		{Kind: notify.BookingCreated, After: created, NewCustomer: plan.customerIsNew},
		{Kind: notify.OrderCreated, After: created, NewCustomer: plan.customerIsNew},
	}
	if plan.customerIsNew {
		events = slices.Insert(events, 0, notify.Event{Kind: notify.CustomerCreated, After: created})
	}
	// Reads come first, so that the writes whose results nobody needs are sent together.
	confirmed, err := notify.Notify(ctx, tx, w, events, b.Confirm)
	if err != nil {
		return Created{}, err
	}
	if err := completeBooking(ctx, tx, plan, created); err != nil {
		return Created{}, err
	}
	if err := notify.LogEvents(ctx, tx, w, events); err != nil {
		return Created{}, err
	}
	detail := created.BookingDetail()
	detail.Customer = plan.shownCustomer()
	if err := records.RememberCustomer(ctx, tx, created.Booking.ID, detail.Customer); err != nil {
		return Created{}, err
	}
	return Created{BookingDetail: detail.SeenBy(tx.AsCaller()), ConfirmationSent: confirmed}, nil
}

// shownCustomer returns the customer of the new booking as the caller may see them: a limited caller, as it
// described them or, if it named an id, as it sees them.
func (plan *bookingPlan) shownCustomer() records.BookingCustomer {
	shown := plan.shown
	shown.ID = plan.customer.ID
	return shown
}

// savedCustomer is a customer whose row is sent with the next statement.
type savedCustomer struct {
	id      any              // or an expression for it in that statement
	created session.Inserted // for a new customer
	touched *wpdb.Result     // for an existing customer
}

// lastID is the id that the previous statement gave to a row.
var lastID = sq.Expr("LAST_INSERT_ID()")

// saveCustomer creates the customer of a booking, or touches the existing row, as the
// plugin does whenever an order is saved. The next statement stores the order.
func saveCustomer(ctx context.Context, tx *session.Tx, w session.WriteSettings, plan *bookingPlan) (saved savedCustomer, err error) {
	switch {
	case !plan.customerIsNew:
		saved.id = plan.customer.ID
		saved.touched, err = tx.UpdateLater(ctx, wpdb.Customers, plan.customer.ID, append(plan.filled, tx.UpdateTimestamp()))
	case w.Settings[session.SettingUsersAsCustomers] == session.On: // the customer may have a user
		plan.customer.ID, err = customers.Insert(ctx, tx, w, plan.customer, nil)
		saved.id = plan.customer.ID
	default:
		var stored session.Row
		if stored, _, err = customers.NewRow(tx.Session, plan.customer, nil); err == nil {
			saved.created, err = tx.InsertLater(ctx, wpdb.Customers, stored)
		}
		saved.id = lastID
	}
	return saved, err
}

// settleCustomer takes the result of saveCustomer.
func settleCustomer(tx *session.Tx, saved savedCustomer, plan *bookingPlan) error {
	if saved.touched != nil && saved.touched.Rows == 0 {
		return domain.InvalidField("customer_id", "Customer not found")
	}
	id, err := tx.Settle(saved.created)
	if id != 0 {
		plan.customer.ID = id
	}
	return err
}

// insertBooking writes customer, order, order item and booking, and the order's keys and invoice. Rows are
// sent together with the row whose id they need, and rows that only need known ids are sent with the
// booking; completeBooking writes what needs the booking's own id.
func insertBooking(ctx context.Context, tx *session.Tx, w session.WriteSettings, plan *bookingPlan) (notify.Snapshot, error) {
	breakdown := plan.charged.breakdown(w, plan.service.Name)
	order, item, err := insertOrderWithItem(ctx, tx, w, plan, breakdown)
	if err != nil {
		return notify.Snapshot{}, err
	}
	code, err := session.NewCode(tx.Session, session.BookingCodeLength)
	if err != nil {
		return notify.Snapshot{}, err
	}
	keys, err := records.CompleteKeys(tx.Session, records.ManageKeys{})
	if err != nil {
		return notify.Snapshot{}, err
	}
	orderKeys, err := records.CompleteKeys(tx.Session, records.ManageKeys{})
	if err != nil {
		return notify.Snapshot{}, err
	}
	invoices, err := payments.InvoiceRows(tx.Session, w, payments.InvoiceSource{ID: order.ID, Customer: plan.customer, Subtotal: plan.charged.Subtotal, Total: plan.charged.Total, Breakdown: breakdown})
	if err != nil {
		return notify.Snapshot{}, err
	}
	if _, err := tx.InsertLater(ctx, wpdb.OrderMeta, records.KeyRows(tx.Session, order.ID, records.ManageKeys{}, orderKeys)...); err != nil {
		return notify.Snapshot{}, err
	}
	invoice, err := tx.InsertLater(ctx, wpdb.OrderInvoices, invoices...)
	if err != nil {
		return notify.Snapshot{}, err
	}
	id, err := tx.Insert(ctx, wpdb.Bookings, bookingRow(tx.Session, *plan, code, item.ID))
	if err != nil {
		return notify.Snapshot{}, err
	}
	if _, err := tx.Settle(invoice); err != nil {
		return notify.Snapshot{}, err
	}
	if item.ItemData, err = newItemData(*plan, plan.span(tx.Session), id); err != nil {
		return notify.Snapshot{}, err
	}
	booking, shown, err := notify.NewBooking(ctx, tx.Session, id)
	booking.Extras, booking.Reasons = plan.shownExtras(tx.Session), records.AskedReasons(tx.Session, w.Settings)
	_, booking.Meta = plan.fields.newMeta(tx.Session, id, plan.resource)
	return notify.Snapshot{
		Customer: booking.Customer,
		Booking:  &notify.BookingSnapshot{Booking: booking, Keys: keys, Shown: &shown},
		Order:    &notify.OrderSnapshot{Order: order, Items: []records.OrderItem{item}, Payments: []records.Payment{}, Keys: &orderKeys},
	}, err
}

// insertOrderWithItem saves the customer and writes the order of a booking and its item, whose data
// completeBooking writes.
func insertOrderWithItem(ctx context.Context, tx *session.Tx, w session.WriteSettings, plan *bookingPlan, breakdown any) (order records.Order, item records.OrderItem, err error) {
	customer, err := saveCustomer(ctx, tx, w, plan)
	if err != nil {
		return order, item, err
	}
	code, err := session.NewCode(tx.Session, session.ConfirmationCodeLength)
	if err != nil {
		return order, item, err
	}
	n := plan.order()
	n.ConfirmationCode = &code
	stored, err := orders.OrderRow(tx.Session, w, n, customer.id, breakdown)
	if err != nil {
		return order, item, err
	}
	created, err := tx.InsertLater(ctx, wpdb.Orders, stored)
	if err != nil {
		return order, item, err
	}
	charged := plan.charged.item
	item = records.OrderItem{Variant: records.BookingItem, Subtotal: charged.Subtotal, Total: plan.charged.itemTotal()}
	item.ID, err = tx.Insert(ctx, wpdb.OrderItems, append(session.Row{
		{Name: "order_id", Value: lastID}, {Name: "variant", Value: item.Variant}, {Name: "item_data", Value: ""}, {Name: "subtotal", Value: domain.AmountText(item.Subtotal)}, {Name: "total", Value: domain.AmountText(item.Total)},
		{Name: "coupon_code", Value: wpdb.NullIfZero(plan.charged.coupon)}, {Name: "coupon_discount", Value: domain.AmountText(charged.Discount)}, {Name: "tax_total", Value: "0.0000"},
	}, tx.NewTimestamps()...))
	if err != nil {
		return order, item, err
	}
	if err := settleCustomer(tx, customer, plan); err != nil {
		return order, item, err
	}
	order = draftOrder(tx.Session, w, *plan)
	order.ConfirmationCode = code
	order.ID, err = tx.Settle(created)
	return order, item, err
}

// completeBooking writes the item's data, which contains the booking's id, and the booking's custom fields,
// keys, extras and assets.
func completeBooking(ctx context.Context, tx *session.Tx, plan bookingPlan, created notify.Snapshot) error {
	item := created.BookingItem()
	if _, err := tx.UpdateLater(ctx, wpdb.OrderItems, item.ID, session.Row{{Name: "item_data", Value: item.ItemData}}); err != nil {
		return err
	}
	meta, _ := plan.fields.newMeta(tx.Session, created.Booking.ID, plan.resource)
	meta = append(meta, records.KeyRows(tx.Session, created.Booking.ID, records.ManageKeys{}, created.Booking.Keys)...)
	if _, err := tx.InsertLater(ctx, wpdb.BookingMeta, meta...); err != nil {
		return err
	}
	if _, err := tx.InsertLater(ctx, wpdb.BookingsServiceExtras, extraRows(tx.Session, created.Booking.ID, plan.extras)...); err != nil {
		return err
	}
	_, err := tx.InsertLater(ctx, wpdb.BookingsAssets, records.AssetRows(tx.Session, created.Booking.ID, plan.resource.Agent, plan.service.Assets)...)
	return err
}

// order returns the order of the booking.
func (plan *bookingPlan) order() orders.New {
	n := orders.New{Address: plan.Address, Patch: orders.Patch{
		Subtotal: &plan.charged.Subtotal, Total: &plan.charged.Total, TaxTotal: &plan.charged.Tax, CouponDiscount: &plan.charged.Discount, CustomerComment: &plan.notes,
	}}
	if plan.charged.coupon != "" {
		n.CouponCode = &plan.charged.coupon
	}
	return n
}

// bookingRow returns the row of a new booking.
func bookingRow(s *session.Session, plan bookingPlan, code string, item int64) session.Row {
	return slices.Concat(session.Row{{Name: "booking_code", Value: code}}, plan.span(s).Columns(), session.Row{
		{Name: "buffer_before", Value: int64(plan.service.BufferBefore)}, {Name: "buffer_after", Value: int64(plan.service.BufferAfter)}, {Name: "duration", Value: plan.duration},
		{Name: "status", Value: plan.status}, {Name: "customer_id", Value: plan.customer.ID}, {Name: "service_id", Value: plan.resource.Service}, {Name: "agent_id", Value: plan.resource.Agent},
		{Name: "location_id", Value: plan.resource.Location}, {Name: "order_item_id", Value: item}, {Name: "recurrence_id", Value: nil}, {Name: "total_attendees", Value: plan.Attendees},
		{Name: "customer_timezone", Value: nil}, {Name: "server_timezone", Value: nil},
	}, s.NewTimestamps())
}

// itemData is the copy of a booking in the data of its order item
// (OsBookingModel::generate_params_for_booking_form, LatePoint 5.6.5).
type itemData struct {
	ID                        int64    `json:"id"`
	CustomerID                any      `json:"customer_id"`
	AgentID                   int64    `json:"agent_id"`
	LocationID                int64    `json:"location_id"`
	ServiceID                 int64    `json:"service_id"`
	RecurrenceID              *int64   `json:"recurrence_id"`
	StartDate                 string   `json:"start_date"`
	StartTime                 int64    `json:"start_time"`
	EndDate                   string   `json:"end_date"`
	EndTime                   int64    `json:"end_time"`
	Status                    string   `json:"status"`
	BufferBefore              int64    `json:"buffer_before"`
	BufferAfter               int64    `json:"buffer_after"`
	Duration                  int64    `json:"duration"`
	GenerateRecurrentSequence []string `json:"generate_recurrent_sequence"`
	Attendees                 int64    `json:"total_attendees,omitempty"` // Pro Features
}

func newItemData(plan bookingPlan, span records.BookingSpan, id int64) (string, error) {
	data := itemData{
		ID: id, CustomerID: plan.customer.ID, AgentID: plan.resource.Agent, LocationID: plan.resource.Location, ServiceID: plan.resource.Service,
		StartDate: span.Start.Day.String(), StartTime: int64(span.Start.Minutes), EndDate: span.End.Day.String(), EndTime: int64(span.End.Minutes),
		Status: plan.status, BufferBefore: int64(plan.service.BufferBefore), BufferAfter: int64(plan.service.BufferAfter), Duration: plan.duration,
		GenerateRecurrentSequence: []string{},
	}
	if plan.charged.pro {
		data.Attendees = plan.Attendees
	}
	if !plan.customerIsNew {
		data.CustomerID = domain.IDText(plan.customer.ID) // for a loaded customer PHP has texts
	}
	encoded, err := text.EncodePHP(data)
	if err != nil {
		return "", err
	}
	fields, err := plan.fields.members()
	if err != nil {
		return "", err
	}
	if encoded, err = records.WithCustomFields(encoded, fields); err != nil {
		return "", err
	}
	return records.WithExtras(encoded, slots.ExtrasText(slots.ChosenOf(plan.extras)))
}
