package handlers

import (
	"context"

	"bookside/adapter"
	"bookside/compat"
)

func listCustomers(r *request) (response, error) {
	filter, err := r.view.CustomerFilter(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Customers(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.CustomerList(page)), nil
}

func getCustomer(r *request) (response, error) {
	id, err := r.id("id", adapter.CustomerResource)
	if err != nil {
		return response{}, err
	}
	asked, err := r.view.CustomerIncludes(r.ctx(), r.query, r.site.KnowsBookingStatus)
	if err != nil {
		return response{}, err
	}
	customer, err := r.site.Customer(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	bookings, err := customerBookings(r.ctx(), r.site, id, asked)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.CustomerDetail(customer, asked, bookings)), nil
}

func createCustomer(r *request) (response, error) {
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	return create(r, compat.NewCustomer(body), (*adapter.Site).CreateCustomer, r.view.CustomerCreated)
}

func updateCustomer(r *request) (response, error) {
	id, err := r.id("id", adapter.CustomerResource)
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	customer, err := r.site.UpdateCustomer(r.ctx(), id, compat.CustomerPatch(body))
	if err != nil {
		return response{}, err
	}
	return ok(r.view.CustomerUpdated(customer)), nil
}

func deleteCustomer(r *request) (response, error) {
	id, err := r.id("id", adapter.CustomerResource)
	if err != nil {
		return response{}, err
	}
	if err := r.site.DeleteCustomer(r.ctx(), id); err != nil {
		return response{}, err
	}
	return ok(r.view.CustomerDeleted(id, r.site.Now)), nil
}

// customerBookings reads the bookings that a single customer was asked for
// with: past ones latest first, upcoming ones next first.
func customerBookings(ctx context.Context, site *adapter.Site, id int64, asked compat.CustomerIncludes) (b compat.CustomerBookings, err error) {
	every := adapter.BookingFilter{CustomerID: &id, Status: asked.Status, Descending: true}
	past, upcoming := every, every
	past.Past = true
	upcoming.Upcoming, upcoming.Descending = true, false
	for _, part := range []struct {
		wanted bool
		filter adapter.BookingFilter
		into   *[]adapter.Booking
	}{
		{asked.Bookings, every, &b.All},
		{asked.Upcoming, upcoming, &b.Upcoming},
		{asked.Past, past, &b.Past},
	} {
		if !part.wanted {
			continue
		}
		*part.into, err = site.FirstBookings(ctx, part.filter, asked.Limit)
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
