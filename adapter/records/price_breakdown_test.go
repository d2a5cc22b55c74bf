package records

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// recordedBreakdown is what the plugin's order form stored for one booking of 85 €, and checkoutBreakdown what
// a visitor's checkout stores for it.
const (
	recordedBreakdown = `{"before_subtotal":[{"heading":"Service","items":[{"value":"85.00","label":"Physiotherapy","style":"","type":"","note":"","badge":"","raw_value":"85.0000"}],"sub_items":[]}]}`
	checkoutBreakdown = `{"before_subtotal":[{"heading":"Service","items":[{"label":"Physiotherapy","raw_value":"85.0000","value":"85.00 \u20ac"}]}],"subtotal":[],"after_subtotal":[],"total":[],"balance":[]}`
)

var (
	amount = decimal.RequireFromString
	euro   = session.WriteSettings{Currency: session.Currency{After: " €", Thousands: ",", Decimal: ".", Decimals: 2}}
)

func encoded(t *testing.T, breakdown PriceBreakdown) string {
	t.Helper()
	text, err := text.EncodePHP(breakdown)
	expect.NoError(t, err)
	return text
}

func TestHeadingOfBreakdownIsTranslated(t *testing.T) {
	t.Parallel()
	german := session.WriteSettings{Texts: text.Texts{"Service": "Leistung"}}
	expect.Equal(t, "Leistung", BreakdownOf(german, "Physiotherapy", PricedBooking{}).BeforeSubtotal[0].Heading, "the heading in German is")
}

// TestDiscountsAndTaxesAsRecorded: the rows after the subtotal are those that a checkout stored.
func TestDiscountsAndTaxesAsRecorded(t *testing.T) {
	t.Parallel()
	totals := Totals{Discount: amount("10"), Taxes: []TaxAmount{{Tax: Tax{Name: "VAT", Value: amount("19")}, Amount: amount("7.505")}}}
	compared := 0
	for _, recorded := range fixtures.RecordedBreakdowns(t) {
		if !strings.Contains(recorded.Breakdown, `"after_subtotal":{`) {
			continue
		}
		compared++
		w := session.WriteSettings{Currency: session.CurrencyOf(recorded.Settings)}
		got := encoded(t, BreakdownOf(w, recorded.Service, PricedBooking{Service: amount(recorded.Amount), Attendees: 1}).WithTotals(w, totals, "SPRING"))
		if diff := cmp.Diff(recorded.Breakdown, got); diff != "" {
			t.Errorf("%s (-visitor's +ours):\n%s", recorded.Name, diff)
		}
	}
	expect.Equal(t, 3, compared, "breakdowns compared")
}

// TestBreakdownWithProFeatures: attendees, base fee, extras by id, discount and taxes.
func TestBreakdownWithProFeatures(t *testing.T) {
	t.Parallel()
	w := session.WriteSettings{Currency: session.Currency{Before: "$", Thousands: ",", Decimal: ".", Decimals: 2}}
	booking := PricedBooking{Service: amount("85"), Attendees: 3, BaseFee: amount("5"), Extras: []PricedExtra{
		{ID: 7, Name: "Lunch", Amount: amount("7.5"), Quantity: 1, PerAttendee: true}, {ID: 4, Name: "Hot stones", Amount: amount("10"), Quantity: 2}, {ID: 9, Name: "Parking", Quantity: 2},
	}}
	items := []PricedItem{{Subtotal: booking.Amount()}}
	PricedCoupon{Percent: true, Value: amount("10")}.Apply(items)
	totals := TotalsOf(items, ParseTaxes(`{"a":{"id":"a","name":"VAT","type":"percentage","value":"19.0000"},"b":{"id":"b","name":"Fee","type":"fixed","value":"2"}}`))
	got := encoded(t, BreakdownOf(w, "Physiotherapy", booking).WithTotals(w, totals, "WELCOME10"))
	want := `{"before_subtotal":[{"heading":"Service","items":[{"label":"Physiotherapy","raw_value":"260.0000","value":"$260.00","note":"(3 x $85.00) + $5.00 base fee"}],` +
		`"sub_items":[{"style":"sub","label":"Hot stones","raw_value":"20.0000","value":"$20.00","note":"(2 x $10.00)"},` +
		`{"style":"sub","label":"Lunch","raw_value":"22.5000","value":"$22.50"},` +
		`{"style":"sub","label":"Parking","raw_value":"0.0000","value":"$0.00","note":"(2 x 0)"}]}],"subtotal":[],` +
		`"after_subtotal":{"discounts":{"items":[{"label":"Coupon","raw_value":"-30.2500","value":"-$30.25","badge":"WELCOME10","type":"credit"}]},` +
		`"taxes":{"items":[{"label":"VAT (19%)","raw_value":"51.7275","value":"$51.73"},{"label":"Fee","raw_value":"2.0000","value":"$2.00"}]}},"total":[],"balance":[]}`
	expect.Equal(t, want, got)
	plain := BreakdownOf(w, "Physiotherapy", booking)
	expect.Equal(t, encoded(t, plain), encoded(t, plain.WithTotals(w, Totals{}, "")), "without coupon and taxes")
}

// TestWithBooking: the price of the booking changes, in the shape of a checkout; discounts are kept.
func TestWithBooking(t *testing.T) {
	t.Parallel()
	const (
		rest       = `"after_subtotal":{"discounts":{"items":[{"label":"Coupon","raw_value":"-10.0000"}]}}`
		discounted = `{"before_subtotal":[{"heading":"Service","items":[{"label":"Physiotherapy","raw_value":"85.0000","value":"85.00 \u20ac"}]}],"subtotal":[],` + rest + `,"total":[],"balance":[]}`
	)
	for name, c := range map[string]struct{ stored, want string }{
		"nothing stored":         {"", checkoutBreakdown},
		"no JSON":                {"{", checkoutBreakdown},
		"of the order form":      {recordedBreakdown, checkoutBreakdown},
		"another service":        {`{"before_subtotal":[{"heading":"Service"}],` + rest + `}`, discounted},
		"only discounts":         {`{` + rest + `}`, discounted},
		"the same part twice":    {`{"before_subtotal":1,` + rest + `,"before_subtotal":2}`, discounted},
		"sums of an old version": {`{` + rest + `,"total":{"label":"Total Price","value":"70"},"before_subtotal":[]}`, discounted},
		"of an extension":        {`{"before_subtotal":[],"said":"by \/ it"}`, strings.TrimSuffix(checkoutBreakdown, "}") + `,"said":"by \/ it"}`},
	} {
		got, err := WithBooking(euro, c.stored, "Physiotherapy", amount("85"))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestWithService: the label of the only booking changes; anything else is unchanged.
func TestWithService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stored, want string }{
		"as the order form stores it": {recordedBreakdown, `{"before_subtotal":[{"heading":"Service","items":[{"value":"85.00","label":"R\u00fccken","style":"","type":"","note":"","badge":"","raw_value":"85.0000"}],"sub_items":[]}]}`},
		"no label yet":                {`{"before_subtotal":[{"items":[{"value":"1"}]}]}`, `{"before_subtotal":[{"items":[{"value":"1","label":"R\u00fccken"}]}]}`},
		"two bookings":                {`{"before_subtotal":[{"items":[{"label":"a"}]},{"items":[{"label":"b"}]}]}`, ""},
		"two items":                   {`{"before_subtotal":[{"items":[{"label":"a"},{"label":"b"}]}]}`, ""},
		"no items":                    {`{"before_subtotal":[{"items":[]}]}`, ""},
		"items that are no list":      {`{"before_subtotal":[{"items":{"a":{"label":"a"}}}]}`, ""},
		"an item that is no object":   {`{"before_subtotal":[{"items":["a"]}]}`, ""},
		"a part that is no object":    {`{"before_subtotal":["a"]}`, ""},
		"only another list":           {`{"after_subtotal":[{"items":[{"label":"a"}]}]}`, ""},
		"nothing":                     {"", ""},
		"no JSON":                     {`{"before_subtotal":`, ""},
	} {
		if c.want == "" {
			c.want = c.stored
		}
		got, err := WithService(c.stored, "Rücken")
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
