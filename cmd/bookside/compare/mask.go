package compare

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// mask hides what is personal: letters become x and digits 0, so that lengths, spaces and
// punctuation still show. show, if set, hides nothing.
type mask struct{ show bool }

// personal matches the names of fields that hold personal data.
var personal = regexp.MustCompile(`(?i)name|email|phone|mobile|address|street|(?:^|_)city$|^state$|zip|birth|gender|comment|notes?$|ip_address|token|password|avatar|custom_field|meta|^cf_|content|search|user|source_url`)

// impersonal are fields that the pattern matches and that are not personal.
var impersonal = []string{"service_name", "timezone_name", "meta_key", "include_meta", "cms_user_id", "wordpress_user_id"}

var (
	mailAddress = regexp.MustCompile(`[^\s@<>",;:]+@[^\s@<>",;:]+`)
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

// value returns a copy of a value in which personal data are hidden; at is where it stands.
func (m mask) value(at location, v value) value {
	if m.show {
		return v
	}
	return m.hide(v, m.personal(at), at.last())
}

// personal reports whether anything on the way to a value names personal data.
func (m mask) personal(at location) bool {
	for i, s := range at {
		if !s.element && personalName(s.name, at[:i].last()) {
			return true
		}
	}
	return false
}

// personalName reports whether a field holds personal data. A name is personal in a record of
// a person, and not that of a service.
func personalName(name, outer string) bool {
	if slices.Contains(impersonal, name) || !personal.MatchString(name) {
		return false
	}
	if name == "name" {
		return outer == "" || slices.ContainsFunc([]string{"customer", "agent", "user"}, func(p string) bool { return strings.Contains(outer, p) })
	}
	return true
}

func (m mask) hide(v value, hidden bool, name string) value {
	switch v.kind {
	case kindText:
		if hidden {
			v.text = scramble(v.text)
		} else {
			v.text = m.text(v.text)
		}
	case kindNumber:
		if hidden {
			v.kind, v.text = kindText, scramble(v.text)
		}
	case kindList:
		list := make([]value, len(v.list))
		for i, element := range v.list {
			list[i] = m.hide(element, hidden, name)
		}
		v.list = list
	case kindObject:
		members := make([]member, len(v.members))
		for i, inner := range v.members {
			members[i] = member{inner.name, m.hide(inner.value, hidden || personalName(inner.name, name), inner.name)}
		}
		v.members = members
	}
	return v
}

// request returns a request as it is shown: texts that a client sent are hidden, and so are
// parameters that the API does not have, because nobody knows what they hold.
func (m mask) request(d Document, r Request) string {
	if m.show {
		return readable(r.path, r.query)
	}
	found, _ := d.match(r.path)
	shown := url.Values{}
	for name, values := range r.query {
		p, documented := found.parameter(name)
		if documented && (p.kind != "string" || p.format != "" || len(p.values) > 0 || slices.Contains(wordParameters, name)) {
			shown[name] = values
			continue
		}
		for _, v := range values {
			shown.Add(name, scramble(v))
		}
	}
	return readable(m.text(r.path), shown)
}

// wordParameters are texts that hold words of the API.
var wordParameters = []string{"status", "payment_status", "fulfillment_status", "bookings_status", "include", "meta_key", "payment_method", "processor", "agent_id", "location_id", "start_time"}

// readable returns a request for people; what would be a control character stays encoded.
func readable(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	encoded := query.Encode()
	return path + "?" + strings.NewReplacer("%3A", ":", "%2C", ",", "%40", "@", "%2F", "/").Replace(encoded)
}
