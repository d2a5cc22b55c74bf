package adapter

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// newCoupon returns the row of a coupon for which only code, type and value were sent.
func newCoupon(other map[string]any) fixtures.Change {
	values := map[string]any{
		"id": "<id:coupon:1>", "code": "HALF", "name": "", "discount_type": "percent", "discount_value": "50.0000", "description": "",
		"rules": nil, "status": "active", "active_from": nil, "active_to": nil,
	}
	maps.Copy(values, other)
	return insertedRow("latepoint_coupons", values)
}

func TestCreateCoupon(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	create := creates(payments.CreateCoupon, func(c payments.Coupon) string { return c.Code }, payments.LoadCoupon)
	needed := payments.CouponPatch{DiscountType: new("percent"), DiscountValue: euros("50")}
	history := activityEntry("coupon_created", "coupon_id", "<id:coupon:1>", nil)
	s.try("code, type and value are enough", nil, create(payments.NewCoupon{Code: " half ", CouponPatch: needed}), newCoupon(nil), history)
	s.try("everything", nil, create(payments.NewCoupon{Code: "HALF", CouponPatch: payments.CouponPatch{
		Name: new("Half <b>off</b>"), Description: new("a\r\nb"), DiscountType: new("fixed_amount"), DiscountValue: euros("12.3456"), Status: new("inactive"),
		ActiveFrom: new(session.Date("2026-12-01")), ActiveTo: new(session.Date("2026-12-01")), UsageLimit: new(int64(5)), MinOrderAmount: euros("20.50"), MaxDiscountAmount: euros("0"),
	}}), newCoupon(map[string]any{
		"name": "Half off", "description": "a\r\nb", "discount_type": "fixed", "discount_value": "12.3456", "status": "disabled",
		"active_from": "2026-12-01", "active_to": "2026-12-01", "rules": `{"limit_total":"5","min_order_amount":"20.5","max_discount_amount":"0"}`,
	}), history)
	s.try("the add-on's words, no dates and no limits", nil, create(payments.NewCoupon{Code: "HALF", CouponPatch: payments.CouponPatch{
		DiscountType: new("fixed"), DiscountValue: euros("50"), Status: new("disabled"), ActiveFrom: new(session.Date("")), ActiveTo: new(session.Date("0000-00-00")),
		UsageLimit: new(int64(0)), MinOrderAmount: euros("0"),
	}}), newCoupon(map[string]any{"discount_type": "fixed", "status": "disabled"}), history)
	for name, code := range map[string]string{"taken": "welcome10", "taken in the eyes of the collation": "Wélcome10"} {
		s.try(name, nil, func(t *testing.T, site *session.Session) {
			_, err := txCreate(t.Context(), site, payments.CreateCoupon, payments.NewCoupon{Code: code, CouponPatch: needed})
			wantFields(t, err, domain.CodeValidationFailed, map[string]string{"code": payments.DuplicateCouponCode})
		})
	}
}

func TestInvalidCouponNamesEveryField(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	long := strings.Repeat("x", 111)
	s.try("nothing", nil, func(t *testing.T, site *session.Session) {
		_, err := txCreate(t.Context(), site, payments.CreateCoupon, payments.NewCoupon{Code: " <b> "})
		wantFields(t, err, domain.CodeInvalidRequest, map[string]string{"code": "Required", "discount_type": "Required", "discount_value": "Required"})
	})
	wrong := payments.CouponPatch{
		Name: &long, Description: new(strings.Repeat("x", 1<<16)), DiscountType: new("gift"), DiscountValue: euros("-1"), Status: new(""),
		ActiveFrom: new(session.Date("2026-02-30")), UsageLimit: new(int64(-1)), MinOrderAmount: euros("-1"), MaxDiscountAmount: euros("0.00001"),
	}
	want := map[string]string{
		"name": "Too long", "description": "Too long", "discount_type": "Unknown discount_type", "discount_value": session.NotNegative, "status": "Unknown status",
		"active_from": "Invalid date", "usage_limit": session.NotNegative, "min_order_amount": session.NotNegative, "max_discount_amount": "May have at most 4 decimals",
	}
	s.try("not allowed", nil, func(t *testing.T, site *session.Session) {
		_, err := txUpdate(t.Context(), site, payments.UpdateCoupon, "MINUS5", wrong)
		wantFields(t, err, domain.CodeInvalidRequest, want)
		want["code"] = "Too long"
		_, err = txCreate(t.Context(), site, payments.CreateCoupon, payments.NewCoupon{Code: long, CouponPatch: wrong})
		wantFields(t, err, domain.CodeInvalidRequest, want)
	})
	for name, c := range map[string]struct {
		code  string
		patch payments.CouponPatch
		want  map[string]string
	}{
		"a discount of nothing": {"MINUS5", payments.CouponPatch{DiscountValue: euros("0")}, map[string]string{"discount_value": "Must be more than 0"}},
		"more than all":         {"WELCOME10", payments.CouponPatch{DiscountValue: euros("100.0001")}, map[string]string{"discount_value": "May be at most 100 percent"}},
		"more than all by type": {"BIG", payments.CouponPatch{DiscountType: new("percent")}, map[string]string{"discount_value": "May be at most 100 percent"}},
		"ends before it begins": {"WELCOME10", payments.CouponPatch{ActiveTo: new(session.Date("2025-12-31"))}, map[string]string{"active_to": "The coupon would end before it begins"}},
		"begins after its end":  {"WELCOME10", payments.CouponPatch{ActiveFrom: new(session.Date("2028-01-01"))}, map[string]string{"active_from": "The coupon would end before it begins"}},
	} {
		s.try(name, []string{"INSERT INTO wp_latepoint_coupons (code, discount_type, discount_value, status) VALUES ('BIG', 'fixed', 150, 'active')"}, func(t *testing.T, site *session.Session) {
			_, err := txUpdate(t.Context(), site, payments.UpdateCoupon, c.code, c.patch)
			wantFields(t, err, domain.CodeValidationFailed, c.want)
		})
	}
}

func TestUpdateCoupon(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	update := updates(payments.UpdateCoupon, payments.LoadCoupon)
	history := func(id string) fixtures.Change { return activityEntry("coupon_updated", "coupon_id", id, nil) }
	untouched := func(row fixtures.Change) fixtures.Change { // before this test
		row.Changed["updated_at"] = [2]any{nil, "<now_utc>"}
		return row
	}
	s.try("nothing sent", nil, update("WELCOME10", payments.CouponPatch{}))
	s.try("nothing new", nil, update(" welcome10", payments.CouponPatch{
		Name: new("Ten percent"), Description: new("For new customers"), DiscountType: new("percent"), DiscountValue: euros("10.0"), Status: new("active"),
		ActiveFrom: new(session.Date("2026-01-01")), ActiveTo: new(session.Date("2027-12-31")), UsageLimit: new(int64(100)), MinOrderAmount: euros("0"),
	}))
	s.try("no dates, however they are stored", nil, update("FOREVER", payments.CouponPatch{ActiveFrom: new(session.Date("")), ActiveTo: new(session.Date("0000-00-00")), Description: new("")}))
	s.try("everything", nil, update("WELCOME10", payments.CouponPatch{
		Name: new("Five"), Description: new(""), DiscountType: new("fixed_amount"), DiscountValue: euros("500"), Status: new("inactive"),
		ActiveFrom: new(session.Date("0000-00-00")), ActiveTo: new(session.Date("2026-12-31")), UsageLimit: new(int64(0)), MinOrderAmount: euros("49.99"), MaxDiscountAmount: euros("5"),
	}), updatedRow("latepoint_coupons", 1, "name", "Ten percent", "Five", "description", "For new customers", "", "discount_type", "percent", "fixed",
		"discount_value", "10.0000", "500.0000", "status", "active", "disabled", "active_from", "2026-01-01", nil, "active_to", "2027-12-31", "2026-12-31",
		"rules", `{"limit_total":"100","limit_per_customer":"1"}`,
		`{"limit_total":"","limit_per_customer":"1","min_order_amount":"49.99","max_discount_amount":"5"}`), history("1"))
	s.try("rules of others stay", nil, update("MINUS5", payments.CouponPatch{UsageLimit: new(int64(3))}),
		updatedRow("latepoint_coupons", 2, "rules", `{"limit_total":"","agent_ids":"","service_ids":"4"}`, `{"limit_total":"3","agent_ids":"","service_ids":"4"}`), history("2"))
	s.try("the first rule", nil, update("FOREVER", payments.CouponPatch{UsageLimit: new(int64(3))}),
		untouched(updatedRow("latepoint_coupons", 4, "rules", nil, `{"limit_total":"3"}`)), history("4"))
	s.try("zero dates become dates", nil, update("FOREVER", payments.CouponPatch{ActiveFrom: new(session.Date("2026-12-01"))}),
		untouched(updatedRow("latepoint_coupons", 4, "active_from", "0000-00-00", "2026-12-01")), history("4"))
	s.try("unknown", nil, func(t *testing.T, site *session.Session) {
		for _, code := range []string{"NONE", "Wélcome10", ""} {
			if _, err := txUpdate(t.Context(), site, payments.UpdateCoupon, code, payments.CouponPatch{Name: new("x")}); domain.CodeOf(err) != domain.CodeNotFound {
				t.Errorf("%q: error %v, want not found", code, err)
			}
			if err := txDelete(t.Context(), site, payments.DeleteCoupon, code); domain.CodeOf(err) != domain.CodeNotFound {
				t.Errorf("%q: error %v, want not found", code, err)
			}
		}
	})
	s.try("deleted", nil, func(t *testing.T, site *session.Session) {
		expect.Succeeded(t, txDelete(t.Context(), site, payments.DeleteCoupon, "summer"))
	}, fixtures.Change{Table: "latepoint_coupons", Op: fixtures.Delete, Key: "3"})
}

// TestCouponsWithoutDates: earlier versions of the add-on lack these columns.
func TestCouponsWithoutDates(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithCoupons().WithFewBookings(), "ALTER TABLE wp_latepoint_coupons DROP COLUMN active_from, DROP COLUMN active_to")
	history := activityEntry("coupon_created", "coupon_id", "<id:coupon:1>", nil)
	row := newCoupon(nil)
	delete(row.Values, "active_from")
	delete(row.Values, "active_to")
	patch := payments.CouponPatch{DiscountType: new("percent"), DiscountValue: euros("50"), ActiveFrom: new(session.Date("")), ActiveTo: new(session.Date("0000-00-00"))}
	s.try("none sent", nil, func(t *testing.T, site *session.Session) {
		if _, err := txCreate(t.Context(), site, payments.CreateCoupon, payments.NewCoupon{Code: "HALF", CouponPatch: patch}); err != nil {
			t.Error(err)
		}
	}, row, history)
	s.try("one sent", nil, func(t *testing.T, site *session.Session) {
		_, err := txUpdate(t.Context(), site, payments.UpdateCoupon, "MINUS5", payments.CouponPatch{ActiveTo: new(session.Date("2026-12-31"))})
		wantFields(t, err, domain.CodeValidationFailed, map[string]string{"active_to": "The site's version of the coupon add-on has no dates"})
	})
}

func TestCouponsNeedTheAddOn(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	s.try("nothing", nil, func(t *testing.T, site *session.Session) {
		_, err := txCreate(t.Context(), site, payments.CreateCoupon, payments.NewCoupon{Code: "HALF"})
		var known *domain.Error
		if domain.CodeOf(err) != domain.CodeUnavailable || !errors.As(err, &known) || !strings.Contains(known.Message, "coupon add-on") {
			t.Errorf("error %v, want one that names the add-on", err)
		}
		if _, err := txUpdate(t.Context(), site, payments.UpdateCoupon, "HALF", payments.CouponPatch{}); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("error %v, want not found", err)
		}
		if err := txDelete(t.Context(), site, payments.DeleteCoupon, "HALF"); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("error %v, want not found", err)
		}
	})
}

// TestConcurrentCouponsWithOneCodeLeaveOne: of many concurrent coupons with one code, exactly one is
// created and the others are rejected.
func TestConcurrentCouponsWithOneCodeLeaveOne(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	site := s.site(t)
	const count = 20
	errs := make(chan error, count)
	for range count {
		go func() {
			_, err := txCreate(context.WithoutCancel(t.Context()), site, payments.CreateCoupon, payments.NewCoupon{Code: "half", CouponPatch: payments.CouponPatch{DiscountType: new("percent"), DiscountValue: euros("50")}})
			errs <- err
		}()
	}
	created := 0
	for range count {
		switch err := <-errs; {
		case err == nil:
			created++
		case domain.CodeOf(err) != domain.CodeValidationFailed:
			t.Error(err)
		}
	}
	expect.Equal(t, 1, created, "coupons that were made")
}
