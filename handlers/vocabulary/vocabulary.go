// Package vocabulary knows the words that the API reads, and the forms of its parameters, so that the log of
// requests can show them and mask all else.
//
// It may import compat with its masks, adapter/domain and adapter/records.
package vocabulary

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/masks"
)

// Vocabulary is what the operations of an API read.
type Vocabulary struct {
	words words
	forms map[string]map[string]*compat.Schema // of parameters, by operation and name
}

// New returns a Vocabulary of names of parameters, of booleans and of the statuses of bookings.
func New(names ...string) *Vocabulary {
	v := &Vocabulary{words{}, map[string]map[string]*compat.Schema{}}
	for _, word := range slices.Concat(names, []string{"true", "false", "yes", "no", "on", "off", "1", "0", "confirmed"}) {
		v.words[word] = true
	}
	for status := range records.BookingTransitions {
		v.words[status] = true
	}
	return v
}

// Add adds what an operation reads; query and body may be nil.
func (v *Vocabulary) Add(operation string, query compat.QueryInput, body compat.Input) {
	if body != nil {
		v.words.add(compat.SchemaOf(body.Describe()))
	}
	if query == nil {
		return
	}
	fields, forms := query.Describe(), map[string]*compat.Schema{}
	v.words.add(compat.SchemaOf(fields))
	for _, f := range fields {
		if !slices.Contains(query.Personal(), f.Name) {
			forms[f.Name] = f.Schema
		}
	}
	v.forms[operation] = forms
}

// Of returns what of a request for an operation is the API's own.
func (v *Vocabulary) Of(operation string) masks.Known {
	forms := v.forms[operation]
	return masks.Known{
		Name: func(name string) bool {
			_, similar := domain.Closest(strings.ToLower(name), slices.Collect(maps.Keys(forms)))
			return similar || v.words[name]
		},
		Word: func(word string) bool { return v.words[strings.ToLower(word)] },
		Value: func(name, value string) bool {
			form, has := forms[name]
			return has && v.words.fit(form, strings.ToLower(strings.TrimSpace(value)))
		},
	}
}

// words are names of parameters and fields, and words of enumerations.
type words map[string]bool

// add adds the words of a schema.
func (w words) add(s *compat.Schema) {
	for _, word := range s.Enum {
		w[word] = true
	}
	for _, m := range s.Properties {
		w[m.Name()] = true
		w.add(m.Value().(*compat.Schema))
	}
	for _, form := range s.AnyOf {
		w.add(form)
	}
	if s.Items != nil {
		w.add(s.Items)
	}
}

// number matches whole and decimal numbers.
var number = regexp.MustCompile(`^-?[0-9]{1,9}(\.[0-9]{1,4})?$`)

// fit reports whether a value has the form that a schema describes.
func (w words) fit(s *compat.Schema, value string) bool {
	switch {
	case value == "":
		return true
	case len(s.AnyOf) > 0:
		return slices.ContainsFunc(s.AnyOf, func(form *compat.Schema) bool { return w.fit(form, value) })
	case s.Items != nil:
		return !slices.ContainsFunc(strings.Split(value, ","), func(part string) bool { return !w.fit(s.Items, strings.TrimSpace(part)) })
	case len(s.Enum) > 0:
		return slices.Contains(s.Enum, value)
	case s.Pattern != "":
		matches, err := regexp.MatchString(s.Pattern, value)
		return err == nil && matches
	case s.Format == "date":
		_, err := time.Parse(time.DateOnly, value)
		return err == nil
	case s.Type == "integer", s.Type == "number":
		return number.MatchString(value)
	default: // a boolean, or a status
		return w[value]
	}
}
