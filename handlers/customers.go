package handlers

import (
	"context"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listCustomers = operation{
	id:          "listCustomers",
	summary:     "List customers",
	description: "A page of the customers that match all parameters, newest first.",
	formats:     tables,
	query:       compat.CustomerParameters,
	answers:     []response{ok(compat.ListOf[compat.Customer]())},
	errors:      failures.Form{List: true},
	serve:       list(compat.CustomerParameters.Read, customers.List, compat.View.CustomerList),
}

var getCustomer = operation{
	id:          "getCustomer",
	summary:     "Read a customer",
	description: "A customer, with bookings if include requests them.",
	path:        []pathParameter{customerID},
	query:       compat.CustomerIncludeParameters,
	answers:     []response{ok(compat.StatusSingleOf[compat.CustomerDetail]())},
	errors:      failures.Form{Unknown: compat.BothErrors},
	serve: func(r *request) (response, error) {
		id, err := r.id(customerID)
		if err != nil {
			return response{}, err
		}
		asked, err := r.view.CustomerIncludes(r.ctx(), r.query, r.knowsBookingStatus)
		if err != nil {
			return response{}, err
		}
		customer, err := records.LoadCustomer(r.ctx(), r.session, id)
		if err != nil {
			return response{}, err
		}
		bookings, err := customerBookings(r.ctx(), r.session, id, asked)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.CustomerDetail(customer, asked, bookings)), nil
	},
}

var createCustomer = operation{
	id:               "createCustomer",
	summary:          "Create a customer",
	description:      "Creates a customer. The contact that identifies customers on the site is unique: the e-mail address, or the phone number if the site's settings say so. Fields that the site's customer form requires are required here, too.",
	body:             compat.NewCustomerFields,
	extraPermissions: []extraPermission{{"write_users", "to link the customer to a user of the site by cms_user_id"}},
	answers:          []response{created(compat.CustomerCreated)},
	errors:           failures.Form{Failure: "Failed to create customer"},
	serve:            create(compat.NewCustomerFields.Read, customers.Create, compat.View.CustomerCreated),
}

var updateCustomer = operation{
	id:          "updateCustomer",
	summary:     "Change a customer",
	description: "Changes only the fields that are sent.",
	path:        []pathParameter{customerID},
	body:        compat.CustomerPatchFields,
	answers:     []response{ok(compat.CustomerUpdated)},
	errors:      failures.Form{Failure: "Error updating customer", Shape: compat.WordPressError, Invalid: "customer_update_failed"},
	serve:       update(compat.CustomerPatchFields.Read, customers.Update, compat.View.CustomerUpdated),
}

var deleteCustomer = operation{
	id:          "deleteCustomer",
	summary:     "Delete a customer",
	description: "Deletes a customer who has no bookings and no successful payments, and whose orders have none. Orders of other customers stay complete.",
	path:        []pathParameter{customerID},
	answers:     []response{ok(compat.CustomerDeleted)},
	errors:      failures.Form{Failure: "Error deleting customer", Shape: compat.WordPressError, Code: "delete_error"},
	serve: func(r *request) (response, error) {
		id, err := r.id(customerID)
		if err != nil {
			return response{}, err
		}
		return r.change(func(tx *session.Tx) (any, error) {
			return r.view.CustomerDeleted(id, r.session.Now), customers.Delete(r.ctx(), tx, id)
		})
	},
}

// customerBookings reads the bookings to include with a single customer: past
// ones latest first, upcoming ones next first.
func customerBookings(ctx context.Context, site *session.Session, id int64, includes compat.CustomerIncludes) (b compat.CustomerBookings, err error) {
	var every bookings.Filter
	every.CustomerID, every.Status, every.Descending = &id, includes.Status, true
	past, upcoming := every, every
	past.Past = true
	upcoming.Upcoming, upcoming.Descending = true, false
	for _, part := range []struct {
		wanted bool
		filter bookings.Filter
		into   *[]records.Booking
	}{
		{includes.Bookings, every, &b.All},
		{includes.Upcoming, upcoming, &b.Upcoming},
		{includes.Past, past, &b.Past},
	} {
		if !part.wanted {
			continue
		}
		*part.into, err = bookings.First(ctx, site, part.filter, includes.Limit)
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
