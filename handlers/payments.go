package handlers

import (
	"net/http"

	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listPayments = operation{
	id:          "listPayments",
	summary:     "List payments",
	description: "A page of the payments that match all parameters.",
	formats:     tables,
	query:       compat.PaymentParameters,
	answers:     []response{ok(compat.ListOf[compat.Payment]())},
	errors:      failures.Form{Failure: "Failed to retrieve payments", Shape: compat.TextError, List: true},
	serve:       list(compat.PaymentParameters.Read, payments.List, compat.View.PaymentList),
}

var getPayment = operation{
	id:          "getPayment",
	summary:     "Read a payment",
	description: "A payment.",
	path:        []pathParameter{paymentID},
	answers:     []response{ok(compat.SingleOf[compat.Payment]())},
	errors:      failures.Form{Failure: "Failed to retrieve payment", Shape: compat.TextError},
	serve:       get(records.LoadPayment, compat.View.PaymentDetail),
}

var createPayment = operation{
	id:          "createPayment",
	summary:     "Record a payment",
	description: "Records a payment of an order, which is given by order_id or by one of its bookings, and updates the order's payment status.",
	query:       compat.WritePaymentParameters,
	body:        compat.NewPaymentFields,
	answers:     []response{created(compat.PaymentCreated)},
	errors:      failures.Form{Failure: "Failed to create payment", Shape: compat.TextError, Others: []int{http.StatusUnprocessableEntity}},
	serve: func(r *request) (response, error) {
		body, err := r.body()
		if err != nil {
			return response{}, err
		}
		values := compat.NewPaymentFields.Read(body)
		return r.create(func(tx *session.Tx) (any, error) {
			record, err := payments.Create(r.ctx(), tx, values)
			if err != nil {
				return nil, err
			}
			return r.view.PaymentCreated(record), nil
		})
	},
}

var updatePayment = operation{
	id:          "updatePayment",
	summary:     "Change a payment",
	description: "Changes only the fields that are sent. If a successful payment becomes refunded, or of the kind refund, it stays, and the rest of it is refunded. No other payment can become a refund, and no refund a payment.",
	path:        []pathParameter{paymentID},
	query:       compat.WritePaymentParameters,
	body:        compat.PaymentFields,
	answers:     []response{ok(compat.PaymentUpdated)},
	errors:      failures.Form{Failure: "Failed to update payment", Shape: compat.TextError, Others: []int{http.StatusUnprocessableEntity}},
	serve:       update(compat.PaymentFields.Read, payments.Update, compat.View.PaymentUpdated),
}

var deletePayment = operation{
	id:          "deletePayment",
	summary:     "Delete a payment that did not succeed",
	description: "Deletes a payment that did not succeed, or one that was refunded in full, with its refunds.",
	path:        []pathParameter{paymentID},
	answers:     []response{ok(compat.PaymentDeleted)},
	errors:      failures.Form{Failure: "Failed to delete payment", Shape: compat.TextError},
	serve: func(r *request) (response, error) {
		id, err := r.id(paymentID)
		if err != nil {
			return response{}, err
		}
		return r.change(func(tx *session.Tx) (any, error) {
			return compat.PaymentDeleted, payments.Delete(r.ctx(), tx, id)
		})
	},
}
