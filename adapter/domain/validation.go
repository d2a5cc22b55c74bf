package domain

import (
	"errors"
	"maps"
)

// Validation collects the problems with the fields of a request, so that a
// caller learns about all of them at once. The zero value is empty.
type Validation struct {
	invalid, rejected map[string]string
}

// Valid reports whether no problem was found so far.
func (v *Validation) Valid() bool { return v.Err() == nil }

// Invalid records a field that is missing, of the wrong type, or names
// something that does not exist. The first problem with a field is kept.
func (v *Validation) Invalid(field, message string) { v.add(&v.invalid, field, message) }

// Require records a required field that was not sent.
func (v *Validation) Require(field string, sent bool) {
	if !sent {
		v.Invalid(field, "Required")
	}
}

// Adopt replaces the problems found so far with those found by a reader of the
// request.
func (v *Validation) Adopt(found Validation) { *v = found }

// Reject records a field that is well-formed but not allowed. The first problem
// with a field is kept.
func (v *Validation) Reject(field, message string) { v.add(&v.rejected, field, message) }

func (v *Validation) add(to *map[string]string, field, message string) {
	if v.Has(field) {
		return
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[field] = message
}

// Has reports whether a field has a problem.
func (v *Validation) Has(field string) bool {
	_, invalid := v.invalid[field]
	_, rejected := v.rejected[field]
	return invalid || rejected
}

// Err returns nil if there is no problem. Otherwise it returns an error that
// names every field: CodeInvalidRequest if any field is invalid,
// CodeValidationFailed if fields were only rejected.
func (v *Validation) Err() error {
	fields := maps.Clone(v.rejected)
	if fields == nil {
		fields = map[string]string{}
	}
	maps.Copy(fields, v.invalid)
	switch {
	case len(fields) == 0:
		return nil
	case len(v.invalid) > 0:
		return InvalidRequest(fields)
	default:
		return ValidationFailed(fields)
	}
}

// Absorb adds the fields of a validation error and returns nil. It returns every
// other error unchanged.
func (v *Validation) Absorb(err error) error {
	known, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	switch known.Code {
	case CodeInvalidRequest:
		for field, message := range known.Fields {
			v.Invalid(field, message)
		}
	case CodeValidationFailed:
		for field, message := range known.Fields {
			v.Reject(field, message)
		}
	default:
		return err
	}
	return nil
}

// Problems returns a copy of the problems found so far, which can be added to
// independently.
func (v Validation) Problems() Validation {
	return Validation{invalid: maps.Clone(v.invalid), rejected: maps.Clone(v.rejected)}
}
