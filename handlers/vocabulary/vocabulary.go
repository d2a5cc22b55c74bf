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
	words    map[string]bool                      // names of parameters and fields, and words of enumerations
	patterns map[string]*regexp.Regexp            // of parameters, by their text
	forms    map[string]map[string]*compat.Schema // of parameters, by operation and name
}

// New returns a Vocabulary of names of parameters, of booleans and of the statuses of bookings.
func New(names ...string) *Vocabulary {
	v := &Vocabulary{map[string]bool{}, map[string]*regexp.Regexp{}, map[string]map[string]*compat.Schema{}}
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
		v.learn(compat.SchemaOf(body.Describe()))
	}
	if query == nil {
		return
	}
	fields, forms := query.Describe(), map[string]*compat.Schema{}
	v.learn(compat.SchemaOf(fields))
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
			if v.words[name] {
				return true // mostly, and a hundred times cheaper
			}
			_, similar := domain.Closest(strings.ToLower(name), slices.Collect(maps.Keys(forms)))
			return similar
		},
		Word: func(word string) bool { return v.words[strings.ToLower(word)] },
		Value: func(name, value string) bool {
			form, has := forms[name]
			return has && v.fit(form, strings.ToLower(strings.TrimSpace(value)))
		},
	}
}

// learn adds the words and the pattern of a schema.
func (v *Vocabulary) learn(s *compat.Schema) {
	for _, word := range s.Enum {
		v.words[word] = true
	}
	if s.Pattern != "" {
		v.patterns[s.Pattern] = regexp.MustCompile(s.Pattern)
	}
	for _, m := range s.Properties {
		v.words[m.Name()] = true
		v.learn(m.Value().(*compat.Schema))
	}
	for _, form := range s.AnyOf {
		v.learn(form)
	}
	if s.Items != nil {
		v.learn(s.Items)
	}
}

// number matches whole and decimal numbers.
var number = regexp.MustCompile(`^-?[0-9]{1,9}(\.[0-9]{1,4})?$`)

// fit reports whether a value has the form that a schema describes.
func (v *Vocabulary) fit(s *compat.Schema, value string) bool {
	switch {
	case value == "":
		return true
	case len(s.AnyOf) > 0:
		return slices.ContainsFunc(s.AnyOf, func(form *compat.Schema) bool { return v.fit(form, value) })
	case s.Items != nil:
		return !slices.ContainsFunc(strings.Split(value, ","), func(part string) bool { return !v.fit(s.Items, strings.TrimSpace(part)) })
	case len(s.Enum) > 0:
		return slices.Contains(s.Enum, value)
	case s.Pattern != "":
		return v.patterns[s.Pattern].MatchString(value)
	case s.Format == "date":
		_, err := time.Parse(time.DateOnly, value)
		return err == nil
	case s.Type == "integer", s.Type == "number":
		return number.MatchString(value)
	default: // a boolean, or a status
		return v.words[value]
	}
}
