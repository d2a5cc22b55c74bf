package orders

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// New is an order to create. Customer, subtotal and total are required; any other
// nil field gets the default of the plugin's form.
type New struct {
	Patch
	Address string // the client's IP address, stored if the site logs it and IPAddress is nil
}

// Create creates an order without items, as the plugin's order form does
// (OsOrdersController::create_or_update, LatePoint 5.6.5), and its invoice if the site
// uses invoices.
//
// If anything is wrong with the order, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field.
func Create(ctx context.Context, tx *session.Tx, n New) (records.Order, error) {
	p := n.Problems()
	p.Require("customer_id", n.CustomerID != nil)
	p.Require("subtotal", n.Subtotal != nil)
	p.Require("total", n.Total != nil)
	n.Patch = sanitizeOrder(tx.Session, n.Patch, &p)
	if p.Err() == nil {
		if err := tx.Lock(ctx, append(payments.LocksOfCoupon(n.CouponCode), session.LockOf(session.CustomerLock, *n.CustomerID))...); err != nil {
			return records.Order{}, err
		}
	}
	customer, err := records.LockCustomer(ctx, tx, n.CustomerID, &p)
	if err != nil {
		return records.Order{}, err
	}
	if code := domain.ValueOr(n.CouponCode, ""); code != "" && !n.Force {
		use := payments.CouponUse{Customer: customer.ID, Subtotal: domain.ValueOr(n.Subtotal, decimal.Zero)}
		if err := payments.CheckCoupon(ctx, tx, code, use, &p); err != nil {
			return records.Order{}, err
		}
	}
	if err := p.Err(); err != nil {
		return records.Order{}, err
	}
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return records.Order{}, err
	}
	id, err := insertNewOrder(ctx, tx, w, n, customer)
	if err != nil {
		return records.Order{}, err
	}
	order, err := records.LoadStoredOrder(ctx, tx.Session, id)
	if err != nil {
		return records.Order{}, err
	}
	return order, notify.OrderCreation(ctx, tx, w, customer, order)
}

// insertNewOrder writes an order with its keys, meta and invoice, and touches its
// customer, as every order does.
func insertNewOrder(ctx context.Context, tx *session.Tx, w session.WriteSettings, n New, customer records.BookingCustomer) (int64, error) {
	// With a breakdown, the plugin does not compute prices from the items.
	breakdown := records.NewPriceBreakdown()
	if err := tx.Update(ctx, wpdb.Customers, customer.ID, session.Row{tx.UpdateTimestamp()}); err != nil {
		return 0, err
	}
	id, err := insertOrder(ctx, tx, w, n, customer.ID, breakdown)
	if err != nil {
		return 0, err
	}
	if _, err := records.InsertManageKeys(ctx, tx, wpdb.OrderMeta, id, records.ManageKeys{}); err != nil {
		return 0, err
	}
	if err := session.SaveMeta(ctx, tx, wpdb.OrderMeta, id, n.metas(records.Order{})); err != nil {
		return 0, err
	}
	return id, payments.InvoiceOrder(ctx, tx, w, payments.InvoiceSource{ID: id, Customer: customer, Subtotal: *n.Subtotal, Total: *n.Total, Breakdown: breakdown})
}

// The statuses of a new order.
const (
	NewOrderStatus      = "open"
	NewOrderFulfillment = "not_fulfilled"
)

// StoredAddress returns the address to store: the one that was sent, otherwise the client's if the site
// logs it.
func (n New) StoredAddress(w session.WriteSettings) *string {
	if n.IPAddress == nil && n.Address != "" && w.Settings[session.SettingLogAddress] == session.On {
		return &n.Address
	}
	return n.IPAddress
}

// insertOrder writes the row of a new order.
func insertOrder(ctx context.Context, tx *session.Tx, w session.WriteSettings, n New, customer int64, breakdown records.PriceBreakdown) (int64, error) {
	stored, err := OrderRow(tx.Session, w, n, customer, breakdown)
	if err != nil {
		return 0, err
	}
	return tx.Insert(ctx, wpdb.Orders, stored)
}

// OrderRow returns the row of a new order; customer is an id, or an expression for it.
func OrderRow(s *session.Session, w session.WriteSettings, n New, customer any, breakdown any) (session.Row, error) {
	stored, err := text.EncodePHP(breakdown)
	if err != nil {
		return nil, err
	}
	code := domain.ValueOr(n.ConfirmationCode, "")
	if code == "" {
		if code, err = session.NewCode(s, session.ConfirmationCodeLength); err != nil {
			return nil, err
		}
	}
	return append(session.Row{
		{Name: "subtotal", Value: session.OrAmount(n.Subtotal)}, {Name: "total", Value: session.OrAmount(n.Total)}, {Name: "status", Value: domain.ValueOr(n.Status, NewOrderStatus)},
		{Name: "fulfillment_status", Value: domain.ValueOr(n.FulfillmentStatus, NewOrderFulfillment)}, {Name: "payment_status", Value: domain.ValueOr(n.PaymentStatus, records.OrderNotPaid)},
		{Name: "source_id", Value: n.SourceID}, {Name: "source_url", Value: domain.ValueOr(n.SourceURL, "")}, {Name: "ip_address", Value: n.StoredAddress(w)},
		{Name: "customer_id", Value: customer}, {Name: "customer_comment", Value: domain.ValueOr(n.CustomerComment, "")}, {Name: "confirmation_code", Value: code},
		{Name: "price_breakdown", Value: stored}, {Name: "coupon_code", Value: n.CouponCode}, {Name: "coupon_discount", Value: session.OrAmount(n.CouponDiscount)},
		{Name: "tax_total", Value: session.OrAmount(n.TaxTotal)}, {Name: "initial_payment_data", Value: `{"time":"later"}`},
	}, s.NewTimestamps()...), nil
}
