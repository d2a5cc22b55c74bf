package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/journal"
	"bookside/wpdb"
)

// Records are records of all resources, as their lists show them.
type Records struct {
	Bookings  []Booking
	Customers []Customer
	Orders    []Order
	Payments  []Payment
	Invoices  []Invoice
	Services  []Service
	Agents    []Agent
	Locations []Location
	Coupons   []Coupon
	Currency  Currency // of the coupons
}

// Records returns the present records of each resource with the given ids, in any order.
// Those that do not exist are missing. It costs a fixed number of statements for each
// resource that is asked for.
func (s *Site) Records(ctx context.Context, ids map[journal.Resource][]int64) (r Records, err error) {
	readers := map[journal.Resource]func(ids []int64) error{
		journal.Bookings:  func(ids []int64) (err error) { r.Bookings, err = s.bookingsByID(ctx, ids, false); return err },
		journal.Customers: func(ids []int64) (err error) { r.Customers, err = s.customersByID(ctx, ids); return err },
		journal.Orders:    func(ids []int64) (err error) { r.Orders, err = s.ordersByID(ctx, ids); return err },
		journal.Payments:  func(ids []int64) (err error) { r.Payments, err = s.payments(ctx, sq.Eq{"t.id": ids}); return err },
		journal.Invoices:  func(ids []int64) (err error) { r.Invoices, err = s.invoices(ctx, sq.Eq{"v.id": ids}); return err },
		journal.Services: func(ids []int64) (err error) {
			r.Services, err = s.servicesByID(ctx, ids, ServiceIncludes{})
			return err
		},
		journal.Agents:    func(ids []int64) (err error) { r.Agents, err = s.agentsByID(ctx, ids); return err },
		journal.Locations: func(ids []int64) (err error) { r.Locations, err = s.locationsByID(ctx, ids); return err },
		journal.Coupons:   func(ids []int64) (err error) { r.Coupons, r.Currency, err = s.couponsByID(ctx, ids); return err },
	}
	for _, resource := range journal.Resources {
		if len(ids[resource]) == 0 {
			continue
		}
		if err := readers[resource](ids[resource]); err != nil {
			return Records{}, err
		}
	}
	return r, nil
}

// customersByID returns customers by their ids.
func (s *Site) customersByID(ctx context.Context, ids []int64) ([]Customer, error) {
	stmt := sq.Select(s.customerColumns()...).From(s.db.As(wpdb.Customers, "c")).Where(sq.Eq{"c.id": ids})
	records, err := wpdb.All(ctx, s.db, "read customers", stmt, scanCustomer)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return s.wholeCustomers(ctx, records, new(total))
}

// couponsByID returns coupons by their ids, and the currency of their amounts.
func (s *Site) couponsByID(ctx context.Context, ids []int64) ([]Coupon, Currency, error) {
	exists, err := s.hasCoupons(ctx)
	if err != nil || !exists {
		return nil, Currency{}, err
	}
	coupons, err := s.coupons(ctx, sq.Eq{"k.id": ids})
	if err == nil {
		err = s.addUsage(ctx, coupons)
	}
	if err != nil {
		return nil, Currency{}, err
	}
	currency, err := s.Currency(ctx)
	return coupons, currency, err
}
