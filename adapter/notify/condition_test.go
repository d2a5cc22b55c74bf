package notify

import (
	"math"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestLooselyEqual(t *testing.T) {
	t.Parallel()
	answers := php(t)
	for i, a := range answers.Texts {
		for j, b := range answers.Texts {
			if got, want := looselyEqual(a, b), answers.Equal[i][j] == '1'; got != want {
				t.Errorf("looselyEqual(%q, %q) = %t, want %t", a, b, got, want)
			}
		}
	}
}

func TestToFloat(t *testing.T) {
	t.Parallel()
	answers := php(t)
	infinite := map[any]float64{"inf": math.Inf(1), "-inf": math.Inf(-1)}
	for i, a := range answers.Texts {
		want, finite := answers.Floats[i].(float64)
		if !finite {
			want = infinite[answers.Floats[i]]
		}
		expect.Equal(t, want, toFloat(a), "toFloat(", a, ")")
	}
}

func TestSatisfies(t *testing.T) {
	t.Parallel()
	subject := Subject{Objects: map[string]map[string]string{
		"booking":     {"status": "approved", "agent_id": "7", "service_id": "4", "start_date": "2026-12-01", "customer_comment": "", "order_item_counts": "2"},
		"old_booking": {"status": "pending", "agent_id": "7", "service_id": "04", "start_date": "2026-11-30"},
		"order":       {"order_item_counts": "2", "total": "45.0000"},
		"old_alone":   {"status": "open"},
	}}
	for _, tc := range []struct {
		name                      string
		property, operator, value string
		want                      bool
	}{
		{"equal", "booking__status", "equal", "approved", true},
		{"equal is of the same case", "booking__status", "equal", "Approved", false},
		{"equal to one of a list", "booking__status", "equal", "pending,approved", true},
		{"equal to none of a list", "booking__status", "equal", "pending,cancelled", false},
		{"blanks of a list count", "booking__status", "equal", "pending, approved", false},
		{"blanks of a list do not count for numbers", "booking__agent_id", "equal", "5, 7", true},
		{"equal as numbers", "booking__agent_id", "equal", "07.0", true},
		{"equal to nothing", "booking__status", "equal", "", false},
		{"NULL equals nothing", "booking__customer_comment", "equal", "", true},
		{"NULL is no zero", "booking__customer_comment", "equal", "0", false},
		{"unknown attribute is NULL", "booking__shoe_size", "equal", "", true},
		{"not_equal", "booking__status", "not_equal", "pending", true},
		{"not_equal to one of a list", "booking__status", "not_equal", "pending,approved", false},
		{"old value", "old_booking__status", "equal", "pending", true},
		{"greater_than", "order__order_item_counts", "greater_than", "1", true},
		{"greater_than its like", "order__order_item_counts", "greater_than", "2", false},
		{"less_than", "order__total", "less_than", "45.01", true},
		{"less_than its like", "order__total", "less_than", "45", false},
		{"greater_or_equal", "order__total", "greater_or_equal", "45", true},
		{"greater_or_equal to more", "order__total", "greater_or_equal", "46", false},
		{"less_or_equal", "order__total", "less_or_equal", "45", true},
		{"less_or_equal to less", "order__total", "less_or_equal", "44.9999", false},
		{"text is the number zero", "booking__status", "less_than", "1", true},
		{"text begins with a number", "booking__start_date", "greater_or_equal", "2026", true},
		{"changed", "old_booking__status", "changed", "", true},
		{"changed, but did not", "old_booking__agent_id", "changed", "", false},
		{"changed in writing only", "old_booking__service_id", "changed", "", false},
		{"the count of items never changed", "old_booking__order_item_counts", "changed", "", false},
		{"the old count of items is NULL", "old_booking__order_item_counts", "equal", "2", false},
		{"changed of the present itself", "booking__status", "changed", "", false},
		{"changed without a present", "old_alone__status", "changed", "", true},
		{"not_changed, and did not", "old_booking__agent_id", "not_changed", "", false},
		{"not_changed, but did", "old_booking__status", "not_changed", "", false},
		{"object that is no part of the event", "transaction__status", "equal", "succeeded", true},
		{"unknown operator", "booking__status", "contains", "x", true},
		{"no property", "", "equal", "x", true},
		{"property without attribute", "booking", "equal", "", true},
		{"more parts are left out", "booking__status__label", "equal", "approved", true},
	} {
		expect.Equal(t, tc.want, subject.satisfies([]condition{conditionOn(tc.property, tc.operator, tc.value)}), tc.name, ": ", tc.property, " ", tc.operator, " ", tc.value)
	}
}
