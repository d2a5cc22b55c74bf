package masks

import (
	"regexp"
	"strings"

	"github.com/bookside/bookside/compat/jsontext"
)

// maxBody bounds the bodies that are shown, in bytes.
const maxBody = 16 << 10

// plainMember matches the names of members that hold no personal data: ids, times, amounts and statuses.
var plainMember = regexp.MustCompile(`^(id|date|date_to|duration|quantity|status|price|amount|subtotal|total)$|_(id|date|time|minutes|amount|total|attendees|min|max|status|portion|type)$`)

// freeMember matches the members whose own members the site or the client names.
var freeMember = regexp.MustCompile(`^(custom_fields|meta)$`)

// plainInBody matches ids, numbers, dates, times, and words such as not_paid.
var plainInBody = regexp.MustCompile(`^([a-z]{1,20}(_[a-z]{1,20}){0,3}|-?[0-9][0-9.:TZ-]{0,30})?$`)

// Body returns the body of a request for people: JSON or the fields of a form, with every text and number
// masked unless its name says that it is an id, a time, an amount or a status, and it looks like one. It
// leaves out members whose names do not look like those of fields.
func Body(sent []byte) string {
	if len(sent) > maxBody {
		return "…"
	}
	if value, err := jsontext.Parse(sent); err == nil {
		return string(maskedValue(value, false, false))
	}
	text := string(sent)
	if !strings.Contains(text, "=") || strings.ContainsAny(text, "\r\n\"{ ") {
		return Text(text)
	}
	return maskedQuery(text, func(name, value string) bool {
		free := strings.HasPrefix(name, "custom_fields") || strings.HasPrefix(name, "meta")
		return !free && plainMember.MatchString(name) && plainInBody.MatchString(value)
	})
}

// maskedValue masks a value and everything in it; a plain one may stay, but nothing in a free one.
func maskedValue(value jsontext.Value, plain, free bool) jsontext.Value {
	text, isText, single := value.Scalar()
	switch {
	case !single:
		return value.Each(func(name string, inner jsontext.Value) jsontext.Value {
			if Name(name) != name {
				return nil
			}
			within := free || freeMember.MatchString(name)
			return maskedValue(inner, !within && plainMember.MatchString(name), within)
		})
	case value.Null(), !isText && (text == "true" || text == "false"), plain && plainInBody.MatchString(text):
		return value
	default:
		return jsontext.Quote(Text(text))
	}
}
