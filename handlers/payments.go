package handlers

import (
	"bookside/adapter"
	"bookside/compat"
)

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
	id, err := r.id("id", adapter.PaymentResource)
	if err != nil {
		return response{}, err
	}
	payment, err := r.site.Payment(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.PaymentDetail(payment)), nil
}

func createPayment(r *request) (response, error) {
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	return create(r, compat.NewPayment(body), (*adapter.Site).CreatePayment, r.view.PaymentCreated)
}

func updatePayment(r *request) (response, error) {
	id, err := r.id("id", adapter.PaymentResource)
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	payment, err := r.site.UpdatePayment(r.ctx(), id, compat.PaymentPatch(body))
	if err != nil {
		return response{}, err
	}
	return ok(r.view.PaymentUpdated(payment)), nil
}

func deletePayment(r *request) (response, error) {
	id, err := r.id("id", adapter.PaymentResource)
	if err != nil {
		return response{}, err
	}
	if err := r.site.DeletePayment(r.ctx(), id); err != nil {
		return response{}, err
	}
	return ok(compat.PaymentDeleted()), nil
}
