package compare

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bookside/bookside/compat"
)

// mask hides personal data: letters become x and digits 0, so that lengths, spaces and punctuation remain
// visible. If show is set, it hides nothing.
type mask struct{ show bool }

// personal matches the names of fields that hold personal data.
var personal = regexp.MustCompile(`(?i)name|email|phone|mobile|address|street|(?:^|_)city$|^state$|zip|birth|gender|comment|notes?$|ip_address|token|password|avatar|custom_field|meta|^cf_|content|search|user|source_url|item_data|booking_data|^bio$`)

// person matches the names of records of people.
var person = regexp.MustCompile(`customer|agent|user`)

// impersonal are fields that the pattern matches although they are not personal.
var impersonal = []string{"service_name", "timezone_name", "meta_key", "include_meta", "cms_user_id", "wordpress_user_id"}

var (
	mailAddress = regexp.MustCompile(`[^\s@<>",;:?&=/]+(?:@|%40)[^\s@<>",;:?&=/]+`)
	phoneNumber = regexp.MustCompile(`\+?[0-9][0-9 ()/.-]{6,}[0-9]`)
	harmless    = regexp.MustCompile(`^(?:\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?|-?\d+(?:\.\d+)?)$`)
)

// scramble hides every letter and digit of a text.
func scramble(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsUpper(r):
			return 'X'
		case unicode.IsLetter(r):
			return 'x'
		case unicode.IsDigit(r):
			return '0'
		default:
			return r
		}
	}, text)
}

// text hides addresses and telephone numbers in a text.
func (m mask) text(text string) string {
	if m.show || harmless.MatchString(text) {
		return text
	}
	return phoneNumber.ReplaceAllStringFunc(mailAddress.ReplaceAllStringFunc(text, scramble), func(found string) string {
		if harmless.MatchString(found) {
			return found
		}
		return scramble(found)
	})
}

// value returns a copy of a value in which personal data are hidden; at is its location.
func (m mask) value(at location, v value) value {
	if m.show {
		return v
	}
	hidden := false // whether any name in the location means personal data
	for i, s := range at {
		hidden = hidden || !s.element && personalName(s.name, at[:i].last())
	}
	return m.hide(v, hidden, at.last())
}

// personalName reports whether a field holds personal data. A name is personal in a person's record, but
// not in a service's.
func personalName(name, outer string) bool {
	if slices.Contains(impersonal, name) || !personal.MatchString(name) {
		return false
	}
	return name != "name" || outer == "" || person.MatchString(outer)
}

func (m mask) hide(v value, hidden bool, name string) value {
	switch v.kind {
	case jsontext.KindString:
		v.text = m.hideText(v.text, hidden, name)
	case jsontext.KindNumber:
		if hidden {
			v = textValue(scramble(v.text))
		}
	case jsontext.KindBeginArray:
		v.members = slices.Clone(v.members)
		for i, element := range v.members {
			v.members[i].value = m.hide(element.value, hidden, name)
		}
	case jsontext.KindBeginObject:
		v.members = slices.Clone(v.members)
		for i, inner := range v.members {
			v.members[i].value = m.hide(inner.value, hidden || personalName(inner.name, name), inner.name)
		}
	}
	return v
}

// hideText hides personal data in a text, or in the JSON that the text contains.
func (m mask) hideText(text string, hidden bool, name string) string {
	hidden = hidden || name == "data" // of an invoice
	if strings.IndexAny(text, "{[") == 0 {
		if inner, err := parseJSON([]byte(text)); err == nil {
			return m.hide(inner, hidden, name).String()
		}
	}
	if hidden {
		return scramble(text)
	}
	return m.text(text)
}

// request returns a request in displayable form: it hides texts that a client sent, and unknown parameters,
// because nobody knows what they hold.
func (m mask) request(all routes, r Request) string {
	if m.show {
		return readable(r.path, r.query)
	}
	found, _ := all.match(r.path)
	shown := url.Values{}
	for name, values := range r.query {
		p, documented := found.parameter(name)
		if !documented && !fieldName.MatchString(name) {
			name = scramble(name)
		}
		for _, v := range values {
			if !documented || !impersonalValue(p, v) {
				v = scramble(v)
			}
			shown.Add(name, v)
		}
	}
	return readable(maskPath(found, r.path), shown)
}

// Parts of a request that are not personal.
var (
	fieldName  = regexp.MustCompile(`^[a-z][a-z0-9_]*(?:\[[a-z0-9_]*\])*$`)
	word       = regexp.MustCompile(`^[a-z_-]+$`)
	wordList   = regexp.MustCompile(`^[a-z0-9_, :-]*$`)
	digits     = regexp.MustCompile(`^-?[0-9., ]{0,10}$`)
	dateOrTime = regexp.MustCompile(`^[0-9TZ.:+ -]+$`)
)

// impersonalValue reports whether a value of a parameter can be shown.
func impersonalValue(p compat.FieldDescription, v string) bool {
	switch {
	case slices.Contains(words(p), v) || v == "true" || v == "false":
		return true
	case slices.Contains(wordParameters, p.Name) || p.Schema.Items != nil:
		return wordList.MatchString(v)
	case p.Schema.Format == "date":
		return dateOrTime.MatchString(v)
	default:
		return p.Schema.Type != "string" && digits.MatchString(v)
	}
}

// maskPath returns a path without possibly personal parts: fixed segments and ids remain.
func maskPath(found Route, path string) string {
	segments, known := strings.Split(path[1:], "/"), strings.Split(found.Path, "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		fixed := i+1 < len(known) && (known[i+1] == s || known[i+1] == "{code}")
		unknown := found.Path == "" && word.MatchString(s)
		if !fixed && !unknown && (err != nil || !digits.MatchString(text)) {
			segments[i] = url.PathEscape(scramble(cmp.Or(text, s)))
		}
	}
	return "/" + strings.Join(segments, "/")
}

// wordParameters are text parameters that hold words of the API.
var wordParameters = []string{"status", "payment_status", "fulfillment_status", "bookings_status", "include", "meta_key", "payment_method", "processor", "agent_id", "location_id", "start_time"}

// readable returns a request for people; control characters stay encoded.
func readable(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	encoded := query.Encode()
	return path + "?" + strings.NewReplacer("%3A", ":", "%2C", ",", "%40", "@", "%2F", "/").Replace(encoded)
}
