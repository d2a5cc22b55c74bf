package handlers

import (
	"net/http"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var createHold = operation{
	id:      "createHold",
	summary: "Reserve a slot",
	description: "Reserves a slot for a customer who has yet to book, for hold_minutes. Meanwhile, nobody else is offered it or can book it. " +
		"POST /bookings with hold_id turns the hold into a booking. It belongs to this key, and ends by itself. " +
		"The hold keeps the slot, with its extras. Price, coupon_code and custom_fields are checked as for a booking, except for what depends on the customer, and have to be sent with the booking.",
	body:    compat.NewHoldFields,
	answers: []response{created(compat.HoldCreated)},
	errors:  failures.Form{Failure: "Failed to keep the slot", Others: []int{http.StatusConflict}},
	serve:   create(compat.NewHoldFields.Read, bookings.CreateHold, compat.View.HoldCreated),
}

var getHold = operation{
	id:          "getHold",
	summary:     "Read a hold",
	description: "A hold of this key that was not used and has not expired.",
	path:        []pathParameter{holdID},
	answers:     []response{ok(compat.BothSingleOf[compat.Hold]())},
	serve:       get(bookings.LoadHold, compat.View.HoldDetail),
}

var deleteHold = operation{
	id:          "deleteHold",
	summary:     "Release a slot",
	description: "Ends a hold of this key before its time. A hold that was used or has expired does not exist any more.",
	path:        []pathParameter{holdID},
	answers:     []response{ok(compat.HoldDeleted)},
	serve: func(r *request) (response, error) {
		id, err := r.id(holdID)
		if err != nil {
			return response{}, err
		}
		return r.change(func(tx *session.Tx) (any, error) { return compat.HoldDeleted, bookings.DeleteHold(r.ctx(), tx, id) })
	},
}
