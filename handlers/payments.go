package handlers

import "bookside/adapter"

func listPayments(r *request) (response, error) {
	filter, err := r.view.PaymentFilter(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Payments(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.PaymentList(page)), nil
}

func getPayment(r *request) (response, error) {
	id, err := r.id("id", maxMediumInt, adapter.PaymentResource)
	if err != nil {
		return response{}, err
	}
	payment, err := r.site.Payment(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.PaymentDetail(payment)), nil
}
