package records

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/language"
	"github.com/bookside/bookside/adapter/pricing"
	"github.com/bookside/bookside/adapter/session"
)

// recordedBreakdown is what the plugin's order form stored for one booking of 85 €.
const recordedBreakdown = `{"before_subtotal":[{"heading":"Service","items":[{"value":"85.00","label":"Physiotherapy","style":"","type":"","note":"","badge":"","raw_value":"85.0000"}],"sub_items":[]}]}`

func TestBreakdownOf(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(BreakdownOf(session.WriteSettings{}, "Physiotherapy", pricing.Booking{Service: decimal.NewFromInt(85)}))
	if diff := cmp.Diff(recordedBreakdown, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	german := session.WriteSettings{Texts: language.Texts{"Service": "Leistung"}}
	if heading := BreakdownOf(german, "Physiotherapy", pricing.Booking{}).BeforeSubtotal[0].Heading; heading != "Leistung" {
		t.Errorf("the heading in German is %q", heading)
	}
}

// TestBreakdownWithProFeatures: attendees, base fee, extras by id, discount and taxes.
func TestBreakdownWithProFeatures(t *testing.T) {
	t.Parallel()
	w := session.WriteSettings{Currency: session.Currency{Before: "$", Thousands: ",", Decimal: ".", Decimals: 2}}
	amount := decimal.RequireFromString
	booking := pricing.Booking{Service: amount("85"), Attendees: 3, BaseFee: amount("5"), Extras: []pricing.Extra{
		{ID: 7, Name: "Lunch", Amount: amount("7.5"), Quantity: 1, PerAttendee: true}, {ID: 4, Name: "Hot stones", Amount: amount("10"), Quantity: 2}, {ID: 9, Name: "Parking", Quantity: 2},
	}}
	items := []pricing.Item{{Subtotal: booking.Amount()}}
	pricing.Coupon{Percent: true, Value: amount("10")}.Apply(items)
	totals := pricing.Total(items, pricing.ParseTaxes(`{"a":{"id":"a","name":"VAT","type":"percentage","value":"19.0000"},"b":{"id":"b","name":"Fee","type":"fixed","value":"2"}}`))
	got, err := json.Marshal(BreakdownOf(w, "Physiotherapy", booking).WithTotals(w, totals, "WELCOME10"))
	want := `{"before_subtotal":[{"heading":"Service","items":[{"value":"260.00","label":"Physiotherapy","style":"","type":"","note":"(3 x $85.00) + $5.00 base fee","badge":"","raw_value":"260.0000"}],` +
		`"sub_items":[{"value":"20.00","label":"Hot stones","style":"sub","type":"","note":"(2 x $10.00)","badge":"","raw_value":"20.0000"},` +
		`{"value":"22.50","label":"Lunch","style":"sub","type":"","note":"","badge":"","raw_value":"22.5000"},` +
		`{"value":"0.00","label":"Parking","style":"sub","type":"","note":"(2 x 0)","badge":"","raw_value":"0.0000"}]}],` +
		`"after_subtotal":{"discounts":{"items":[{"label":"Coupon","raw_value":-30.25,"value":"-$30.25","badge":"WELCOME10","type":"credit"}]},` +
		`"taxes":{"items":[{"label":"VAT (19%)","raw_value":"51.7275","value":"$51.73"},{"label":"Fee","raw_value":"2.0000","value":"$2.00"}]}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestWithBooking: the price of the booking changes, and discounts are kept.
func TestWithBooking(t *testing.T) {
	t.Parallel()
	const rest = `"after_subtotal":{"discounts":{"items":[{"label":"Coupon","raw_value":"-10.0000"}]}}`
	parts := recordedBreakdown[:len(recordedBreakdown)-1]
	for name, c := range map[string]struct{ stored, want string }{
		"nothing stored":        {"", recordedBreakdown},
		"no JSON":               {"{", recordedBreakdown},
		"another service":       {`{"before_subtotal":[{"heading":"Service"}],` + rest + `}`, parts + "," + rest + `}`},
		"only discounts":        {`{` + rest + `}`, `{` + rest + "," + parts[1:] + `}`},
		"the same part twice":   {`{"before_subtotal":1,` + rest + `,"before_subtotal":2}`, parts + "," + rest + `}`},
		"the part is the last":  {`{` + rest + `,"before_subtotal":[]}`, `{` + rest + "," + parts[1:] + `}`},
		"the part is the first": {`{"before_subtotal":[],` + rest + `}`, parts + "," + rest + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := WithBooking(session.WriteSettings{}, c.stored, "Physiotherapy", decimal.NewFromInt(85))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want == "" {
				c.want = c.stored
			}
			got, err := WithService(c.stored, "Rücken")
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestBookingTransitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to         string
		allowed, reopens bool
	}{
		{StatusPending, StatusApproved, true, false}, {StatusPending, StatusCompleted, false, false}, {StatusApproved, StatusNoShow, true, false},
		{StatusCompleted, StatusCancelled, true, true}, {StatusCompleted, StatusCompleted, false, false}, {"of an add-on", StatusApproved, false, false},
	} {
		if allowed, reopens := TransitionAllowed(c.from, c.to), ReopensCompleted(c.from, c.to); allowed != c.allowed || reopens != c.reopens {
			t.Errorf("%s to %s: allowed %t, reopens %t", c.from, c.to, allowed, reopens)
		}
	}
}
