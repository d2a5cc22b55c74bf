package records

import (
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
)

// PricedBooking is a booking to price.
type PricedBooking struct {
	Service   decimal.Decimal // price of the service, or of its duration, for one attendee
	Attendees int64
	Flat      bool            // the service costs the same for any number of attendees
	BaseFee   decimal.Decimal // once per booking; none unless positive
	Extras    []PricedExtra
}

// PricedExtra is an extra of a booking.
type PricedExtra struct {
	ID          int64
	Name        string
	Amount      decimal.Decimal // for one unit
	Duration    int64           // of one unit, in minutes
	Quantity    int64
	PerAttendee bool
}

// Multiplied reports whether each attendee pays the price of the service.
func (b PricedBooking) Multiplied() bool { return b.Attendees > 1 && !b.Flat }

// ServiceAmount returns the amount for the service, including attendees and
// base fee (OsBookingHelper::calculate_full_amount_for_service).
func (b PricedBooking) ServiceAmount() decimal.Decimal {
	amount := b.Service
	if b.Multiplied() {
		amount = amount.Mul(decimal.NewFromInt(b.Attendees))
	}
	if b.BaseFee.IsPositive() {
		amount = amount.Add(b.BaseFee)
	}
	return amount
}

// ExtraAmount returns the amount of an extra of the booking.
func (b PricedBooking) ExtraAmount(e PricedExtra) decimal.Decimal {
	amount := e.Amount.Mul(decimal.NewFromInt(e.Quantity))
	if e.PerAttendee && b.Attendees > 1 {
		amount = amount.Mul(decimal.NewFromInt(b.Attendees))
	}
	return amount
}

// Amount returns the amount of the booking before coupon and taxes
// (OsBookingHelper::calculate_full_amount_for_booking).
func (b PricedBooking) Amount() decimal.Decimal {
	amount := b.ServiceAmount()
	for _, e := range b.Extras {
		amount = amount.Add(b.ExtraAmount(e))
	}
	return amount.Round(domain.AmountDecimals)
}
