package bookings

import (
	"context"
	"fmt"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// updatedCustomer is the customer of a booking with the changes of an update.
type updatedCustomer struct {
	records.BookingCustomer
	columns  session.Row // that change
	replaces bool        // data that the customer already has
}

// customerOfUpdate returns the new customer of a booking, or its own, with the changes to their fields. A limited
// caller changes neither.
func customerOfUpdate(ctx context.Context, tx *session.Tx, w session.WriteSettings, before notify.Snapshot, patch Patch, p *domain.Validation) (updatedCustomer, error) {
	customer, described := before.Customer, patch.Customer != (records.CustomerFields{})
	if (patch.CustomerID != nil || described) && !tx.Scope().Unlimited() {
		return updatedCustomer{}, domain.OutsideScope()
	}
	if patch.CustomerID != nil && *patch.CustomerID != customer.ID && !p.Has("customer_id") {
		found, err := newCustomer(ctx, tx, before, *patch.CustomerID, p)
		if err != nil || found == nil {
			return updatedCustomer{BookingCustomer: customer}, err
		}
		customer = *found
	}
	if !described {
		return updatedCustomer{BookingCustomer: customer}, nil
	}
	if wouldCompare(tx.Session, customer, patch.Customer) { // checked before it is compared with other customers' contacts
		return updatedCustomer{}, tx.RequirePermission("write_customers")
	}
	if _, exists, err := records.CustomerRow(ctx, tx.Session, sq.Eq{"id": customer.ID}); err != nil || !exists {
		p.Reject("customer", "The customer of this booking does not exist any more: send customer_id")
		return updatedCustomer{BookingCustomer: customer}, err
	}
	rules := customers.RulesOf(tx.Session, w.Settings)
	changed, columns := customers.PatchFields(tx.Session, rules, customer, patch.Customer, customers.Prefix, p)
	user, err := customers.CheckChange(ctx, tx.Session, rules, customer, changed, customers.Prefix, p)
	completed, _ := fillEmpty(customer, changed)
	// A WordPress user has an e-mail address even if the customer has none.
	return updatedCustomer{BookingCustomer: changed, columns: columns, replaces: user != nil || changed != completed}, err
}

// newCustomer returns the customer to whom a booking moves, and keeps PHP from deleting them before it is theirs; nil if
// there is none. An order moves with its only booking, unless the customer may not use its coupon.
func newCustomer(ctx context.Context, tx *session.Tx, before notify.Snapshot, id int64, p *domain.Validation) (*records.BookingCustomer, error) {
	if err := tx.LockRows(ctx, wpdb.Customers, []int64{id}); err != nil {
		return nil, err
	}
	found, ok, err := records.CustomerRow(ctx, tx.Session, sq.Eq{"id": id})
	if err != nil {
		return nil, err
	}
	if !ok {
		p.Invalid("customer_id", "Customer not found")
		return nil, nil
	}
	customers.RefuseInactive(tx.Session, p, "customer_id", found)
	if !onlyItemOfOrder(before) || !p.Valid() { // without its locks
		return &found.BookingCustomer, nil
	}
	order, err := records.LoadStoredOrder(ctx, tx.Session, before.Order.ID)
	if err != nil {
		return nil, err
	}
	if domain.ValueOr(order.CouponCode, "") != domain.ValueOr(before.Order.CouponCode, "") {
		return nil, fmt.Errorf("order %d got another coupon meanwhile: %w", order.ID, wpdb.ErrConflict)
	}
	var coupon domain.Validation
	if err := orders.CheckOrderCoupon(ctx, tx, order, orders.Patch{CustomerID: &id}, &coupon); err != nil {
		return nil, err
	}
	if coupon.Has("coupon_code") {
		p.Reject("customer_id", "May not use the coupon of the booking's order. PUT /orders/{id} with force=true moves the order all the same")
	}
	return &found.BookingCustomer, nil
}

// wouldCompare reports whether the caller sent a value for a field that the customer has filled but that
// the caller may neither read nor change. The response must not reveal whether the two are equal.
func wouldCompare(s *session.Session, old records.BookingCustomer, sent records.CustomerFields) bool {
	both := func(stored string, sent *string) bool { return stored != "" && sent != nil }
	return s.RequirePermission("write_customers") != nil && s.RequirePermission("read_bookings") != nil && s.RequirePermission("read_customers") != nil &&
		(both(old.FirstName, sent.FirstName) || both(old.LastName, sent.LastName) || both(old.Email, sent.Email) || both(old.Phone, sent.Phone))
}
