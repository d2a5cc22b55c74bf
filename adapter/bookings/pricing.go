package bookings

import (
	"context"
	"encoding/json"
	"fmt"

	sq "github.com/Masterminds/squirrel"
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
	pro     bool // Pro Features is active
	booking records.PricedBooking
	item    records.PricedItem
	coupon  string // its code; "" for none
	records.Totals
	asked *extensions.Price // WordPress's price; nil if it was not asked
}

// itemTotal returns the item's price after its discount, before taxes.
func (c charge) itemTotal() decimal.Decimal {
	if c.asked != nil {
		return c.asked.Item.Total
	}
	return c.item.Total()
}

// breakdown returns the composition of the price, to be stored as JSON.
func (c charge) breakdown(w session.WriteSettings, service string) any {
	if c.asked != nil {
		return json.RawMessage(c.asked.Breakdown)
	}
	return records.BreakdownOf(w, service, c.booking).WithTotals(w, c.Totals, c.coupon)
}

// Meta keys of services that Pro Features uses.
const (
	metaBaseFee = "base_fee"
	metaFlat    = "dont_multiply_charge_amount_by_attendees"
)

var metaKeys = append([]string{metaBaseFee, metaFlat}, slots.NumberOfExtrasKeys...)

// planExtras reads the extras of a booking and the service's other settings of Pro Features, which lets a
// service require extras and limit their number.
func planExtras(ctx context.Context, s *session.Session, plan *bookingPlan, p *domain.Validation) (err error) {
	if p.Has("service_id") || !plan.service.With(s, extensions.ProFeatures) {
		return nil
	}
	if plan.extras, err = slots.LoadExtras(ctx, s, p, plan.service, plan.Extras); err != nil {
		return err
	}
	if plan.meta, err = serviceMeta(ctx, s, plan.service.ID); err != nil {
		return err
	}
	if err := checkNumber(ctx, s, plan.service.ID, plan.meta, len(plan.extras), p); err != nil {
		return err
	}
	checkLength(p, plan.duration, slots.ExtraMinutes(plan.extras))
	return nil
}

// serviceMeta reads the add-on's meta of a service.
func serviceMeta(ctx context.Context, s *session.Session, service int64) (map[string]string, error) {
	metas, err := session.LoadMetas(ctx, s, wpdb.ServiceMeta, []int64{service}, sq.Eq{"meta_key": metaKeys})
	return metas[service], err
}

// checkNumber rejects fewer extras than the service requires, or more than it allows, according to its
// meta.
func checkNumber(ctx context.Context, s *session.Session, service int64, meta map[string]string, extras int, p *domain.Validation) error {
	const field = "extras"
	fewest, most := slots.NumberOfExtras(meta)
	switch {
	case most > 0 && extras > most:
		p.Reject(field, fmt.Sprintf("The service can be booked with at most %d extras", most))
	case fewest > 0 && extras < fewest:
		offers, err := slots.OffersExtras(ctx, s, service) // without any, the form does not ask
		if err != nil {
			return err
		}
		if offers {
			p.Reject(field, fmt.Sprintf("The service has to be booked with at least %d extras", fewest))
		}
	}
	return nil
}

// checkLength rejects extras that make a booking longer than a day, which the plugin cannot store.
func checkLength(p *domain.Validation, duration, extras int64) {
	if extras > 0 && duration+extras > records.MinutesPerDay {
		p.Reject("extras", "The booking would take longer than a day")
	}
}

// planPrice computes what the booking costs. A coupon that does not apply is rejected.
func planPrice(ctx context.Context, tx *session.Tx, w session.WriteSettings, pro bool, plan *bookingPlan, p *domain.Validation) error {
	c := charge{pro: pro, booking: records.PricedBooking{Service: plan.service.Price(plan.duration)}}
	switch {
	case plan.Price != nil:
		c.booking.Service = *plan.Price
	case pro:
		c.booking.Attendees, c.booking.Extras = plan.Attendees, plan.extras
		c.booking.BaseFee, c.booking.Flat = records.AmountFrom(plan.meta[metaBaseFee]), plan.meta[metaFlat] == session.On
	}
	items := []records.PricedItem{{Subtotal: c.booking.Amount()}}
	var taxes []records.Tax
	if pro {
		taxes = records.ParseTaxes(w.Settings[session.SettingTaxes])
		if err := applyCoupon(ctx, tx, plan, &c, items, p); err != nil {
			return err
		}
	}
	c.item, c.Totals = items[0], records.TotalsOf(items, taxes)
	if plan.decidedPrice != nil && plan.Price == nil {
		c = chargeAsked(c, *plan.decidedPrice)
	}
	if c.Subtotal.GreaterThan(domain.MaxAmount) || c.Total.GreaterThan(domain.MaxAmount) {
		p.Reject("price", "Too large")
	}
	plan.charged = c
	return nil
}

// applyCoupon takes a coupon off the item of a booking. A coupon for some agents does not apply to a
// booking for any agent: as in the site's form, the agent is not known beforehand.
func applyCoupon(ctx context.Context, tx *session.Tx, plan *bookingPlan, c *charge, items []records.PricedItem, p *domain.Validation) error {
	const field = "coupon_code"
	if c.coupon = text.TextField(plan.CouponCode); c.coupon == "" {
		return nil
	}
	tx.CheckText(p, field, wpdb.Orders, field, c.coupon)
	item := records.OrderItem{Variant: records.BookingItem, ItemData: fmt.Sprintf(`{"agent_id":%d,"service_id":%d}`, plan.AgentID, plan.service.ID)}
	coupon, reason, err := payments.FindCoupon(ctx, tx, c.coupon, payments.CouponUse{
		Customer: plan.customer.ID, Anyone: plan.anyone, Subtotal: items[0].Subtotal, Items: []records.OrderItem{item}, Hidden: records.Limited(tx.Session),
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

// shownExtras returns the extras in the form in which a booking shows them.
func (plan *bookingPlan) shownExtras(s *session.Session) []records.BookingExtra {
	if !plan.charged.pro || !records.HasExtraTables(s) {
		return nil
	}
	shown := make([]records.BookingExtra, len(plan.extras))
	for i, e := range plan.extras {
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
