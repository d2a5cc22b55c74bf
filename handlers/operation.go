package handlers

import (
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

// operation is one thing that the API does: its description in the OpenAPI document, and the function that
// does it. It is in its resource's file.
type operation struct {
	id               string // operationId, which generated clients name their functions after
	summary          string
	description      string            // description, to which the permissions are added
	path             []pathParameter   // in the order of the path
	query            compat.QueryInput // nil for no parameters
	body             compat.Input      // nil for no body
	answers          []response        // samples of the records it answers with
	extraPermissions []extraPermission // requests that need more than the route's permission
	errors           failures.Form
	formats          []*exportFormat // other formats in which a list can be sent
	// wrap runs a read outside the limits of others; it executes and sends it by calling deliver. nil for
	// nothing.
	wrap  func(c echo.Context, r *request, deliver func() error) error
	serve func(*request) (response, error)
}

// pathParameter is an id, or a code, in a path.
type pathParameter struct {
	name     string
	resource domain.Resource
}

var (
	bookingID     = pathParameter{"id", domain.BookingResource}
	customerID    = pathParameter{"id", domain.CustomerResource}
	agentID       = pathParameter{"id", domain.AgentResource}
	serviceID     = pathParameter{"id", domain.ServiceResource}
	paymentID     = pathParameter{"id", domain.PaymentResource}
	orderID       = pathParameter{"id", domain.OrderResource}
	invoiceID     = pathParameter{"invoice_id", domain.InvoiceResource}
	transactionID = pathParameter{"transaction_id", domain.TransactionResource}
	locationID    = pathParameter{"id", domain.LocationResource}
	holdID        = pathParameter{"id", domain.HoldResource}
	timeOffID     = pathParameter{"id", domain.TimeOffResource}
	webhookID     = pathParameter{"id", domain.WebhookResource}
	couponCode    = pathParameter{"code", domain.CouponResource}
)

// requests returns how many requests a request of the route counts as.
func (r *route) requests(query *compat.Query) int64 {
	if r.cost == nil {
		return 1
	}
	return r.cost(query)
}

// allowsDryRun reports whether a write of the route can be a dry run.
func (r *route) allowsDryRun() bool {
	return r.operation.body != nil && slices.Contains(r.operation.body.Names(), compat.DryRun)
}

// extraPermission is a permission that a request needs in addition to its route's in order to do what
// purpose says. The adapter checks it, because only the adapter knows.
type extraPermission struct{ permission, purpose string }

// What most operations do: read the request, call the adapter, and show the result. An operation that does
// more says so in its resource's file.

// list serves a page of the records that match a filter.
func list[Filter, Page, Body any](
	filter func(compat.View, *compat.Query) (Filter, error),
	find func(context.Context, *session.Session, Filter) (Page, error),
	show func(compat.View, Page) Body,
) func(*request) (response, error) {
	return func(r *request) (response, error) {
		wanted, err := filter(r.view, r.query)
		if err != nil {
			return response{}, err
		}
		page, err := find(r.ctx(), r.session, wanted)
		if err != nil {
			return response{}, err
		}
		return ok(show(r.view, page)), nil
	}
}

// get serves the record with the id in the path.
func get[Record, Body any](
	load func(context.Context, *session.Session, int64) (Record, error),
	show func(compat.View, Record) Body,
) func(*request) (response, error) {
	return func(r *request) (response, error) {
		id, err := r.id(r.route.operation.path[0])
		if err != nil {
			return response{}, err
		}
		record, err := load(r.ctx(), r.session, id)
		if err != nil {
			return response{}, err
		}
		return ok(show(r.view, record)), nil
	}
}

// create creates a record from the body.
func create[Values, Record, Body any](
	read func(*compat.Body) Values,
	insert func(context.Context, *session.Tx, Values) (Record, error),
	show func(compat.View, Record) Body,
) func(*request) (response, error) {
	return func(r *request) (response, error) {
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		values := read(body)
		return r.create(func(tx *session.Tx) (any, error) {
			record, err := insert(r.ctx(), tx, values)
			if err != nil {
				return nil, err
			}
			return show(r.view, record), nil
		})
	}
}

// update changes the record with the id in the path.
func update[Patch, Record, Body any](
	read func(*compat.Body) Patch,
	apply func(context.Context, *session.Tx, int64, Patch) (Record, error),
	show func(compat.View, Record) Body,
) func(*request) (response, error) {
	return func(r *request) (response, error) {
		id, err := r.id(r.route.operation.path[0])
		if err != nil {
			return response{}, err
		}
		return r.update(func(tx *session.Tx, body *compat.Body) (any, error) {
			record, err := apply(r.ctx(), tx, id, read(body))
			if err != nil {
				return nil, err
			}
			return show(r.view, record), nil
		})
	}
}
