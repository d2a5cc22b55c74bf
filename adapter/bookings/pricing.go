package bookings

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// charge is what a booking costs.
type charge struct {
	item      records.PricedItem
	itemTotal decimal.Decimal // after the item's discount, before taxes
	coupon    string          // its code; "" for none
	breakdown any             // the composition of the price, to be stored as JSON
	records.Totals
}

// Meta keys of services that Pro Features uses.
const (
	metaBaseFee = "base_fee"
	metaFlat    = "dont_multiply_charge_amount_by_attendees"
)

var metaKeys = append([]string{metaBaseFee, metaFlat}, slots.NumberOfExtrasKeys...)

// chargeFor computes what a new booking costs: the price that was sent, the one that WordPress answered, or that
// of the service with its extras. A coupon that does not apply is rejected. customer is nil if it is not known
// yet, and 0 for a new one.
func chargeFor(ctx context.Context, tx *session.Tx, w session.WriteSettings, b New, a appointment, customer *int64, answer *extensions.Price, p *domain.Validation) (charge, error) {
	priced := records.PricedBooking{Service: a.service.Price(a.duration)}
	pro := tx.Extension(extensions.ProFeatures, w.Settings)
	switch {
	case b.Price != nil:
		priced.Service = *b.Price
	case pro:
		priced.Attendees, priced.Extras = b.Attendees, a.extras
		priced.BaseFee, priced.Flat = records.AmountFrom(a.meta[metaBaseFee]), a.meta[metaFlat] == session.On
	}
	items := []records.PricedItem{{Subtotal: priced.Amount()}}
	var coupon string
	var taxes []records.Tax
	if pro {
		coupon, taxes = text.Field(b.CouponCode), records.ParseTaxes(w.Settings[session.SettingTaxes])
		if err := applyCoupon(ctx, tx, coupon, b, customer, items, p); err != nil {
			return charge{}, err
		}
	}
	totals := records.TotalsOf(items, taxes)
	c := charge{
		item: items[0], itemTotal: items[0].Total(), coupon: coupon, Totals: totals,
		breakdown: records.BreakdownOf(w, a.service.Name, priced).WithTotals(w, totals, coupon),
	}
	if answer != nil && b.Price == nil {
		c = charge{
			item:      records.PricedItem{Subtotal: answer.Item.Subtotal, Discount: answer.Item.Discount},
			itemTotal: answer.Item.Total, coupon: answer.CouponCode, breakdown: json.RawMessage(answer.Breakdown),
			Totals: records.Totals{Subtotal: answer.Subtotal, Discount: answer.Discount, Tax: answer.Tax, Total: answer.Total},
		}
	}
	if c.Subtotal.GreaterThan(domain.MaxAmount) || c.Total.GreaterThan(domain.MaxAmount) {
		p.Reject("price", "Too large")
	}
	return c, nil
}

// applyCoupon takes a coupon off the item of a booking. A coupon for some agents does not apply to a
// booking for any agent: as in the site's form, the agent is not known beforehand.
func applyCoupon(ctx context.Context, tx *session.Tx, code string, b New, customer *int64, items []records.PricedItem, p *domain.Validation) error {
	const field = "coupon_code"
	if code == "" {
		return nil
	}
	tx.CheckText(p, field, wpdb.Orders, field, code)
	item := records.OrderItem{Variant: records.BookingItem, ItemData: fmt.Sprintf(`{"agent_id":%d,"service_id":%d}`, b.AgentID, b.ServiceID)}
	coupon, reason, err := payments.FindCoupon(ctx, tx, code, payments.CouponUse{
		Customer: domain.ValueOr(customer, 0), Anyone: customer == nil, Subtotal: items[0].Subtotal, Items: []records.OrderItem{item}, Hidden: records.Limited(tx.Session),
	})
	switch {
	case err != nil:
		return err
	case reason != "":
		p.Reject(field, reason)
		return nil
	}
	coupon.Pricing().Apply(items)
	return nil
}

// shownExtras returns the extras of an appointment in the form in which a booking shows them.
func (a appointment) shownExtras(s *session.Session) []records.BookingExtra {
	if !a.service.With(s, extensions.ProFeatures) || !records.HasExtraTables(s) {
		return nil
	}
	shown := make([]records.BookingExtra, len(a.extras))
	for i, e := range a.extras {
		shown[i] = records.BookingExtra{ID: e.ID, Name: e.Name, Quantity: e.Quantity, Duration: e.Duration, Price: e.Amount, PresentDuration: e.Duration}
	}
	return shown
}

// extraRows returns the rows of the extras of a booking
// (OsFeatureServiceExtrasHelper::save_service_extras_for_booking, Pro Features 1.6).
func extraRows(s *session.Session, booking int64, extras []records.PricedExtra) []session.Row {
	rows := make([]session.Row, len(extras))
	for i, e := range extras {
		rows[i] = append(session.Row{
			{Name: "booking_id", Value: booking}, {Name: "service_extra_id", Value: e.ID}, {Name: "duration", Value: e.Duration},
			{Name: "quantity", Value: e.Quantity}, {Name: "price", Value: domain.AmountText(e.Amount)},
		}, s.NewTimestamps()...)
	}
	return rows
}
