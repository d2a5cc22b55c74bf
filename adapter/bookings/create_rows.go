package bookings

import (
	"context"
	"fmt"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// lastID is the id that the previous statement gave to a row.
var lastID = sq.Expr("LAST_INSERT_ID()")

// insertBooking writes customer, order, order item and booking, and the order's keys and invoice. Rows are
// sent together with the row whose id they need, and rows that only need known ids are sent with the
// booking; completeBooking writes what needs the booking's own id.
func insertBooking(ctx context.Context, tx *session.Tx, w session.WriteSettings, b newBooking, r availability.Resource) (notify.Snapshot, error) {
	order, item, err := insertOrder(ctx, tx, w, b)
	if err != nil {
		return notify.Snapshot{}, err
	}
	b.who.ID = order.CustomerID
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
	invoices, err := payments.InvoiceRows(tx.Session, w, payments.InvoiceSource{ID: order.ID, Customer: b.who.BookingCustomer, Subtotal: order.Subtotal, Total: order.Total, Breakdown: b.cost.breakdown})
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
	row := b.row(tx.Session, r, code, item.ID)
	id, err := tx.Insert(ctx, wpdb.Bookings, row)
	if err != nil {
		return notify.Snapshot{}, err
	}
	if _, err := tx.Settle(invoice); err != nil {
		return notify.Snapshot{}, err
	}
	if item.ItemData, err = b.itemData(tx.Session, row, id); err != nil {
		return notify.Snapshot{}, err
	}
	booking, err := notify.LoadNewBooking(ctx, tx.Session, id, keys)
	if err != nil {
		return notify.Snapshot{}, err
	}
	booking.Extras, booking.Reasons = b.what.shownExtras(tx.Session), records.AskedReasons(tx.Session, w.Settings)
	_, booking.Meta = b.fields.newMeta(tx.Session, id, r)
	return notify.Snapshot{
		Customer: booking.Customer,
		Booking:  booking,
		Order:    &notify.OrderSnapshot{Order: order, Items: []records.OrderItem{item}, Payments: []records.Payment{}, Keys: &orderKeys},
	}, nil
}

// insertOrder saves the customer and writes the order of a booking and its item, whose data
// completeBooking writes.
func insertOrder(ctx context.Context, tx *session.Tx, w session.WriteSettings, b newBooking) (order records.Order, item records.OrderItem, err error) {
	customer, err := b.who.save(ctx, tx, w)
	if err != nil {
		return order, item, err
	}
	code, err := session.NewCode(tx.Session, session.ConfirmationCodeLength)
	if err != nil {
		return order, item, err
	}
	n := b.order()
	n.ConfirmationCode = &code
	stored, err := orders.OrderRow(tx.Session, w, n, customer.id, b.cost.breakdown)
	if err != nil {
		return order, item, err
	}
	created, err := tx.InsertLater(ctx, wpdb.Orders, stored)
	if err != nil {
		return order, item, err
	}
	item = records.OrderItem{Variant: records.BookingItem, Subtotal: b.cost.item.Subtotal, Total: b.cost.itemTotal}
	item.ID, err = tx.Insert(ctx, wpdb.OrderItems, append(session.Row{
		{Name: "order_id", Value: lastID}, {Name: "variant", Value: item.Variant}, {Name: "item_data", Value: ""}, {Name: "subtotal", Value: domain.AmountText(item.Subtotal)}, {Name: "total", Value: domain.AmountText(item.Total)},
		{Name: "coupon_code", Value: wpdb.NullIfZero(b.cost.coupon)}, {Name: "coupon_discount", Value: domain.AmountText(b.cost.item.Discount)}, {Name: "tax_total", Value: "0.0000"},
	}, tx.NewTimestamps()...))
	if err != nil {
		return order, item, err
	}
	order = draftOrder(tx.Session, w, b)
	if order.CustomerID, err = customer.settle(tx); err != nil {
		return order, item, err
	}
	order.ConfirmationCode = code
	order.ID, err = tx.Settle(created)
	return order, item, err
}

// completeBooking writes the item's data, which contains the booking's id, and the booking's custom fields,
// the keys of its manage pages, extras and assets. All of it is sent with the transaction's next statement.
func completeBooking(ctx context.Context, tx *session.Tx, b newBooking, r availability.Resource, created notify.Snapshot) error {
	item, id := created.BookingItem(), created.Booking.ID
	if _, err := tx.UpdateLater(ctx, wpdb.OrderItems, item.ID, session.Row{{Name: "item_data", Value: item.ItemData}}); err != nil {
		return err
	}
	customFields, _ := b.fields.newMeta(tx.Session, id, r) // created shows them already
	keys := records.KeyRows(tx.Session, id, records.ManageKeys{}, created.Booking.Keys)
	if _, err := tx.InsertLater(ctx, wpdb.BookingMeta, slices.Concat(customFields, keys)...); err != nil {
		return err
	}
	if _, err := tx.InsertLater(ctx, wpdb.BookingsServiceExtras, extraRows(tx.Session, id, b.what.extras)...); err != nil {
		return err
	}
	_, err := tx.InsertLater(ctx, wpdb.BookingsAssets, records.AssetRows(tx.Session, id, r.Agent, b.what.service.Assets)...)
	return err
}

// order returns the order of the booking.
func (b newBooking) order() orders.New {
	n := orders.New{Address: b.address, Patch: orders.Patch{
		Subtotal: &b.cost.Subtotal, Total: &b.cost.Total, TaxTotal: &b.cost.Tax, CouponDiscount: &b.cost.Discount, CustomerComment: &b.notes,
	}}
	if b.cost.coupon != "" {
		n.CouponCode = &b.cost.coupon
	}
	return n
}

// row returns the row of the booking.
func (b newBooking) row(s *session.Session, r availability.Resource, code string, item int64) session.Row {
	return slices.Concat(session.Row{{Name: "booking_code", Value: code}}, b.what.span(s).Columns(), b.what.columns(r), session.Row{
		{Name: "status", Value: b.status}, {Name: "customer_id", Value: b.who.ID}, {Name: "order_item_id", Value: item},
		{Name: "recurrence_id", Value: nil}, {Name: "customer_timezone", Value: nil}, {Name: "server_timezone", Value: nil},
	}, s.NewTimestamps())
}

// itemData returns the copy of the booking in the data of its order item
// (OsBookingModel::generate_params_for_booking_form, LatePoint 5.6.5).
func (b newBooking) itemData(s *session.Session, row session.Row, id int64) (string, error) {
	customer, attendees := "0", ""
	if !b.who.isNew {
		customer = `""` // for a loaded customer PHP has texts
	}
	if b.what.service.With(s, extensions.ProFeatures) {
		attendees = `,"total_attendees":0`
	}
	data, err := records.WithItemData(fmt.Sprintf(`{"id":%d,"customer_id":%s,"agent_id":0,"location_id":0,"service_id":0,"recurrence_id":null,`+
		`"start_date":"","start_time":0,"end_date":"","end_time":0,"status":"","buffer_before":0,"buffer_after":0,"duration":0,`+
		`"generate_recurrent_sequence":[]%s}`, id, customer, attendees), row)
	if err != nil {
		return "", err
	}
	fields, err := b.fields.members()
	if err != nil {
		return "", err
	}
	if data, err = records.WithCustomFields(data, fields); err != nil {
		return "", err
	}
	return records.WithExtras(data, slots.ExtrasText(slots.ChosenOf(b.what.extras)))
}

// draftBooking returns the booking that Create would create, without writing: the plugin's tables have few
// ids, and a rollback does not return them. Records that do not exist yet have the id 0 and no codes.
func draftBooking(ctx context.Context, s *session.Session, w session.WriteSettings, b newBooking, r availability.Resource) (records.BookingDetail, error) {
	b.who.BookingCustomer = b.who.shown
	row := sq.Select() // as it would be stored
	for _, c := range append(session.Row{{Name: "id", Value: 0}}, b.row(s, r, "", 0)...) {
		row = row.Column(sq.Alias(sq.Expr("?", c.Value), c.Name))
	}
	stmt := records.BookingRecords(s).FromSelect(row, "b").Column("o.payment_status").Column(new(records.Total).Column())
	booking, _, err := wpdb.One(ctx, s.DB, "read records of a booking", stmt, records.NewListedRow(new(records.Total)).Scan)
	if err != nil {
		return records.BookingDetail{}, err
	}
	booking.Customer, booking.Price, booking.Extras = b.who.shown, b.cost.itemTotal, b.what.shownExtras(s)
	_, booking.Meta = b.fields.newMeta(s, 0, r)
	booking.Reasons = records.AskedReasons(s, w.Settings)
	order := draftOrder(s, w, b)
	booking.Order = &records.BookingOrder{PaymentStatus: order.PaymentStatus, CustomerComment: order.CustomerComment}
	return records.BookingDetail{Booking: *booking, Order: &order, Payments: []records.Payment{}}, nil
}

// draftOrder returns the order that insertOrder would write.
func draftOrder(s *session.Session, w session.WriteSettings, b newBooking) records.Order {
	n := b.order()
	now := domain.Timestamp(domain.Stamp(s.Now))
	return records.Order{
		Subtotal: *n.Subtotal, Total: *n.Total, TaxTotal: *n.TaxTotal, CouponCode: n.CouponCode, CouponDiscount: *n.CouponDiscount,
		Status: orders.NewOrderStatus, PaymentStatus: records.OrderNotPaid, DisplayPaymentStatus: records.OrderNotPaid, FulfillmentStatus: orders.NewOrderFulfillment,
		CustomerID: b.who.ID, CustomerComment: n.CustomerComment, IPAddress: n.StoredAddress(w), SourceURL: new(""), CreatedAt: now, UpdatedAt: now,
	}
}
