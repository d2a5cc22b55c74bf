package records

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"bookside/adapter/language"
	"bookside/adapter/session"
)

// recordedBreakdown is what the plugin's order form stored for one booking of 85 €.
const recordedBreakdown = `{"before_subtotal":[{"heading":"Service","items":[{"value":"85.00","label":"Physiotherapy","style":"","type":"","note":"","badge":"","raw_value":"85.0000"}],"sub_items":[]}]}`

func TestBreakdownOf(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(BreakdownOf(session.WriteSettings{}, "Physiotherapy", decimal.NewFromInt(85)))
	if diff := cmp.Diff(recordedBreakdown, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	german := session.WriteSettings{Texts: language.Texts{"Service": "Leistung"}}
	if heading := BreakdownOf(german, "Physiotherapy", decimal.Zero).BeforeSubtotal[0].Heading; heading != "Leistung" {
		t.Errorf("the heading in German is %q", heading)
	}
}

// TestWithBooking: what a booking costs changes, and discounts stay.
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

// TestWithService: the label of the only booking changes; anything else stays as it is.
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
