package compat

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type guardedPart struct {
	Name   string  `json:"name"`
	Secret *string `json:"secret" needs:"read_payments"`
	Email  string  `json:"email" mask:"email"`
}

type guardedRecord struct {
	guardedPart
	Text  string            `json:"text" needs:"read_orders"`
	Parts []guardedPart     `json:"parts"`
	Lists []guardedPart     `json:"lists" needs:"read_orders"`
	Words map[string]string `json:"words" needs:"read_orders" mask:"text"`
	More  []guardedPart     `json:"more,omitzero" needs:"read_bookings,included"`
	Inner *guardedPart      `json:"inner"`
	Any   any               `json:"any"`
	Phone *string           `json:"phone" mask:"phone"`
	URL   string            `json:"url" mask:"url"`
	Born  string            `json:"born" mask:"date"`
}

// TestViewer: what needs a permission is emptied, what is personal is masked, and all else stays as it is.
func TestViewer(t *testing.T) {
	t.Parallel()
	part := func() guardedPart { return guardedPart{"<a&b>", new("s"), "a@b.example"} }
	full := ListOf[guardedRecord]()
	full.Data = []guardedRecord{{}, {
		part(), "t", []guardedPart{part()}, []guardedPart{part()}, map[string]string{"z": "1"}, []guardedPart{part()}, new(part()), []any{part(), 1.5, nil},
		new("+49 30 123456"), "https://a.example/?b=c", "1990-01-01",
	}}
	before, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	blind := func(email string) string {
		return `{"name":"\u003ca\u0026b\u003e","secret":null,"email":"` + email + `"}`
	}
	const zero = `{"name":"","secret":null,"email":"","text":"","parts":null,"lists":null,"words":null,"inner":null,"any":null,"phone":null,"url":"","born":""}`
	record := func(start, inner string) string {
		return `{"success":true,"data":[` + zero + `,` + start[:len(start)-1] + `,"text":"","parts":[` + inner + `],"lists":[],"words":{},"more":[],"inner":` + inner + `,"any":[` + inner + `,1.5,null],`
	}
	const around = `"pagination":{"page":0,"per_page":0,"total":0,"total_pages":0,"has_next_page":false,"has_previous_page":false}}`
	for name, c := range map[string]struct {
		viewer Viewer
		want   string
	}{
		"everything": {Viewer{Holds: func(string) bool { return true }}, string(before)},
		"nothing": {Viewer{Holds: func(string) bool { return false }},
			record(blind("a@b.example"), blind("a@b.example")) + `"phone":"+49 30 123456","url":"https://a.example/?b=c","born":"1990-01-01"}],` + around},
		"masked": {Viewer{Holds: func(p string) bool { return p != "read_payments" && p != "read_orders" && p != "read_bookings" }, Masked: true},
			record(blind("a***@***.example"), blind("a***@***.example")) + `"phone":"+** ** ****56","url":"https://a.example/?***","born":""}],` + around},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(c.viewer.View(full))
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n%s", err, cmp.Diff(c.want, string(got)))
			}
		})
	}
	masked := Viewer{Holds: func(string) bool { return true }, Masked: true}.View(map[string]string{"a": "b"})
	if !reflect.DeepEqual(masked, map[string]string{"a": "b"}) {
		t.Errorf("%v", masked)
	}
	if after, _ := json.Marshal(full); string(after) != string(before) {
		t.Error("the body itself was changed")
	}
}
