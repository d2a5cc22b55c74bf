package payments

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// CouponPatch changes a coupon. A nil field stays as it is. Validation holds the problems found so far; its
// fields are not checked again.
type CouponPatch struct {
	Name, Description                 *string
	DiscountType                      *string // percent, fixed or fixed_amount
	DiscountValue                     *decimal.Decimal
	Status                            *string       // active, inactive or disabled
	ActiveFrom, ActiveTo              *session.Date // "" or 0000-00-00 for none
	UsageLimit                        *int64        // 0 is unlimited
	MinOrderAmount, MaxDiscountAmount *decimal.Decimal
	NoMaxDiscount                     bool // clears MaxDiscountAmount
	domain.Validation
}

// NewCoupon is a coupon to create. Code, discount type and discount value are required.
type NewCoupon struct {
	Code string
	CouponPatch
}

// CreateCoupon creates a coupon as the add-on's form does (OsCouponsController, LatePoint
// Pro Features).
//
// If anything is wrong with the coupon, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field; if the site does not have the add-on, a
// CodeUnavailable.
func CreateCoupon(ctx context.Context, tx *session.Tx, n NewCoupon) (Coupon, error) {
	exists, err := session.HasTable(ctx, tx.Session, wpdb.Coupons)
	if err != nil {
		return Coupon{}, err
	}
	if !exists {
		return Coupon{}, domain.Unavailable("The coupon add-on of LatePoint is not installed on this site", nil)
	}
	p := n.Problems()
	n.Code = CouponCode(text.Field(n.Code))
	p.Require("code", n.Code != "")
	p.Require("discount_type", n.DiscountType != nil)
	p.Require("discount_value", n.DiscountValue != nil)
	tx.CheckText(&p, "code", wpdb.Coupons, "code", n.Code)
	if err := checkCouponCode(ctx, tx.Session, n.Code, &p); err != nil {
		return Coupon{}, err
	}
	patch := sanitizeCoupon(tx.Session, n.CouponPatch, Coupon{}, &p)
	if err := p.Err(); err != nil {
		return Coupon{}, err
	}
	rules, err := patch.rules(CouponRules{})
	if err != nil {
		return Coupon{}, err
	}
	id, err := tx.Insert(ctx, wpdb.Coupons, append(session.Row{
		{Name: "code", Value: n.Code}, {Name: "name", Value: domain.ValueOr(patch.Name, "")}, {Name: "discount_type", Value: *patch.DiscountType}, {Name: "discount_value", Value: session.OrAmount(patch.DiscountValue)},
		{Name: "description", Value: domain.ValueOr(patch.Description, "")}, {Name: "rules", Value: wpdb.NullIfZero(rules)}, {Name: "status", Value: domain.ValueOr(patch.Status, couponActive)},
		{Name: "active_from", Value: nullableDate(patch.ActiveFrom)}, {Name: "active_to", Value: nullableDate(patch.ActiveTo)},
	}, tx.NewTimestamps()...))
	switch {
	case errors.Is(err, wpdb.ErrDuplicate): // created by another request a moment ago
		p.Reject("code", DuplicateCouponCode)
		return Coupon{}, p.Err()
	case err != nil:
		return Coupon{}, err
	}
	return logCoupon(ctx, tx, id, "coupon_created")
}

// CouponCode returns a coupon code in its stored form.
func CouponCode(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }

// DuplicateCouponCode is the message for a code that another coupon has.
const DuplicateCouponCode = "A coupon with this code exists already"

// checkCouponCode rejects a code that another coupon has. The column's collation decides, as it does for
// its index.
func checkCouponCode(ctx context.Context, s *session.Session, code string, p *domain.Validation) error {
	if p.Has("code") {
		return nil
	}
	stmt := sq.Select("id").From(s.DB.Name(wpdb.Coupons)).Where(sq.Eq{"code": code}).Limit(1)
	_, exists, err := wpdb.One(ctx, s.DB, "find coupon", stmt, wpdb.Value[int64])
	if exists {
		p.Reject("code", DuplicateCouponCode)
	}
	return err
}

// logCoupon adds a coupon to the activity log, with a code that the plugin has a label for, and reads the
// coupon back.
func logCoupon(ctx context.Context, tx *session.Tx, id int64, code string) (Coupon, error) {
	if err := notify.LogActivities(ctx, tx, notify.Activity{Code: code, CouponID: &id}); err != nil {
		return Coupon{}, err
	}
	records, err := LoadCoupons(ctx, tx.Session, sq.Eq{"k.id": id})
	if err == nil && len(records) == 0 {
		err = session.ErrRowGone
	}
	if err != nil {
		return Coupon{}, err
	}
	return withUsage(ctx, tx.Session, records[0])
}

// UpdateCoupon changes a coupon, found by its code in any letter case. Rules that the patch does not set
// stay as they are. It returns the errors of CreateCoupon, and a CodeNotFound if the code does not exist.
func UpdateCoupon(ctx context.Context, tx *session.Tx, code string, sent CouponPatch) (Coupon, error) {
	before, err := lockCoupon(ctx, tx, code)
	if err != nil {
		return Coupon{}, err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return Coupon{}, err
	}
	p := sent.Problems()
	patch := sanitizeCoupon(tx.Session, sent, before, &p)
	if err := p.Err(); err != nil {
		return Coupon{}, err
	}
	columns := patch.changeset(before)
	rules, err := patch.rules(before.Rules)
	if err != nil {
		return Coupon{}, err
	}
	columns.Text("rules", &rules, before.Rules.Stored)
	if len(columns) == 0 {
		return withUsage(ctx, tx.Session, before)
	}
	if err := tx.Update(ctx, wpdb.Coupons, before.ID, append(session.Row(columns), tx.UpdateTimestamp())); err != nil {
		return Coupon{}, err
	}
	return logCoupon(ctx, tx, before.ID, "coupon_updated")
}

// DeleteCoupon deletes a coupon, found by its code in any letter case, or returns a CodeNotFound. Orders
// keep the code.
func DeleteCoupon(ctx context.Context, tx *session.Tx, code string) error {
	c, err := lockCoupon(ctx, tx, code)
	if err != nil {
		return err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return err
	}
	return tx.Delete(ctx, wpdb.Coupons, c.ID)
}

// lockCoupon makes other writers of a coupon wait and reads its current state, without its usage, or
// returns a CodeNotFound.
func lockCoupon(ctx context.Context, tx *session.Tx, code string) (Coupon, error) {
	if err := tx.Lock(ctx, LocksOfCoupon(&code)...); err != nil {
		return Coupon{}, err
	}
	found, err := storedCoupon(ctx, tx.Session, code)
	if err != nil {
		return Coupon{}, err
	}
	if err := tx.LockRows(ctx, wpdb.Coupons, []int64{found.ID}); err != nil {
		return Coupon{}, err
	}
	return storedCoupon(ctx, tx.Session, code)
}

// couponActive is the status of coupons that can be used.
const couponActive = "active"

// The stored words for types and statuses of coupons, by our words and by the add-on's.
var (
	discountTypes  = map[string]string{"percent": "percent", "fixed": "fixed", "fixed_amount": "fixed"}
	couponStatuses = map[string]string{couponActive: couponActive, "inactive": "disabled", "disabled": "disabled"}
)

// sanitizeCoupon validates a patch, sanitizes its texts and replaces its words with the stored ones.
func sanitizeCoupon(s *session.Session, patch CouponPatch, before Coupon, p *domain.Validation) CouponPatch {
	session.SanitizeField(s, p, "name", &patch.Name, text.Field, wpdb.Coupons, "name")
	session.SanitizeField(s, p, "description", &patch.Description, text.TextareaField, wpdb.Coupons, "description")
	storedWord(p, "discount_type", &patch.DiscountType, discountTypes)
	storedWord(p, "status", &patch.Status, couponStatuses)
	checkDiscount(p, patch, before)
	checkPeriod(s, p, patch, before)
	session.CheckNumber(p, "usage_limit", patch.UsageLimit, 0, session.NotNegative)
	session.CheckAmount(p, "min_order_amount", patch.MinOrderAmount)
	session.CheckAmount(p, "max_discount_amount", patch.MaxDiscountAmount)
	return patch
}

// storedWord replaces a word with the stored one, and rejects an unknown one.
func storedWord(p *domain.Validation, field string, sent **string, words map[string]string) {
	if *sent == nil {
		return
	}
	word, ok := words[**sent]
	if !ok {
		p.Reject(field, "Unknown "+field)
		return
	}
	*sent = &word
}

// checkDiscount rejects a discount of zero or of more than 100 percent.
func checkDiscount(p *domain.Validation, patch CouponPatch, before Coupon) {
	session.CheckAmount(p, "discount_value", patch.DiscountValue)
	if patch.DiscountValue == nil && patch.DiscountType == nil || p.Has("discount_value") || p.Has("discount_type") {
		return
	}
	value := domain.ValueOr(patch.DiscountValue, before.DiscountValue)
	switch percent := domain.ValueOr(patch.DiscountType, before.DiscountType) == "percent"; {
	case patch.DiscountValue != nil && value.IsZero():
		p.Reject("discount_value", "Must be more than 0")
	case percent && value.GreaterThan(decimal.NewFromInt(100)):
		p.Reject("discount_value", "May be at most 100 percent")
	}
}

// checkPeriod rejects invalid dates, a period that ends before it begins, and dates for
// which the site's version of the add-on has no columns.
func checkPeriod(s *session.Session, p *domain.Validation, patch CouponPatch, before Coupon) {
	sent := ""
	for _, d := range []struct {
		field string
		date  *session.Date
	}{{"active_from", patch.ActiveFrom}, {"active_to", patch.ActiveTo}} {
		if d.date == nil || unset(*d.date) {
			continue
		}
		sent = d.field
		if _, ok := d.date.Time(time.UTC); !ok {
			p.Invalid(d.field, "Invalid date")
		}
		if _, ok := s.Schema.Column(wpdb.Coupons, d.field); !ok {
			p.Reject(d.field, "The site's version of the coupon add-on has no dates")
		}
	}
	from, to := domain.ValueOr(patch.ActiveFrom, before.ActiveFrom), domain.ValueOr(patch.ActiveTo, before.ActiveTo)
	if sent != "" && !unset(from) && !unset(to) && to < from && !p.Has("active_from") && !p.Has("active_to") {
		p.Reject(sent, "The coupon would end before it begins")
	}
}

// unset reports whether there is no date, which columns store as NULL or as a zero date.
func unset(d session.Date) bool { return d == "" || d == domain.ZeroDate }

// nullableDate returns the stored form of a date: NULL for none.
func nullableDate(d *session.Date) any {
	if d == nil || unset(*d) {
		return nil
	}
	return string(*d)
}

// changeset returns the changed columns, without the rules.
func (patch CouponPatch) changeset(c Coupon) session.Changeset {
	var e session.Changeset
	e.Text("name", patch.Name, c.Name)
	e.Text("description", patch.Description, c.Description)
	e.Text("discount_type", patch.DiscountType, c.DiscountType)
	e.Amount("discount_value", patch.DiscountValue, c.DiscountValue)
	e.Text("status", patch.Status, c.Status)
	date(&e, "active_from", patch.ActiveFrom, c.ActiveFrom)
	date(&e, "active_to", patch.ActiveTo, c.ActiveTo)
	return e
}

func date(e *session.Changeset, name string, sent *session.Date, stored session.Date) {
	if sent != nil && *sent != stored && (!unset(*sent) || !unset(stored)) {
		e.Set(name, nullableDate(sent))
	}
}

// rules returns a coupon's rules as JSON, with the fields that were sent. Its other rules and their order
// stay. As in the add-on, numbers are stored as texts.
func (patch CouponPatch) rules(stored CouponRules) (string, error) {
	var changes []records.Member
	set := func(key, value string) {
		changes = append(changes, records.Member{Key: key, Value: json.RawMessage(`"` + value + `"`)})
	}
	if patch.UsageLimit != nil && *patch.UsageLimit != stored.LimitTotal {
		limit := ""
		if *patch.UsageLimit > 0 {
			limit = strconv.FormatInt(*patch.UsageLimit, 10)
		}
		set("limit_total", limit)
	}
	if patch.MinOrderAmount != nil && !patch.MinOrderAmount.Equal(stored.MinOrderAmount) {
		set("min_order_amount", patch.MinOrderAmount.String())
	}
	if most := patch.MaxDiscountAmount; most != nil && (stored.MaxDiscountAmount == nil || !most.Equal(*stored.MaxDiscountAmount)) {
		set("max_discount_amount", most.String())
	} else if most == nil && patch.NoMaxDiscount && stored.MaxDiscountAmount != nil {
		set("max_discount_amount", "")
	}
	if len(changes) == 0 {
		return stored.Stored, nil
	}
	return records.WithMembers(stored.Stored, changes)
}
