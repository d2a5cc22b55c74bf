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

// Body returns the body of a request for people: JSON or the fields of a form, with every text and number
// masked unless its name says that it is an id, a time, an amount or a status, and it looks like one. It
// leaves out members whose names do not look like those of fields.
func Body(sent []byte) string {
	value, err := jsontext.Parse(sent)
	switch {
	case len(sent) > maxBody:
		return "…"
	case err == nil:
		return string(maskedValue(value, false))
	case strings.Contains(string(sent), "="):
		return Query(string(sent), plainMember.MatchString)
	default:
		return Text(string(sent))
	}
}

// maskedValue masks a value and everything in it; a plain one may stay.
func maskedValue(value jsontext.Value, plain bool) jsontext.Value {
	text, isText, single := value.Scalar()
	switch {
	case !single:
		return value.Each(func(name string, inner jsontext.Value) jsontext.Value {
			if Name(name) != name {
				return nil
			}
			return maskedValue(inner, plainMember.MatchString(name))
		})
	case value.Null(), !isText && (text == "true" || text == "false"), plain && plainValue.MatchString(text):
		return value
	default:
		return jsontext.Quote(Text(text))
	}
}
