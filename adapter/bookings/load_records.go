package bookings

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Records are records of all resources, in the form in which lists show them.
type Records struct {
	Bookings  []records.Booking
	Customers []records.Customer
	Orders    []records.Order
	Payments  []records.Payment
	Invoices  []payments.Invoice
	Services  []catalog.Service
	Agents    []catalog.Agent
	Locations []catalog.Location
	Coupons   []payments.Coupon
	Currency  session.Currency // of the coupons
}

// LoadRecords returns the present records of each resource with the given ids, in any order. Records that
// do not exist are left out. It takes a fixed number of statements for each requested resource.
func LoadRecords(ctx context.Context, s *session.Session, ids map[journal.Resource][]int64) (r Records, err error) {
	readers := map[journal.Resource]func(ids []int64) error{
		journal.Bookings:  func(ids []int64) (err error) { r.Bookings, err = records.LoadBookings(ctx, s, ids); return err },
		journal.Customers: func(ids []int64) (err error) { r.Customers, err = customersByID(ctx, s, ids); return err },
		journal.Orders:    func(ids []int64) (err error) { r.Orders, err = records.LoadOrders(ctx, s, ids); return err },
		journal.Payments: func(ids []int64) (err error) {
			r.Payments, err = records.LoadPayments(ctx, s, sq.Eq{"t.id": ids})
			return err
		},
		journal.Invoices: func(ids []int64) (err error) {
			r.Invoices, err = payments.LoadInvoices(ctx, s, sq.Eq{"v.id": ids})
			return err
		},
		journal.Services: func(ids []int64) (err error) {
			r.Services, err = catalog.LoadServices(ctx, s, ids, catalog.ServiceIncludes{})
			return err
		},
		journal.Agents:    func(ids []int64) (err error) { r.Agents, err = catalog.LoadAgents(ctx, s, ids); return err },
		journal.Locations: func(ids []int64) (err error) { r.Locations, err = catalog.LoadLocations(ctx, s, ids); return err },
		journal.Coupons:   func(ids []int64) (err error) { r.Coupons, r.Currency, err = couponsByID(ctx, s, ids); return err },
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
func customersByID(ctx context.Context, s *session.Session, ids []int64) ([]records.Customer, error) {
	stmt := sq.Select(records.CustomerColumns...).From(s.DB.As(wpdb.Customers, "c")).Where(sq.Eq{"c.id": ids})
	found, err := wpdb.All(ctx, s.DB, "read customers", stmt, records.ScanCustomer)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return records.WholeCustomers(ctx, s, found, new(records.Total))
}

// couponsByID returns coupons by their ids, and the currency of their amounts.
func couponsByID(ctx context.Context, s *session.Session, ids []int64) ([]payments.Coupon, session.Currency, error) {
	exists, err := session.HasTable(ctx, s, wpdb.Coupons)
	if err != nil || !exists {
		return nil, session.Currency{}, err
	}
	coupons, err := payments.LoadCoupons(ctx, s, sq.Eq{"k.id": ids})
	if err == nil {
		err = payments.AddUsage(ctx, s, coupons)
	}
	if err != nil {
		return nil, session.Currency{}, err
	}
	currency, err := s.Currency(ctx)
	return coupons, currency, err
}
