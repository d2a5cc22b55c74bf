package adapter

import (
	"errors"
	"maps"
)

// Problems collects what is wrong with a request, field by field, so that a
// caller learns of everything at once. The zero value is empty.
type Problems struct {
	malformed, refused map[string]string
}

// Malform notes a field that is missing, of the wrong type, or names what does
// not exist. The first finding about a field stays.
func (p *Problems) Malform(field, message string) { p.note(&p.malformed, field, message) }

// require notes a field that is needed and was not sent.
func (p *Problems) require(field string, sent bool) {
	if !sent {
		p.Malform(field, "Required")
	}
}

// Refuse notes a field that is well-formed and still not allowed. The first
// finding about a field stays.
func (p *Problems) Refuse(field, message string) { p.note(&p.refused, field, message) }

func (p *Problems) note(in *map[string]string, field, message string) {
	if p.Has(field) {
		return
	}
	if *in == nil {
		*in = map[string]string{}
	}
	(*in)[field] = message
}

// Has tells whether something is wrong with a field already.
func (p *Problems) Has(field string) bool {
	_, malformed := p.malformed[field]
	_, refused := p.refused[field]
	return malformed || refused
}

// Err is nil where nothing is wrong; else a CodeInvalidRequest where anything
// is malformed and a CodeValidationFailed where not, naming every field.
func (p *Problems) Err() error {
	fields := maps.Clone(p.refused)
	if fields == nil {
		fields = map[string]string{}
	}
	maps.Copy(fields, p.malformed)
	switch {
	case len(fields) == 0:
		return nil
	case len(p.malformed) > 0:
		return InvalidRequest(fields)
	default:
		return &Error{Code: CodeValidationFailed, Message: "Validation failed", Fields: fields}
	}
}

// absorb takes in what is wrong with a request, and hands back every other
// error.
func (p *Problems) absorb(err error) error {
	var known *Error
	if !errors.As(err, &known) {
		return err
	}
	switch known.Code {
	case CodeInvalidRequest:
		for field, message := range known.Fields {
			p.Malform(field, message)
		}
	case CodeValidationFailed:
		for field, message := range known.Fields {
			p.Refuse(field, message)
		}
	default:
		return err
	}
	return nil
}

// clone is a copy that can be added to on its own.
func (p Problems) clone() Problems {
	return Problems{malformed: maps.Clone(p.malformed), refused: maps.Clone(p.refused)}
}
