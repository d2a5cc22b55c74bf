package payments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// CouponUse is an order that will have a coupon. If it already has the coupon, only what an update changes
// is checked.
type CouponUse struct {
	Order     int64 // 0 for a new one, which must not have an unknown code
	Customer  int64 // 0 if unknown
	Anyone    bool  // it may be anyone's, so that nothing about the customer is checked
	Subtotal  decimal.Decimal
	Items     []records.OrderItem
	Had       bool // the order already has the coupon
	Cancelled bool // but was cancelled, so it did not count as a use
	Moved     bool // it moves to this customer
	Hidden    bool // the caller may not learn about the customer
}

// aboutCustomer returns a reason that tells something about the customer, or one that does not.
func (u CouponUse) aboutCustomer(reason string) string {
	if u.Hidden {
		return "This coupon cannot be used for this booking"
	}
	return reason
}

// couponConditions are the conditions in a coupon's rules that its record does not show. An empty list or
// the number 0 means none.
type couponConditions struct {
	customers, agents, services, bundles []string
	minSubtotal                          decimal.Decimal
	perCustomer, more, less, perOrder    int64
}

// conditions parses the rules as the add-on writes them: lists are comma-separated texts.
func (r CouponRules) conditions() couponConditions {
	var rules map[string]any
	decoder := json.NewDecoder(strings.NewReader(r.Stored))
	decoder.UseNumber()
	if decoder.Decode(&rules) != nil {
		return couponConditions{}
	}
	ids := func(key string) []string {
		text, _ := rules[key].(string)
		if list, ok := rules[key].([]any); ok {
			text = strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ","), "[]")
		}
		return strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	}
	number := func(key string) int64 {
		if amount, ok := ruleAmount(rules[key]); ok && amount.BigInt().IsInt64() {
			return amount.IntPart()
		}
		return 0
	}
	c := couponConditions{
		customers: ids("customer_ids"), agents: ids("agent_ids"), services: ids("service_ids"), bundles: ids("bundle_ids"),
		minSubtotal: r.MinOrderAmount, perCustomer: number("limit_per_customer"), more: number("orders_more"), less: number("orders_less"), perOrder: number("limit_per_order"),
	}
	if least, ok := ruleAmount(rules["minimum_order_subtotal"]); ok {
		c.minSubtotal = decimal.Max(c.minSubtotal, least)
	}
	return c
}

// CheckCoupon rejects a coupon that an order may not have (OsCouponsHelper::is_coupon_code_valid, LatePoint
// Pro Features 1.6.3). Unless the order already has an error, the lock of the coupon is held, so that its
// uses are counted one at a time.
func CheckCoupon(ctx context.Context, tx *session.Tx, code string, use CouponUse, p *domain.Validation) error {
	const field = "coupon_code"
	if p.Has(field) {
		return nil
	}
	_, reason, err := FindCoupon(ctx, tx, code, use)
	if reason != "" {
		p.Reject(field, reason+". Send force=true to store it all the same")
	}
	return err
}

// FindCoupon returns the coupon for an order, and says why the order may not have it, or "". The coupon's
// lock must be held if the order gets it: see CheckCoupon.
func FindCoupon(ctx context.Context, tx *session.Tx, code string, use CouponUse) (coupon Coupon, reason string, err error) {
	coupon, err = storedCoupon(ctx, tx.Session, code)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound && use.Order != 0:
		return coupon, "", nil // an order keeps whatever code it gets later
	case domain.CodeOf(err) == domain.CodeNotFound:
		return coupon, "No coupon has this code", nil
	case err != nil:
		return coupon, "", err
	}
	if reason = coupon.unusable(use, tx.Now.UTC()); reason == "" {
		reason, err = couponUsed(ctx, tx.Session, coupon, use)
	}
	return coupon, reason, err
}

// Pricing returns the coupon as pricing needs it.
func (c Coupon) Pricing() records.PricedCoupon {
	return records.PricedCoupon{Percent: c.IsPercent(), Value: c.DiscountValue, Most: c.Rules.MaxDiscountAmount, PerOrder: c.Rules.conditions().perOrder}
}

const forOtherCustomers = "This coupon is for other customers"

// unusable says why a coupon cannot be used for an order, regardless of other orders, or "". Its period
// applies only to new orders, by the day in UTC, and ends before its last day begins: the add-on compares
// that day with the present time.
func (c Coupon) unusable(use CouponUse, now time.Time) string {
	today, rules := session.Date(now.Format(time.DateOnly)), c.Rules.conditions()
	others := len(rules.customers) > 0 && !use.Anyone && !slices.Contains(rules.customers, domain.IDText(use.Customer))
	switch {
	case use.Had && others:
		return use.aboutCustomer(forOtherCustomers)
	case use.Had:
		return ""
	case !strings.EqualFold(c.Status, couponActive):
		return "This coupon is not active"
	case use.Order == 0 && !unset(c.ActiveFrom) && today < c.ActiveFrom:
		return "This coupon is not valid yet"
	case use.Order == 0 && !unset(c.ActiveTo) && today >= c.ActiveTo:
		return "This coupon has expired"
	case others:
		return use.aboutCustomer(forOtherCustomers)
	case !rules.matchItems(use.Items):
		return "This coupon is for other agents, services or bundles"
	case use.Subtotal.LessThan(rules.minSubtotal):
		return "The order's subtotal is too small for this coupon"
	default:
		return ""
	}
}

// matchItems reports whether one of the items is for one of the coupon's agents, services and bundles, as
// far as it names any.
func (c couponConditions) matchItems(items []records.OrderItem) bool {
	if len(c.agents)+len(c.services)+len(c.bundles) == 0 {
		return true
	}
	return slices.ContainsFunc(items, func(item records.OrderItem) bool {
		members, err := records.ObjectMembers(item.ItemData)
		if err != nil {
			return false
		}
		fits := func(key string, wanted []string) bool {
			return len(wanted) == 0 || slices.ContainsFunc(members, func(m records.Member) bool {
				return m.Key == key && slices.Contains(wanted, strings.Trim(string(m.Value), `"`))
			})
		}
		if item.Variant == records.BundleItem {
			return len(c.bundles) > 0 && fits("bundle_id", c.bundles)
		}
		return len(c.agents)+len(c.services) > 0 && fits("agent_id", c.agents) && fits("service_id", c.services)
	})
}

// couponUsed says why a coupon cannot be used because of other orders, or "": those with its code that are
// not cancelled, and those of the customer.
func couponUsed(ctx context.Context, s *session.Session, c Coupon, use CouponUse) (string, error) {
	rules := c.Rules.conditions()
	type counts struct{ all, theirs, orders int64 }
	stmt := sq.Select().
		Column("COALESCE(SUM(o.coupon_code = ? AND o.status <> 'cancelled'), 0)", c.Code).
		Column("COALESCE(SUM(o.coupon_code = ? AND o.status <> 'cancelled' AND o.customer_id = ?), 0)", c.Code, use.Customer).
		Column("COALESCE(SUM(o.status <> 'cancelled' AND o.customer_id = ?), 0)", use.Customer).
		From(s.DB.As(wpdb.Orders, "o")).Where(sq.Or{sq.Eq{"o.coupon_code": c.Code}, sq.Eq{"o.customer_id": use.Customer}}).Where(sq.NotEq{"o.id": use.Order})
	used, _, err := wpdb.One(ctx, s.DB, "count uses of coupon", stmt, wpdb.Into(func(n *counts) []any {
		return []any{&n.all, &n.theirs, &n.orders}
	}))
	switch {
	case err != nil:
		return "", err
	case c.Rules.LimitTotal > 0 && (!use.Had || use.Cancelled) && used.all >= c.Rules.LimitTotal:
		return "This coupon has been used as often as it may be", nil
	case rules.perCustomer > 0 && used.theirs >= rules.perCustomer:
		return use.aboutCustomer("The customer has used this coupon as often as they may"), nil
	case use.Had && !use.Moved:
		return "", nil
	case rules.more > 0 && !use.Anyone && used.orders <= rules.more:
		return use.aboutCustomer("The customer has too few orders for this coupon"), nil
	case rules.less > 0 && used.orders >= rules.less:
		return use.aboutCustomer("The customer has too many orders for this coupon"), nil
	default:
		return "", nil
	}
}
