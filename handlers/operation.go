package handlers

import (
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/adapter/session"
	"bookside/compat"
)

// operation is one thing that the API does: what the OpenAPI document says about
// it, and the function that does it. It stands in the file of its resource.
type operation struct {
	id               string // operationId, after which generated clients name their functions
	summary          string
	description      string            // description, to which the permissions are added
	path             []pathParameter   // in the order of the path
	query            compat.QueryInput // nil for no parameters
	body             compat.Input      // nil for no body
	answers          []response        // samples of the records it answers with
	extraPermissions []extraPermission // what may need more than the route's permission
	exampleErrors    []error           // samples of errors that few operations know, see errorsOf
	errors           errorForm
	size             size            // what the memory of a request grows with
	cost             cost            // of a request, in requests; nil for one
	ours             bool            // a read that the PHP extension does not have
	noETag           bool            // an answer is outdated when it arrives, and has no tag
	perKey           bool            // a read whose response depends on the key itself, not only on its permissions
	calendar         domain.Resource // whose calendar it serves, which its secret opens, and no API key; "" for none
	formats          []*exportFormat // in which a list is sent besides JSON
	decided          bool            // a write about which the site's extensions may decide, see session.CheckExtensions
	noIdempotency    bool            // a write without support for Idempotency-Key, because its response must not be stored
	// wrap runs a read outside of the limits of others, and executes and sends it by
	// deliver; nil for nothing.
	wrap  func(c echo.Context, r *request, deliver func() error) error
	serve func(*request) (response, error)
}

// errorForm is how an operation fails. The zero value is that of most.
type errorForm struct {
	list    bool              // a list: an invalid key is answered as a WordPressError
	shape   compat.ErrorShape // of everything that has no shape of its own
	unknown compat.ErrorShape // of a record that does not exist, if it has its own
	failure string            // message of an internal error; "" for "Internal server error"
	code    string            // of an internal error; "" for server_error
	invalid string            // code of invalid fields, as a WordPressError; "" for an ObjectError
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
	webhookID     = pathParameter{"id", domain.WebhookResource}
	couponCode    = pathParameter{"code", domain.CouponResource}
)

// cost returns how many requests a request counts for, by its parameters.
type cost func(*compat.Query) int64

// requests returns how many requests a request of the route counts for.
func (r *route) requests(query *compat.Query) int64 {
	if r.operation.cost == nil {
		return 1
	}
	return r.operation.cost(query)
}

// allowsDryRun reports whether a write of the route can be a dry run.
func (r *route) allowsDryRun() bool {
	return r.operation.body != nil && slices.Contains(r.operation.body.Names(), compat.DryRun)
}

// extraPermission is a permission that a request needs besides that of its route to do what
// purpose says. The adapter checks it, because only the adapter knows.
type extraPermission struct{ permission, purpose string }

// exampleConflict is a sample of why a booking cannot have its time.
var exampleConflict = domain.SlotConflict{
	Start: availability.Moment{Day: exampleDay, Minutes: 600}, AgentID: 3, BookingID: 53, Free: []availability.Minutes{660},
}

// errExampleRefusal is a sample of the error about what a limited key may not name.
var errExampleRefusal = domain.Scope{Agents: []int64{3}}.Refuse(5, 0, 0)

// errExampleFilterRefusal is the same for the filters of a webhook.
var errExampleFilterRefusal = domain.Scope{Agents: []int64{3}}.RefuseAny(domain.Scope{Agents: []int64{5}})

// exampleLoss is a sample of what else a customer could book who comes too late with a hold.
var exampleLoss = domain.SlotConflict{Start: exampleConflict.Start, AgentID: 3, Free: exampleConflict.Free}

var exampleDay, _ = availability.ParseDay("2026-12-01")

// What most operations do: read what was asked, call the adapter, and show what it returns. An
// operation that does more says so in the file of its resource.

// list serves a page of the records that a filter matches.
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

// create makes a record of the body.
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
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		patch := read(body)
		return r.change(func(tx *session.Tx) (any, error) {
			record, err := apply(r.ctx(), tx, id, patch)
			if err != nil {
				return nil, err
			}
			return show(r.view, record), nil
		})
	}
}
