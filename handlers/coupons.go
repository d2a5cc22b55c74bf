package handlers

import (
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

var listCoupons = operation{
	id:          "listCoupons",
	summary:     "List coupons",
	description: "A page of the coupons that match all parameters. It is empty on sites without the coupon add-on.",
	formats:     tables,
	query:       compat.CouponParameters,
	answers:     []response{ok(compat.ListOf[compat.Coupon]())},
	errors:      failures.Form{List: true},
	serve: func(r *request) (response, error) {
		filter, err := compat.CouponParameters.Read(r.view, r.query)
		if err != nil {
			return response{}, err
		}
		page, err := payments.ListCoupons(r.ctx(), r.session, filter)
		if err != nil {
			return response{}, err
		}
		currency, err := r.session.Currency(r.ctx())
		if err != nil {
			return response{}, err
		}
		return ok(r.view.CouponList(page, currency)), nil
	},
}

var getCoupon = operation{
	id:          "getCoupon",
	summary:     "Read a coupon",
	description: "A coupon with the latest orders that use it.",
	path:        []pathParameter{couponCode},
	answers:     []response{ok(compat.SingleOf[compat.Coupon]())},
	serve: func(r *request) (response, error) {
		code, err := r.code(couponCode)
		if err != nil {
			return response{}, err
		}
		coupon, err := payments.LoadCoupon(r.ctx(), r.session, code)
		if err != nil {
			return response{}, err
		}
		orders, err := orders.CouponOrders(r.ctx(), r.session, coupon.Code)
		if err != nil {
			return response{}, err
		}
		currency, err := r.session.Currency(r.ctx())
		if err != nil {
			return response{}, err
		}
		return ok(r.view.CouponDetail(coupon, orders, currency)), nil
	},
}

var createCoupon = operation{
	id:          "createCoupon",
	summary:     "Create a coupon",
	description: "Creates a coupon. Codes are stored in upper case.",
	body:        compat.NewCouponFields,
	answers:     []response{created(compat.CouponCreated)},
	serve:       create(compat.NewCouponFields.Read, payments.CreateCoupon, compat.View.CouponCreated),
}

var updateCoupon = operation{
	id:          "updateCoupon",
	summary:     "Change a coupon",
	description: "Changes only the fields that are sent.",
	path:        []pathParameter{couponCode},
	body:        compat.CouponFields,
	answers:     []response{ok(compat.CouponUpdated)},
	serve: func(r *request) (response, error) {
		code, err := r.code(couponCode)
		if err != nil {
			return response{}, err
		}
		return r.update(func(tx *session.Tx, body *compat.Body) (any, error) {
			coupon, err := payments.UpdateCoupon(r.ctx(), tx, code, compat.CouponFields.Read(body))
			if err != nil {
				return nil, err
			}
			return r.view.CouponUpdated(coupon), nil
		})
	},
}

var deleteCoupon = operation{
	id:          "deleteCoupon",
	summary:     "Delete a coupon",
	description: "Deletes a coupon.",
	path:        []pathParameter{couponCode},
	answers:     []response{ok(compat.CouponDeleted)},
	errors:      failures.Form{Failure: "Failed to delete coupon", Code: "delete_error"},
	serve: func(r *request) (response, error) {
		code, err := r.code(couponCode)
		if err != nil {
			return response{}, err
		}
		return r.change(func(tx *session.Tx) (any, error) {
			return compat.CouponDeleted, payments.DeleteCoupon(r.ctx(), tx, code)
		})
	},
}
