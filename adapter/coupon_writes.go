package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// CouponPatch changes a coupon. A nil field stays as it is. Validation has the problems
// found so far; fields named there are not checked again.
type CouponPatch struct {
	Name, Description                 *string
	DiscountType                      *string // percent, fixed or fixed_amount
	DiscountValue                     *decimal.Decimal
	Status                            *string // active, inactive or disabled
	ActiveFrom, ActiveTo              *Date   // "" or 0000-00-00 for none
	UsageLimit                        *int64  // 0 is unlimited
	MinOrderAmount, MaxDiscountAmount *decimal.Decimal
	NoMaxDiscount                     bool // clears MaxDiscountAmount
	Validation                        domain.Validation
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
func (tx *Tx) CreateCoupon(ctx context.Context, n NewCoupon) (Coupon, error) {
	if err := tx.refuseUnseen(); err != nil {
		return Coupon{}, err
	}
	exists, err := tx.hasCoupons(ctx)
	if err != nil {
		return Coupon{}, err
	}
	if !exists {
		return Coupon{}, domain.Unavailable("The coupon add-on of LatePoint is not installed on this site", nil)
	}
	p := n.Validation.Clone()
	n.Code = couponCode(sanitize.TextField(n.Code))
	p.Require("code", n.Code != "")
	p.Require("discount_type", n.DiscountType != nil)
	p.Require("discount_value", n.DiscountValue != nil)
	tx.checkText(&p, "code", wpdb.Coupons, "code", n.Code)
	if err := tx.checkCouponCode(ctx, n.Code, &p); err != nil {
		return Coupon{}, err
	}
	patch := tx.sanitizeCoupon(n.CouponPatch, Coupon{}, &p)
	if err := p.Err(); err != nil {
		return Coupon{}, err
	}
	rules, err := patch.rules(CouponRules{})
	if err != nil {
		return Coupon{}, err
	}
	id, err := tx.insert(ctx, wpdb.Coupons, append(row{
		{"code", n.Code}, {"name", domain.ValueOr(patch.Name, "")}, {"discount_type", *patch.DiscountType}, {"discount_value", orAmount(patch.DiscountValue)},
		{"description", domain.ValueOr(patch.Description, "")}, {"rules", wpdb.NullIfZero(rules)}, {"status", domain.ValueOr(patch.Status, couponActive)},
		{"active_from", nullableDate(patch.ActiveFrom)}, {"active_to", nullableDate(patch.ActiveTo)},
	}, tx.newTimestamps()...))
	switch {
	case errors.Is(err, wpdb.ErrDuplicate): // created by another request a moment ago
		p.Reject("code", duplicateCouponCode)
		return Coupon{}, p.Err()
	case err != nil:
		return Coupon{}, err
	}
	return tx.logCoupon(ctx, id, "coupon_created")
}

// couponCode returns a coupon code in its stored form.
func couponCode(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }

// duplicateCouponCode is told to a client whose code another coupon has.
const duplicateCouponCode = "A coupon with this code exists already"

// checkCouponCode rejects a code that another coupon has. The collation of the column
// decides, as it does for its index.
func (s *Site) checkCouponCode(ctx context.Context, code string, p *domain.Validation) error {
	if p.Has("code") {
		return nil
	}
	stmt := sq.Select("id").From(s.db.Name(wpdb.Coupons)).Where(sq.Eq{"code": code}).Limit(1)
	_, exists, err := wpdb.One(ctx, s.db, "find coupon", stmt, wpdb.Value[int64])
	if exists {
		p.Reject("code", duplicateCouponCode)
	}
	return err
}

// logCoupon adds a coupon to the activity log, under a code that the plugin has a label
// for, and reads the coupon back.
func (tx *Tx) logCoupon(ctx context.Context, id int64, code string) (Coupon, error) {
	if err := tx.logActivities(ctx, activity{code: code, couponID: &id}); err != nil {
		return Coupon{}, err
	}
	records, err := tx.coupons(ctx, sq.Eq{"k.id": id})
	if err == nil && len(records) == 0 {
		err = errRowGone
	}
	if err != nil {
		return Coupon{}, err
	}
	return tx.withUsage(ctx, records[0])
}

// UpdateCoupon changes a coupon, found by its code in any letter case. Rules other than
// those of the patch stay as they are. Errors are those of CreateCoupon, and a
// CodeNotFound if the code does not exist.
func (tx *Tx) UpdateCoupon(ctx context.Context, code string, sent CouponPatch) (Coupon, error) {
	before, err := tx.lockCoupon(ctx, code)
	if err != nil {
		return Coupon{}, err
	}
	if err := tx.checkPrecondition(); err != nil {
		return Coupon{}, err
	}
	p := sent.Validation.Clone()
	patch := tx.sanitizeCoupon(sent, before, &p)
	if err := p.Err(); err != nil {
		return Coupon{}, err
	}
	columns := patch.changeset(before)
	rules, err := patch.rules(before.Rules)
	if err != nil {
		return Coupon{}, err
	}
	columns.text("rules", &rules, before.Rules.Stored)
	if len(columns) == 0 {
		return tx.withUsage(ctx, before)
	}
	if err := tx.update(ctx, wpdb.Coupons, before.ID, append(row(columns), tx.updateTimestamp())); err != nil {
		return Coupon{}, err
	}
	return tx.logCoupon(ctx, before.ID, "coupon_updated")
}

// DeleteCoupon deletes a coupon, found by its code in any letter case; a CodeNotFound if
// it does not exist. Orders keep the code.
func (tx *Tx) DeleteCoupon(ctx context.Context, code string) error {
	c, err := tx.lockCoupon(ctx, code)
	if err != nil {
		return err
	}
	if err := tx.checkPrecondition(); err != nil {
		return err
	}
	return tx.delete(ctx, wpdb.Coupons, c.ID)
}

// lockCoupon makes other writers of a coupon wait and reads its current state, without
// its usage; a CodeNotFound if it does not exist.
func (tx *Tx) lockCoupon(ctx context.Context, code string) (Coupon, error) {
	if err := tx.lock(ctx, locksOfCoupon(&code)...); err != nil {
		return Coupon{}, err
	}
	found, err := tx.storedCoupon(ctx, code)
	if err != nil {
		return Coupon{}, err
	}
	if err := tx.lockRows(ctx, wpdb.Coupons, []int64{found.ID}); err != nil {
		return Coupon{}, err
	}
	return tx.storedCoupon(ctx, code)
}

// couponActive is the status of coupons that can be used.
const couponActive = "active"

// The stored words for types and statuses of coupons, by our words and the add-on's.
var (
	discountTypes  = map[string]string{"percent": "percent", "fixed": "fixed", "fixed_amount": "fixed"}
	couponStatuses = map[string]string{couponActive: couponActive, "inactive": "disabled", "disabled": "disabled"}
)

// sanitizeCoupon validates a patch, sanitizes its texts and replaces its words by the
// stored ones.
func (s *Site) sanitizeCoupon(patch CouponPatch, before Coupon, p *domain.Validation) CouponPatch {
	s.sanitizeField(p, "name", &patch.Name, sanitize.TextField, wpdb.Coupons, "name")
	s.sanitizeField(p, "description", &patch.Description, sanitize.TextareaField, wpdb.Coupons, "description")
	storedWord(p, "discount_type", &patch.DiscountType, before.DiscountType, discountTypes)
	storedWord(p, "status", &patch.Status, before.Status, couponStatuses)
	checkDiscount(p, patch, before)
	s.checkPeriod(p, patch, before)
	checkNumber(p, "usage_limit", patch.UsageLimit, 0, notNegative)
	checkAmount(p, "min_order_amount", patch.MinOrderAmount)
	checkAmount(p, "max_discount_amount", patch.MaxDiscountAmount)
	return patch
}

// storedWord replaces a word by the stored one, and rejects an unknown one.
func storedWord(p *domain.Validation, field string, sent **string, stored string, words map[string]string) {
	if *sent == nil || **sent == stored && stored != "" {
		return
	}
	word, ok := words[**sent]
	if !ok {
		p.Reject(field, "Unknown "+field)
		return
	}
	*sent = &word
}

// checkDiscount rejects a discount of zero, and one of more than 100 percent.
func checkDiscount(p *domain.Validation, patch CouponPatch, before Coupon) {
	checkAmount(p, "discount_value", patch.DiscountValue)
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
func (s *Site) checkPeriod(p *domain.Validation, patch CouponPatch, before Coupon) {
	sent := ""
	for _, d := range []struct {
		field string
		date  *Date
	}{{"active_from", patch.ActiveFrom}, {"active_to", patch.ActiveTo}} {
		if d.date == nil || d.date.unset() {
			continue
		}
		sent = d.field
		if _, ok := d.date.Time(time.UTC); !ok {
			p.Invalid(d.field, "Invalid date")
		}
		if _, ok := s.schema.Column(wpdb.Coupons, d.field); !ok {
			p.Reject(d.field, "The site's version of the coupon add-on has no dates")
		}
	}
	from, to := domain.ValueOr(patch.ActiveFrom, before.ActiveFrom), domain.ValueOr(patch.ActiveTo, before.ActiveTo)
	if sent != "" && !from.unset() && !to.unset() && to < from && !p.Has("active_from") && !p.Has("active_to") {
		p.Reject(sent, "The coupon would end before it begins")
	}
}

// unset reports whether there is no date, which columns hold as NULL or as a zero date.
func (d Date) unset() bool { return d == "" || d == domain.ZeroDate }

// nullableDate returns the stored form of a date: NULL for none.
func nullableDate(d *Date) any {
	if d == nil || d.unset() {
		return nil
	}
	return string(*d)
}

// changeset returns the changed columns, without the rules.
func (patch CouponPatch) changeset(c Coupon) changeset {
	var e changeset
	e.text("name", patch.Name, c.Name)
	e.text("description", patch.Description, c.Description)
	e.text("discount_type", patch.DiscountType, c.DiscountType)
	e.amount("discount_value", patch.DiscountValue, c.DiscountValue)
	e.text("status", patch.Status, c.Status)
	e.date("active_from", patch.ActiveFrom, c.ActiveFrom)
	e.date("active_to", patch.ActiveTo, c.ActiveTo)
	return e
}

func (e *changeset) date(name string, sent *Date, stored Date) {
	if sent != nil && *sent != stored && (!sent.unset() || !stored.unset()) {
		e.set(name, nullableDate(sent))
	}
}

// rules returns a coupon's rules as JSON, with the fields that were sent. Its other rules
// and their order stay. Numbers are texts there, as the add-on writes them.
func (patch CouponPatch) rules(stored CouponRules) (string, error) {
	var changes []member
	set := func(key, value string) { changes = append(changes, member{key, json.RawMessage(`"` + value + `"`)}) }
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
	return withMembers(stored.Stored, changes)
}
