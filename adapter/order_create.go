package adapter

import (
	"context"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// NewOrder is an order to create. Customer, subtotal and total are required; any other
// nil field gets the default of the plugin's form.
type NewOrder struct {
	OrderPatch
	Address string // the client's IP address, stored if the site logs it and IPAddress is nil
}

// CreateOrder creates an order without items, as the plugin's order form does
// (OsOrdersController::create_or_update, LatePoint 5.6.5), and its invoice if the site
// uses invoices.
//
// If anything is wrong with the order, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field.
func (tx *Tx) CreateOrder(ctx context.Context, n NewOrder) (Order, error) {
	if err := tx.refuseUnseen(); err != nil {
		return Order{}, err
	}
	p := n.Validation.Clone()
	p.Require("customer_id", n.CustomerID != nil)
	p.Require("subtotal", n.Subtotal != nil)
	p.Require("total", n.Total != nil)
	n.OrderPatch = tx.sanitizeOrder(n.OrderPatch, Order{}, &p)
	if p.Err() == nil {
		if err := tx.lock(ctx, append(locksOfCoupon(n.CouponCode), lockOf(customerLock, *n.CustomerID))...); err != nil {
			return Order{}, err
		}
	}
	customer, err := tx.lockCustomer(ctx, n.CustomerID, &p)
	if err != nil {
		return Order{}, err
	}
	if code := domain.ValueOr(n.CouponCode, ""); code != "" && !n.Force {
		use := couponUse{customer: customer.ID, subtotal: domain.ValueOr(n.Subtotal, decimal.Zero)}
		if err := tx.checkCoupon(ctx, code, use, &p); err != nil {
			return Order{}, err
		}
	}
	if err := p.Err(); err != nil {
		return Order{}, err
	}
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return Order{}, err
	}
	id, err := tx.insertNewOrder(ctx, w, n, customer)
	if err != nil {
		return Order{}, err
	}
	order, err := tx.storedOrder(ctx, id)
	if err != nil {
		return Order{}, err
	}
	created := orderWithBookings{customer: customer, order: orderSnapshot{Order: order}}
	vars := tx.orderActivityVars(w, created)
	vars.ID = id // PHP has a number for a new record
	if err := tx.logActivities(ctx, activity{code: string(orderCreated), orderID: &id, description: orderEntry{vars}}); err != nil {
		return Order{}, err
	}
	_, err = tx.notify(ctx, w, []event{{kind: orderCreated, after: created.snapshot()}}, true)
	return order, err
}

// insertNewOrder writes an order with its keys, meta and invoice, and touches its
// customer, as every order does.
func (tx *Tx) insertNewOrder(ctx context.Context, w writeSettings, n NewOrder, customer BookingCustomer) (int64, error) {
	// If there is a breakdown, the plugin does not compute prices from the items.
	breakdown := priceBreakdown{BeforeSubtotal: []breakdownPart{}}
	if err := tx.update(ctx, wpdb.Customers, customer.ID, row{tx.updateTimestamp()}); err != nil {
		return 0, err
	}
	id, err := tx.insertOrder(ctx, w, n, customer.ID, breakdown)
	if err != nil {
		return 0, err
	}
	if _, err := tx.insertManageKeys(ctx, wpdb.OrderMeta, id, manageKeys{}); err != nil {
		return 0, err
	}
	if err := tx.saveMeta(ctx, wpdb.OrderMeta, id, n.metas(Order{})); err != nil {
		return 0, err
	}
	return id, tx.invoiceOrder(ctx, w, invoiceSource{id: id, customer: customer, subtotal: *n.Subtotal, total: *n.Total, breakdown: breakdown})
}

// The statuses of a new order.
const (
	newOrderStatus      = "open"
	newOrderFulfillment = "not_fulfilled"
)

// address returns the address to store: one that was sent, or that of the client if the site
// logs it.
func (n NewOrder) address(w writeSettings) *string {
	if n.IPAddress == nil && n.Address != "" && w.settings[settingLogAddress] == on {
		return &n.Address
	}
	return n.IPAddress
}

// insertOrder writes the row of a new order.
func (tx *Tx) insertOrder(ctx context.Context, w writeSettings, n NewOrder, customer int64, breakdown priceBreakdown) (int64, error) {
	stored, err := tx.orderRow(w, n, customer, breakdown)
	if err != nil {
		return 0, err
	}
	return tx.insert(ctx, wpdb.Orders, stored)
}

// orderRow returns the row of a new order; customer is an id, or an expression for it.
func (s *Site) orderRow(w writeSettings, n NewOrder, customer any, breakdown priceBreakdown) (row, error) {
	stored, err := process.EncodePHP(breakdown)
	if err != nil {
		return nil, err
	}
	code := domain.ValueOr(n.ConfirmationCode, "")
	if code == "" {
		if code, err = s.code(confirmationCodeLength); err != nil {
			return nil, err
		}
	}
	return append(row{
		{"subtotal", orAmount(n.Subtotal)}, {"total", orAmount(n.Total)}, {"status", domain.ValueOr(n.Status, newOrderStatus)},
		{"fulfillment_status", domain.ValueOr(n.FulfillmentStatus, newOrderFulfillment)}, {"payment_status", domain.ValueOr(n.PaymentStatus, orderNotPaid)},
		{"source_id", n.SourceID}, {"source_url", domain.ValueOr(n.SourceURL, "")}, {"ip_address", n.address(w)},
		{"customer_id", customer}, {"customer_comment", domain.ValueOr(n.CustomerComment, "")}, {"confirmation_code", code},
		{"price_breakdown", stored}, {"coupon_code", n.CouponCode}, {"coupon_discount", orAmount(n.CouponDiscount)},
		{"tax_total", orAmount(n.TaxTotal)}, {"initial_payment_data", `{"time":"later"}`},
	}, s.newTimestamps()...), nil
}
