package domain

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	type fields = map[string]string
	for _, tt := range []struct {
		name   string
		note   func(p *Validation)
		code   Code
		fields fields
	}{
		{"nothing", func(*Validation) {}, "", nil},
		{"malformed", func(p *Validation) { p.Invalid("a", "no") }, CodeInvalidRequest, fields{"a": "no"}},
		{"refused", func(p *Validation) { p.Reject("a", "no") }, CodeValidationFailed, fields{"a": "no"}},
		{"both", func(p *Validation) {
			p.Reject("a", "refused")
			p.Invalid("b", "malformed")
		}, CodeInvalidRequest, fields{"a": "refused", "b": "malformed"}},
		{"the first finding stays", func(p *Validation) {
			p.Reject("a", "first")
			p.Invalid("a", "second")
			p.Reject("a", "third")
		}, CodeValidationFailed, fields{"a": "first"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Validation
			tt.note(&p)
			err := p.Err()
			if tt.code == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			known, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.fields, known.Fields); known.Code != tt.code || diff != "" {
				t.Errorf("%s, want %s; fields (-want +got):\n%s", known.Code, tt.code, diff)
			}
			for field := range tt.fields {
				if !p.Has(field) {
					t.Errorf("nothing is known of %s", field)
				}
			}
			if p.Has("z") {
				t.Error("something is known of a field that was not named")
			}
		})
	}
}

// TestValidationAbsorb: validation errors are absorbed, and everything else is
// returned.
func TestValidationAbsorb(t *testing.T) {
	t.Parallel()
	var p Validation
	for _, err := range []error{
		nil,
		InvalidRequest(map[string]string{"a": "unknown"}),
		fmt.Errorf("deeper: %w", &Error{Code: CodeValidationFailed, Fields: map[string]string{"b": "refused"}}),
	} {
		if got := p.Absorb(err); got != nil {
			t.Errorf("%v is handed back as %v", err, got)
		}
	}
	want := Validation{invalid: map[string]string{"a": "unknown"}, rejected: map[string]string{"b": "refused"}}
	expect.Equal(t, want, p, "validation")
	for _, err := range []error{errors.New("away"), NotFound(BookingResource, 1), &Error{Code: CodeSlotUnavailable}} {
		if got := p.Absorb(err); got == nil || !errors.Is(got, err) {
			t.Errorf("%v is handed back as %v", err, got)
		}
	}
}

// TestValidationClone: additions to a copy do not affect the original, so that
// a transaction can run again.
func TestValidationClone(t *testing.T) {
	t.Parallel()
	var empty, p Validation
	p.Invalid("a", "no")
	p.Reject("b", "no")
	for _, original := range []Validation{empty, p} {
		clone := original.Problems()
		clone.Invalid("c", "no")
		clone.Reject("d", "no")
		if original.Has("c") || original.Has("d") || !clone.Has("c") || !clone.Has("d") || clone.Has("a") != original.Has("a") {
			t.Errorf("original %v, clone %v", original, clone)
		}
	}
}
