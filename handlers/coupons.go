package handlers

import (
	"bookside/adapter"
	"bookside/compat"
)

func listCoupons(r *request) (response, error) {
	filter, err := r.view.CouponFilter(r.query)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Coupons(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	currency, err := r.site.Currency(r.ctx())
	if err != nil {
		return response{}, err
	}
	return ok(r.view.CouponList(page, currency)), nil
}

func getCoupon(r *request) (response, error) {
	code, err := r.code("code")
	if err != nil {
		return response{}, err
	}
	coupon, err := r.site.Coupon(r.ctx(), code)
	if err != nil {
		return response{}, err
	}
	orders, err := r.site.CouponOrders(r.ctx(), coupon.Code)
	if err != nil {
		return response{}, err
	}
	currency, err := r.site.Currency(r.ctx())
	if err != nil {
		return response{}, err
	}
	return ok(r.view.CouponDetail(coupon, orders, currency)), nil
}

func createCoupon(r *request) (response, error) {
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	return create(r, compat.NewCoupon(body), (*adapter.Site).CreateCoupon, r.view.CouponCreated)
}

func updateCoupon(r *request) (response, error) {
	code, err := r.code("code")
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	coupon, err := r.site.UpdateCoupon(r.ctx(), code, compat.CouponPatch(body))
	if err != nil {
		return response{}, err
	}
	return ok(r.view.CouponUpdated(coupon)), nil
}

func deleteCoupon(r *request) (response, error) {
	code, err := r.code("code")
	if err != nil {
		return response{}, err
	}
	if err := r.site.DeleteCoupon(r.ctx(), code); err != nil {
		return response{}, err
	}
	return ok(compat.CouponDeleted()), nil
}
