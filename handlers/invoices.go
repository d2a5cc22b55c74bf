package handlers

import (
	"bookside/adapter"
	"bookside/compat"
)

func listInvoices(r *request) (response, error) {
	order, err := r.id("id", adapter.OrderResource)
	if err != nil {
		return response{}, err
	}
	paging, err := r.view.SubPaging(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.OrderInvoices(r.ctx(), order, paging)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.InvoiceList(page)), nil
}

func getInvoice(r *request) (response, error) {
	order, err := r.id("id", adapter.OrderResource)
	if err != nil {
		return response{}, err
	}
	id, err := r.id("invoice_id", adapter.InvoiceResource)
	if err != nil {
		return response{}, err
	}
	invoice, err := r.site.OrderInvoice(r.ctx(), order, id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.InvoiceDetail(invoice)), nil
}

func updateInvoice(r *request) (response, error) {
	order, err := r.id("id", adapter.OrderResource)
	if err != nil {
		return response{}, err
	}
	id, err := r.id("invoice_id", adapter.InvoiceResource)
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	forced, err := force(r.query)
	if err != nil {
		return response{}, err
	}
	patch, forcedInBody := compat.InvoicePatch(body)
	invoice, err := r.site.UpdateInvoice(r.ctx(), order, id, patch, forced || forcedInBody)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.InvoiceUpdated(invoice)), nil
}
