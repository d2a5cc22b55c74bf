package masks

import (
	"regexp"
	"strings"

	"github.com/bookside/bookside/compat/jsontext"
)

// maxBody bounds the bodies that are shown, in bytes.
const maxBody = 16 << 10

// plainMembers are the members that hold no personal data, by the forms of their names and of their values.
var plainMembers = []struct{ name, value *regexp.Regexp }{
	{regexp.MustCompile(`^(id|duration|quantity)$|_(id|minutes|attendees|min|max)$`), regexp.MustCompile(`^(|any|-1|[0-9]{1,9})$`)},
	{regexp.MustCompile(`^(price|amount|subtotal|total)$|_(amount|total|min|max)$`), regexp.MustCompile(`^(|-?[0-9]{1,9}(\.[0-9]{1,4})?)$`)},
	{regexp.MustCompile(`^date(_to)?$|_date$`), regexp.MustCompile(`^(|[0-9]{4}-[0-9]{2}-[0-9]{2})$`)},
	{regexp.MustCompile(`_time$`), regexp.MustCompile(`^(|[0-9]{1,2}:[0-9]{2}|[0-9]{1,4})$`)},
}

// wordMember matches the members that hold words of the API.
var wordMember = regexp.MustCompile(`^status$|_(status|portion|type)$`)

// freeMember matches the members whose own members the site or the client names.
var freeMember = regexp.MustCompile(`^(custom_fields|meta)($|[.\[])`)

// plain reports whether the value of a member is an id, a time, an amount or a status.
func (r *Request) plain(name, value string) bool {
	for _, member := range plainMembers {
		if member.name.MatchString(name) && member.value.MatchString(value) {
			return true
		}
	}
	return wordMember.MatchString(name) && (value == "" || r.Word(value))
}

// Body returns the body of a request for people: JSON or the fields of a form, with every text and number
// masked unless its name says that it is an id, a time, an amount or a status, and it looks like one. It
// leaves out members whose names the API does not know.
func (r *Request) Body(sent []byte) string {
	if len(sent) > maxBody {
		r.unread = true
		return "…"
	}
	if value, err := jsontext.Parse(sent); err == nil {
		return string(r.value("", value, false))
	}
	text := string(sent)
	if !strings.Contains(text, "=") || strings.ContainsAny(text, "\r\n\"{ ") {
		r.unread = text != ""
		return Text(text)
	}
	return r.query(text, func(name, value string) bool { return !freeMember.MatchString(name) && r.plain(name, value) })
}

// value masks the value of a member and everything in it; nothing stays in a free one.
func (r *Request) value(name string, value jsontext.Value, free bool) jsontext.Value {
	text, isText, single := value.Scalar()
	switch {
	case !single:
		free = free || freeMember.MatchString(name)
		return value.Each(func(name string, inner jsontext.Value) jsontext.Value {
			shown := r.value(name, inner, free) // remembers what is in it
			if name != "" && !r.isField(name) {
				return nil
			}
			return shown
		})
	case value.Null(), !isText && (text == "true" || text == "false"), !free && r.plain(name, text):
		return value
	default:
		return jsontext.Quote(r.mask(text))
	}
}
