package handlers

import (
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listOrders = operation{
	id:          "listOrders",
	summary:     "List orders",
	description: "A page of the orders that match all parameters.",
	formats:     tables,
	query:       compat.OrderParameters,
	answers:     []response{ok(compat.ListOf[compat.OrderRow]())},
	errors:      failures.Form{List: true},
	serve:       list(compat.OrderParameters.Read, orders.List, compat.View.OrderList),
}

var getOrder = operation{
	id:          "getOrder",
	summary:     "Read an order",
	description: "An order with its items, without an envelope.",
	path:        []pathParameter{orderID},
	answers:     []response{ok(compat.OrderDetail{})},
	serve: func(r *request) (response, error) {
		id, err := r.id(orderID)
		if err != nil {
			return response{}, err
		}
		order, items, err := records.LoadOrderWithItems(r.ctx(), r.session, id)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.OrderDetail(order, items)), nil
	},
}

var listTransactions = operation{
	id:          "listTransactions",
	summary:     "List the transactions of an order",
	description: "A page of the payments of an order.",
	path:        []pathParameter{orderID},
	query:       compat.PageParameters,
	answers:     []response{ok(compat.ListOf[compat.Payment]())},
	errors:      failures.Form{List: true},
	serve: func(r *request) (response, error) {
		id, err := r.id(orderID)
		if err != nil {
			return response{}, err
		}
		paging, err := compat.PageParameters.Read(r.view, r.query)
		if err != nil {
			return response{}, err
		}
		page, err := payments.ListOfOrder(r.ctx(), r.session, id, paging)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.PaymentList(page)), nil
	},
}

var getTransaction = operation{
	id:          "getTransaction",
	summary:     "Read a transaction of an order",
	description: "A payment of an order.",
	path:        []pathParameter{orderID, transactionID},
	answers:     []response{ok(compat.BothSingleOf[compat.Payment]())},
	serve: func(r *request) (response, error) {
		order, err := r.id(orderID)
		if err != nil {
			return response{}, err
		}
		id, err := r.id(transactionID)
		if err != nil {
			return response{}, err
		}
		transaction, err := records.LoadOrderPayment(r.ctx(), r.session, order, id)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.Transaction(transaction)), nil
	},
}

var createOrder = operation{
	id:          "createOrder",
	summary:     "Create an order",
	description: "Creates an order without items. A coupon counts for it as in the plugin; one that it may not use is stored only with force.",
	query:       compat.WriteOrderParameters,
	body:        compat.NewOrderFields,
	answers:     []response{created(compat.WrittenOrder{})},
	serve: func(r *request) (response, error) {
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		order := compat.NewOrderFields.Read(body)
		order.Address = r.echo.RealIP()
		return r.create(func(tx *session.Tx) (any, error) {
			record, err := orders.Create(r.ctx(), tx, order)
			if err != nil {
				return nil, err
			}
			return r.view.OrderWritten(record), nil
		})
	},
}

var updateOrder = operation{
	id:          "updateOrder",
	summary:     "Change an order",
	description: "Changes only the fields that are sent. A new customer also becomes the customer of the order's bookings.",
	path:        []pathParameter{orderID},
	query:       compat.WriteOrderParameters,
	body:        compat.OrderFields,
	answers:     []response{ok(compat.WrittenOrder{})},
	serve:       update(compat.OrderFields.Read, orders.Update, compat.View.OrderWritten),
}
