package handlers

import (
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listInvoices = operation{
	id:          "listInvoices",
	summary:     "List the invoices of an order",
	description: "A page of the invoices of an order.",
	path:        []pathParameter{orderID},
	query:       compat.PageParameters,
	answers:     []response{ok(compat.ListOf[compat.Invoice]())},
	errors:      failures.Form{List: true},
	serve: func(r *request) (response, error) {
		order, err := r.id(orderID)
		if err != nil {
			return response{}, err
		}
		paging, err := compat.PageParameters.Read(r.view, r.query)
		if err != nil {
			return response{}, err
		}
		page, err := payments.ListInvoices(r.ctx(), r.session, order, paging)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.InvoiceList(page)), nil
	},
}

var getInvoice = operation{
	id:          "getInvoice",
	summary:     "Read an invoice of an order",
	description: "An invoice of an order.",
	path:        []pathParameter{orderID, invoiceID},
	answers:     []response{ok(compat.BothSingleOf[compat.Invoice]())},
	serve: func(r *request) (response, error) {
		order, err := r.id(orderID)
		if err != nil {
			return response{}, err
		}
		id, err := r.id(invoiceID)
		if err != nil {
			return response{}, err
		}
		invoice, err := payments.LoadInvoice(r.ctx(), r.session, order, id)
		if err != nil {
			return response{}, err
		}
		return ok(r.view.InvoiceDetail(invoice)), nil
	},
}

var updateInvoice = operation{
	id:          "updateInvoice",
	summary:     "Change an invoice of an order",
	description: "Changes only the fields that are sent. An invoice that payments do not cover is set to paid only with force.",
	path:        []pathParameter{orderID, invoiceID},
	query:       compat.UpdateInvoiceParameters,
	body:        compat.InvoiceFields,
	answers:     []response{ok(compat.InvoiceUpdated)},
	serve: func(r *request) (response, error) {
		order, err := r.id(orderID)
		if err != nil {
			return response{}, err
		}
		id, err := r.id(invoiceID)
		if err != nil {
			return response{}, err
		}
		return r.update(func(tx *session.Tx, body *compat.Body) (any, error) {
			invoice, err := payments.UpdateInvoice(r.ctx(), tx, order, id, compat.InvoiceFields.Read(body))
			if err != nil {
				return nil, err
			}
			return r.view.InvoiceUpdated(invoice), nil
		})
	},
}
