package payments

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Coupon is a coupon of the plugin's add-on, with its usage.
type Coupon struct {
	ID                   int64
	Code, Name           string
	Description          string
	DiscountType         string // as stored: percent or fixed
	DiscountValue        decimal.Decimal
	Status               string       // as stored: active or disabled
	ActiveFrom, ActiveTo session.Date // "" or 0000-00-00 if unset
	Rules                CouponRules
	Usage                CouponUsage
	CreatedAt, UpdatedAt domain.Timestamp
}

// CouponRules are the limits in a coupon's JSON. Stored is the JSON itself, or ""
// if the column is NULL.
type CouponRules struct {
	Stored            string
	LimitTotal        int64 // 0 is unlimited
	MinOrderAmount    decimal.Decimal
	MaxDiscountAmount *decimal.Decimal
}

// CouponUsage sums up the orders with a coupon's code, except cancelled ones.
type CouponUsage struct {
	Count    int64
	Discount decimal.Decimal
	LastUsed domain.Timestamp // "" if never
}

// IsPercent reports whether the discount is a percentage. Otherwise it is an amount.
func (c Coupon) IsPercent() bool { return c.DiscountType == "percent" }

// CouponFilter filters a list of coupons. A nil field does not filter.
type CouponFilter struct {
	session.Paging
	Active *bool
	Search *string // code or name
}

// ListCoupons returns one page of the coupons that match the filter, newest first. A site
// without the add-on has none.
func ListCoupons(ctx context.Context, s *session.Session, f CouponFilter) (records.Page[Coupon], error) {
	page := records.Page[Coupon]{Paging: f.Paging}
	exists, err := session.HasTable(ctx, s, wpdb.Coupons)
	if err != nil || !exists {
		return page, err
	}
	q := sq.Select().From(s.DB.As(wpdb.Coupons, "k"))
	q = records.FilterActive(q, "k.status", f.Active)
	q = records.FilterSearch(q, f.Search, "k.code", "k.name")
	l := records.List{Op: "list coupons", Filter: q}
	page, err = records.ReadSmallPage(ctx, s, l, f.Paging, couponColumns(s, q), records.SortOrder{Columns: []string{"k.id"}, Descending: true}, scanCoupon)
	if err != nil {
		return page, err
	}
	return page, AddUsage(ctx, s, page.Records)
}

// LoadCoupon returns one coupon by its code, in any letter case, or a CodeNotFound.
func LoadCoupon(ctx context.Context, s *session.Session, code string) (Coupon, error) {
	found, err := storedCoupon(ctx, s, code)
	if err != nil {
		return Coupon{}, err
	}
	return withUsage(ctx, s, found)
}

// withUsage returns a coupon with its usage.
func withUsage(ctx context.Context, s *session.Session, c Coupon) (Coupon, error) {
	records := []Coupon{c}
	err := AddUsage(ctx, s, records)
	return records[0], err
}

// storedCoupon returns a Coupon without its usage, which would cost a scan.
func storedCoupon(ctx context.Context, s *session.Session, code string) (Coupon, error) {
	code = CouponCode(code)
	exists, err := session.HasTable(ctx, s, wpdb.Coupons)
	if err != nil {
		return Coupon{}, err
	}
	if !exists {
		return Coupon{}, domain.NotFound(domain.CouponResource, code)
	}
	found, err := LoadCoupons(ctx, s, sq.Eq{"k.code": code})
	if err != nil && !errors.Is(err, wpdb.ErrBadValue) {
		return Coupon{}, err
	}
	// The collation also finds codes that differ in accents, but those are different codes.
	found = slices.DeleteFunc(found, func(c Coupon) bool { return CouponCode(c.Code) != code })
	return records.Only(found, nil, domain.CouponResource, code) // none also for a text that the column cannot hold
}

// LoadCoupons reads coupons, without their usage.
func LoadCoupons(ctx context.Context, s *session.Session, which sq.Eq) ([]Coupon, error) {
	stmt := couponColumns(s, sq.Select().From(s.DB.As(wpdb.Coupons, "k")).Where(which).OrderBy("k.id DESC"))
	return wpdb.All(ctx, s.DB, "read coupons", stmt, scanCoupon)
}

// couponColumns selects what scanCoupon reads of coupons, k.
func couponColumns(s *session.Session, stmt sq.SelectBuilder) sq.SelectBuilder {
	return stmt.Columns(s.Schema.Columns(wpdb.Coupons, "k", "id", "code", "name", "description", "discount_type", "discount_value", "rules", "status",
		"active_from", "active_to", "created_at", "updated_at")...)
}

func scanCoupon(row wpdb.Scanner) (c Coupon, err error) {
	err = row.Scan(&c.ID, &c.Code, wpdb.OrZero(&c.Name), wpdb.OrZero(&c.Description), wpdb.OrZero(&c.DiscountType), wpdb.OrZero(&c.DiscountValue),
		wpdb.OrZero(&c.Rules.Stored), &c.Status, wpdb.OrZero((*string)(&c.ActiveFrom)), wpdb.OrZero((*string)(&c.ActiveTo)),
		wpdb.OrZero((*string)(&c.CreatedAt)), wpdb.OrZero((*string)(&c.UpdatedAt)))
	c.Rules.parse()
	return c, err
}

// parse reads the known limits. The plugin writes numbers as strings. Text that is not JSON sets no limits,
// and a number that is too large for an int64 is ignored.
func (r *CouponRules) parse() {
	if !json.Valid([]byte(r.Stored)) {
		return
	}
	var rules map[string]any
	decoder := json.NewDecoder(strings.NewReader(r.Stored))
	decoder.UseNumber()
	if decoder.Decode(&rules) != nil {
		return
	}
	if limit, ok := ruleAmount(rules["limit_total"]); ok && limit.BigInt().IsInt64() {
		r.LimitTotal = limit.IntPart()
	}
	if least, ok := ruleAmount(rules["min_order_amount"]); ok {
		r.MinOrderAmount = least
	}
	if most, ok := ruleAmount(rules["max_discount_amount"]); ok {
		r.MaxDiscountAmount = &most
	}
}

// ruleAmount reads a number, or a text with one. Its length is bounded first: a huge exponent would cost
// memory.
func ruleAmount(value any) (decimal.Decimal, bool) {
	var text string
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	}
	if text == "" || len(text) > 24 || strings.ContainsAny(text, "eE") {
		return decimal.Decimal{}, false
	}
	amount, err := decimal.NewFromString(text)
	return amount, err == nil
}

// AddUsage sums up orders by coupon. orders.coupon_code has no index: one scan serves all coupons of a
// page. The collation decides which coupon an order's code means, in whatever letter case, so the database
// returns the coupon's position instead of a code. The plugin's staff form stores discounts as negative.
func AddUsage(ctx context.Context, s *session.Session, coupons []Coupon) error {
	if len(coupons) == 0 {
		return nil
	}
	codes := make([]string, len(coupons))
	args := make([]any, len(coupons))
	for i, c := range coupons {
		codes[i], args[i] = c.Code, c.Code
	}
	stmt := sq.Select().Column("FIELD(o.coupon_code, "+sq.Placeholders(len(codes))+") AS place", args...).
		Columns("COUNT(*)", "SUM(ABS(o.coupon_discount))", "MAX(o.created_at)").
		From(s.DB.As(wpdb.Orders, "o")).
		Where(sq.Eq{"o.coupon_code": codes}).Where(sq.NotEq{"o.status": records.OrderCancelled}).GroupBy("place")
	type used struct {
		place int
		CouponUsage
	}
	found, err := wpdb.All(ctx, s.DB, "read use of coupons", stmt, wpdb.Into(func(u *used) []any {
		return []any{&u.place, &u.Count, wpdb.OrZero(&u.Discount), wpdb.OrZero((*string)(&u.LastUsed))}
	}))
	for _, u := range found {
		if u.place > 0 {
			coupons[u.place-1].Usage = u.CouponUsage
		}
	}
	return err
}

// RecentOrders is the number of orders shown with a single coupon.
const RecentOrders = 10
