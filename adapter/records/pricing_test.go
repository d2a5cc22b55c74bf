package records_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/fixtures/expect"
)

func amount(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// TestBookingAmount: service or duration, attendees, base fee and extras, in this order.
func TestBookingAmount(t *testing.T) {
	t.Parallel()
	massage := records.PricedExtra{ID: 4, Amount: amount("10"), Quantity: 2}
	lunch := records.PricedExtra{ID: 7, Amount: amount("7.5"), Quantity: 1, PerAttendee: true}
	for name, c := range map[string]struct {
		booking       records.PricedBooking
		service, want string
	}{
		"the service alone":                     {records.PricedBooking{Service: amount("80"), Attendees: 1}, "80.0000", "80.0000"},
		"attendees":                             {records.PricedBooking{Service: amount("80"), Attendees: 3}, "240.0000", "240.0000"},
		"attendees who pay together":            {records.PricedBooking{Service: amount("80"), Attendees: 3, Flat: true}, "80.0000", "80.0000"},
		"no attendees":                          {records.PricedBooking{Service: amount("80")}, "80.0000", "80.0000"},
		"the base fee once, after attendees":    {records.PricedBooking{Service: amount("80"), Attendees: 3, BaseFee: amount("5")}, "245.0000", "245.0000"},
		"no base fee below 0":                   {records.PricedBooking{Service: amount("80"), Attendees: 1, BaseFee: amount("-5")}, "80.0000", "80.0000"},
		"the base fee of what costs nothing":    {records.PricedBooking{Attendees: 2, BaseFee: amount("5")}, "5.0000", "5.0000"},
		"extras by quantity, after the fee":     {records.PricedBooking{Service: amount("80"), Attendees: 1, BaseFee: amount("5"), Extras: []records.PricedExtra{massage, lunch}}, "85.0000", "112.5000"},
		"an extra for each attendee":            {records.PricedBooking{Service: amount("80"), Attendees: 3, Extras: []records.PricedExtra{massage, lunch}}, "240.0000", "282.5000"},
		"likewise where attendees pay together": {records.PricedBooking{Service: amount("80"), Attendees: 3, Flat: true, Extras: []records.PricedExtra{lunch}}, "80.0000", "102.5000"},
		"no rounding to cents":                  {records.PricedBooking{Service: amount("33.3333"), Attendees: 3, BaseFee: amount("0.0001")}, "100.0000", "100.0000"},
		"four decimals":                         {records.PricedBooking{Service: amount("10"), Attendees: 1, BaseFee: amount("0.00005")}, "10.0001", "10.0001"},
	} {
		expect.Equal(t, c.service, domain.AmountText(c.booking.ServiceAmount()), name, ": service")
		expect.Equal(t, c.want, domain.AmountText(c.booking.Amount()), name, ": booking")
	}
}

// TestOrderTotal: coupons reduce each item, and taxes are added to the rest.
func TestOrderTotal(t *testing.T) {
	t.Parallel()
	const vat = `{"tax_a":{"id":"tax_a","name":"VAT","type":"percentage","value":"19.0000"}}`
	percent := func(text string) *records.PricedCoupon {
		return &records.PricedCoupon{Percent: true, Value: amount(text)}
	}
	for name, c := range map[string]struct {
		items    string // subtotals
		coupon   *records.PricedCoupon
		taxes    string
		discount string // of the items
		want     string // subtotal, discount, tax, total
	}{
		"nothing":                             {"80", nil, "", "0", "80.0000 0.0000 0.0000 80.0000"},
		"a percentage of each item":           {"80 20", percent("10"), "", "8 2", "100.0000 10.0000 0.0000 90.0000"},
		"a percentage to four decimals":       {"0.0333 33.3333", percent("15"), "", "0.005 5", "33.3666 5.0050 0.0000 28.3616"},
		"a percentage that leaves nothing":    {"80", percent("150"), "", "80", "80.0000 80.0000 0.0000 0.0000"},
		"a fixed amount off each item":        {"80 20", &records.PricedCoupon{Value: amount("15")}, "", "15 15", "100.0000 30.0000 0.0000 70.0000"},
		"a fixed amount, at most the item's":  {"80 10", &records.PricedCoupon{Value: amount("15")}, "", "15 10", "90.0000 25.0000 0.0000 65.0000"},
		"one item of an order":                {"80 20", &records.PricedCoupon{Value: amount("15"), PerOrder: 1}, "", "15 0", "100.0000 15.0000 0.0000 85.0000"},
		"one item that costs something":       {"0 20", &records.PricedCoupon{Value: amount("15"), PerOrder: 1}, "", "0 15", "20.0000 15.0000 0.0000 5.0000"},
		"at most an amount":                   {"80", &records.PricedCoupon{Percent: true, Value: amount("50"), Most: new(amount("25"))}, "", "25", "80.0000 25.0000 0.0000 55.0000"},
		"a coupon without a value":            {"80", &records.PricedCoupon{}, "", "0", "80.0000 0.0000 0.0000 80.0000"},
		"a tax":                               {"80", nil, vat, "0", "80.0000 0.0000 15.2000 95.2000"},
		"a tax after the coupon":              {"80", percent("10"), vat, "8", "80.0000 8.0000 13.6800 85.6800"},
		"a tax to four decimals":              {"33.3333", nil, vat, "0", "33.3333 0.0000 6.3333 39.6666"},
		"two taxes, neither on the other":     {"100", nil, `{"a":{"id":"a","name":"GST","type":"percentage","value":5},"b":{"id":"b","name":"QST","type":"percentage","value":"9.975"}}`, "0", "100.0000 0.0000 14.9750 114.9750"},
		"a fixed tax once, of nothing too":    {"0 0", nil, `{"a":{"id":"a","name":"Fee","type":"fixed","value":"2.5"}}`, "0 0", "0.0000 0.0000 2.5000 2.5000"},
		"taxes that are rounded together":     {"0.0005", nil, `{"a":{"id":"a","type":"percentage","value":"9"},"b":{"id":"b","type":"percentage","value":"9"}}`, "0", "0.0005 0.0000 0.0001 0.0006"},
		"no negative tax":                     {"80", nil, `{"a":{"id":"a","name":"X","type":"percentage","value":"-5"}}`, "0", "80.0000 0.0000 0.0000 80.0000"},
		"a tax of no known type":              {"80", nil, `{"a":{"id":"a","name":"X","type":"other","value":"5"}}`, "0", "80.0000 0.0000 0.0000 80.0000"},
		"a tax twice, of which the last wins": {"80", nil, `[{"id":"a","name":"X","type":"fixed","value":"5"},{"id":"a","name":"Y","type":"fixed","value":"6"}]`, "0", "80.0000 0.0000 6.0000 86.0000"},
		"a tax with numbers for texts":        {"80", nil, `{"7":{"id":7,"name":19,"type":"fixed","value":"5"},"8":{"id":8,"name":null,"type":"fixed","value":1}}`, "0", "80.0000 0.0000 6.0000 86.0000"},
		"a tax with as many digits as count":  {"80", nil, `{"a":{"id":"a","type":"fixed","value":"5.0000000000000000000000"}}`, "0", "80.0000 0.0000 5.0000 85.0000"},
		"a tax with more digits":              {"80", nil, `{"a":{"id":"a","type":"fixed","value":"5.00000000000000000000000"}}`, "0", "80.0000 0.0000 0.0000 80.0000"},
		"no JSON":                             {"80", nil, `{"a":`, "0", "80.0000 0.0000 0.0000 80.0000"},
	} {
		var items []records.PricedItem
		for subtotal := range strings.FieldsSeq(c.items) {
			items = append(items, records.PricedItem{Subtotal: amount(subtotal)})
		}
		if c.coupon != nil {
			c.coupon.Apply(items)
		}
		var discounts []string
		for _, item := range items {
			discounts = append(discounts, item.Discount.String())
		}
		expect.Equal(t, c.discount, strings.Join(discounts, " "), name, ": discounts")
		got := records.TotalsOf(items, records.ParseTaxes(c.taxes))
		text := strings.Join([]string{domain.AmountText(got.Subtotal), domain.AmountText(got.Discount), domain.AmountText(got.Tax), domain.AmountText(got.Total)}, " ")
		expect.Equal(t, c.want, text, name, ": sums")
	}
}

func TestTaxLabel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tax             records.Tax
		separator, want string
	}{
		{records.Tax{Name: "VAT", Value: amount("19.0000")}, ".", "VAT (19%)"},
		{records.Tax{Name: "VAT", Value: amount("7.7")}, ".", "VAT (7.7%)"},
		{records.Tax{Name: "QST", Value: amount("9.9755")}, ".", "QST (9.976%)"},
		{records.Tax{Name: "MwSt.", Value: amount("7.7")}, ",", "MwSt. (7%)"},
		{records.ParseTaxes(`{"7":{"id":7,"name":19.25,"type":"fixed","value":"5"}}`)[0], ".", "19.25"},
		{records.Tax{Name: "Fee", Fixed: true, Value: amount("2.5")}, ".", "Fee"},
	} {
		expect.Equal(t, c.want, c.tax.Label(c.separator))
	}
}
