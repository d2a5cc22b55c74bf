package adapter

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// errorOf is an error a caller may be told about.
func errorOf(t *testing.T, err error) *Error {
	t.Helper()
	var known *Error
	if !errors.As(err, &known) {
		t.Fatalf("error %v", err)
	}
	return known
}

func TestProblems(t *testing.T) {
	t.Parallel()
	type fields = map[string]string
	for _, tt := range []struct {
		name   string
		note   func(p *Problems)
		code   Code
		fields fields
	}{
		{"nothing", func(*Problems) {}, "", nil},
		{"malformed", func(p *Problems) { p.Malform("a", "no") }, CodeInvalidRequest, fields{"a": "no"}},
		{"refused", func(p *Problems) { p.Refuse("a", "no") }, CodeValidationFailed, fields{"a": "no"}},
		{"both", func(p *Problems) {
			p.Refuse("a", "refused")
			p.Malform("b", "malformed")
		}, CodeInvalidRequest, fields{"a": "refused", "b": "malformed"}},
		{"the first finding stays", func(p *Problems) {
			p.Refuse("a", "first")
			p.Malform("a", "second")
			p.Refuse("a", "third")
		}, CodeValidationFailed, fields{"a": "first"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Problems
			tt.note(&p)
			err := p.Err()
			if tt.code == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			known := errorOf(t, err)
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

// TestProblemsAbsorb: what is wrong with a request is taken in, and everything
// else handed back.
func TestProblemsAbsorb(t *testing.T) {
	t.Parallel()
	var p Problems
	for _, err := range []error{
		nil,
		InvalidRequest(map[string]string{"a": "unknown"}),
		fmt.Errorf("deeper: %w", &Error{Code: CodeValidationFailed, Fields: map[string]string{"b": "refused"}}),
	} {
		if got := p.absorb(err); got != nil {
			t.Errorf("%v is handed back as %v", err, got)
		}
	}
	want := Problems{malformed: map[string]string{"a": "unknown"}, refused: map[string]string{"b": "refused"}}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(Problems{})); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for _, err := range []error{errors.New("away"), notFound(BookingResource, 1), &Error{Code: CodeSlotUnavailable}} {
		if got := p.absorb(err); got == nil || !errors.Is(got, err) {
			t.Errorf("%v is handed back as %v", err, got)
		}
	}
}

// TestProblemsClone: what is added to a copy is not in the original, so that a
// transaction can be run again.
func TestProblemsClone(t *testing.T) {
	t.Parallel()
	var empty, p Problems
	p.Malform("a", "no")
	p.Refuse("b", "no")
	for _, original := range []Problems{empty, p} {
		clone := original.clone()
		clone.Malform("c", "no")
		clone.Refuse("d", "no")
		if original.Has("c") || original.Has("d") || !clone.Has("c") || !clone.Has("d") || clone.Has("a") != original.Has("a") {
			t.Errorf("original %v, clone %v", original, clone)
		}
	}
}
