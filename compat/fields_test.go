package compat

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
)

// parcel is the target of the fields in these tests.
type parcel struct {
	Weight *int64
	Copies int64
	Fast   bool
	Order  int
	To     address
	Code   string
}

type address struct{ City *string }

func parcelFields(p *parcel) Fields {
	return Fields{
		optional("weight", integer(1, 50), &p.Weight),
		defaulted("copies", integer(1, 9), 2, &p.Copies),
		flag("fast", &p.Fast),
		choice("order", map[string]int{"first": 1, "last": 2}, "Must be first or last", "last", &p.Order),
		object("to", Fields{optional("city", anyText, &p.To.City)}.requiring("city")).
			ignoredIf(func(in input) bool { return in.present("code") }),
		value("code", anyText, &p.Code),
	}.requiring("weight", "to")
}

func TestFieldsAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		want   parcel
		wrong  map[string]string
		reject bool
	}{
		"everything": {
			body: `{"weight":3,"copies":"4","fast":"yes","order":"FIRST","to":{"city":"Bonn"}}`,
			want: parcel{Weight: new(int64(3)), Copies: 4, Fast: true, Order: 1, To: address{City: new("Bonn")}},
		},
		"defaults":        {body: `{"weight":3,"to.city":"Bonn"}`, want: parcel{Weight: new(int64(3)), Copies: 2, Order: 2, To: address{City: new("Bonn")}}},
		"nothing":         {body: `{}`, want: parcel{Copies: 2, Order: 2}, wrong: map[string]string{"weight": "Required", "to": "Required"}},
		"an empty member": {body: `{"weight":1,"to":{"city":" "}}`, want: parcel{Weight: new(int64(1)), Copies: 2, Order: 2, To: address{City: new(" ")}}, wrong: map[string]string{"to.city": "Required"}},
		"something in its place": {
			body: `{"weight":1,"code":"X","to":"nowhere"}`, want: parcel{Weight: new(int64(1)), Copies: 2, Order: 2, Code: "X"},
		},
		"invalid": {
			body: `{"weight":"heavy","code":"X"}`, want: parcel{Copies: 2, Order: 2, Code: "X"}, wrong: map[string]string{"weight": "Must be an integer"},
		},
		"rejected": {
			body: `{"weight":51,"code":"X","order":"middle"}`, want: parcel{Copies: 2, Order: 2, Code: "X"},
			wrong: map[string]string{"weight": "Maximum allowed value is 50", "order": "Must be first or last"}, reject: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bodyOf(t, c.body)
			var got parcel
			parcelFields(&got).read(b)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			code, wrong := errorFields(t, b.Err())
			if diff := cmp.Diff(c.wrong, wrong); diff != "" || c.reject != (code == domain.CodeValidationFailed) {
				t.Errorf("%s (-want +got):\n%s", code, diff)
			}
		})
	}
}

// TestPositions: a client is told of the first field that is wrong, in the order of the fields.
func TestPositions(t *testing.T) {
	t.Parallel()
	fields := parcelFields(&parcel{})
	for name, want := range map[string]int{"weight": 0, "copies": 1, "to": 4, "to.city": 4, "code": 5, "unknown": 6, "unknown.member": 6} {
		if got := fields.position(name); got != want {
			t.Errorf("%s is number %d, want %d", name, got, want)
		}
	}
}

func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	fields := parcelFields(&parcel{}).Describe("POST /coupons")
	schema, err := json.Marshal(SchemaOf(fields))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"weight":{"type":"integer","minimum":1,"maximum":50},` +
		`"copies":{"type":"integer","minimum":1,"maximum":9,"default":2},` +
		`"fast":{"type":"boolean","default":false},` +
		`"order":{"description":"Sort direction","type":"string","enum":["first","last"],"default":"last"},` +
		`"to":{"type":"object","properties":{"city":{"description":"City","type":"string"}},"required":["city"]},` +
		`"code":{"description":"Code of the {it}","type":"string"}},"required":["weight"]}`
	if string(schema) != want {
		t.Errorf("%s\nwant\n%s", schema, want)
	}
	if got := NewSchemas().Example(fields[5].Schema); got != "SPRING15" {
		t.Errorf("the example is %v", got)
	}
}
