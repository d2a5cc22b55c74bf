package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// What a rehearsal, or a write that changed nothing, answers to a key that may not read such records:
// what tells one record from another, when it is and what it costs, and whatever the key sent itself.
// Everything else that is stored is empty. Otherwise the permission to write would be one to
// read without a trace.

// alwaysShown are the members of records, besides ids, that such an answer shows.
var alwaysShown = []string{
	"booking_code", "confirmation_code", "code", "coupon_code", "invoice_number", "receipt_number",
	"status", "payment_status", "fulfillment_status", "visibility", "kind", "payment_portion", "discount_type", "is_guest", "variant",
	"start_date", "start_time", "start_datetime", "end_date", "end_time", "end_datetime", "timezone", "duration", "created_at", "created_datetime", "updated_at", "due_at",
	"price", "price_min", "price_max", "charge_amount", "deposit_amount", "amount", "subtotal", "total", "tax_total", "discount_total", "coupon_discount", "discount_value",
	"min_order_amount", "max_discount_amount", "capacity_min", "capacity_max", "total_attendees",
}

// freeMembers are the members of records that are objects whose members have names of the site's own.
var freeMembers = []string{"meta", "custom_fields"}

// Sent are the texts that a client sent for the fields of an operation, by the name of the field, without
// blanks and punctuation, because texts are stored cleaned.
type Sent map[string][]string

// Sent returns what the document has for the fields of an operation.
func (d Document) Sent(fields []FieldDescription) Sent {
	sent := Sent{}
	for _, f := range fields {
		sent.know(f.Name, f.Schema)
	}
	for name, value := range d.query {
		sent.take(name, decodeJSON(value.json()))
	}
	sent.take("", decodeJSON(d.root.json()))
	if _, known := sent["customer_comment"]; !known { // where a booking keeps its notes
		sent["customer_comment"] = sent["notes"]
	}
	for _, first := range sent["first_name"] {
		for _, last := range sent["last_name"] {
			sent["full_name"] = append(sent["full_name"], first+last)
		}
	}
	return sent
}

// know enters the names of a field and of its members.
func (s Sent) know(name string, schema *Schema) {
	if _, known := s[name]; !known {
		s[name] = nil
	}
	if schema == nil {
		return
	}
	for _, m := range schema.Properties {
		inner, _ := m.Value().(*Schema)
		s.know(m.Name(), inner)
	}
}

// take enters the texts of a value that was sent under a name, which may have several parts, such as
// customer.email.
func (s Sent) take(name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for member, inner := range value {
			if slices.Contains(freeMembers, lastPart(name)) {
				s.enter(lastPart(name)+"."+member, inner)
				continue
			}
			s.take(member, inner)
		}
	case string:
		if text := strings.TrimSpace(value); strings.HasPrefix(text, "{") { // see decodeText
			if inner := decodeJSON([]byte(text)); inner != nil {
				s.take(name, inner)
				return
			}
		}
		s.enterKnown(lastPart(name), value)
	case nil:
	default:
		s.enterKnown(lastPart(name), value)
	}
}

func (s Sent) enterKnown(name string, value any) {
	if _, known := s[name]; known {
		s.enter(name, value)
	}
}

func (s Sent) enter(name string, value any) { s[name] = append(s[name], bare(fmt.Sprint(value))) }

// has reports whether a text was sent under a name.
func (s Sent) has(name, text string) bool { return slices.Contains(s[name], bare(text)) }

// lastPart returns the last part of a name such as customer.email or customer[email].
func lastPart(name string) string {
	parts := strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
	if len(parts) == 0 {
		return name
	}
	return parts[len(parts)-1]
}

// bare returns the letters and digits of a text.
func bare(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, text)
}

// Unread returns an answer, as it is sent, of which a key without the right to read such records
// gets what it may know. The texts around the record are kept.
func Unread(answer []byte, sent Sent) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	var shown bytes.Buffer
	root := bytes.Contains(answer, []byte(`"data":{`))
	if err := copyUnread(decoder, &shown, unread{sent: sent, around: root}); err != nil {
		return nil, fmt.Errorf("empty what is stored: %w", err)
	}
	return shown.Bytes(), nil
}

// unread is how values are copied.
type unread struct {
	sent   Sent
	name   string // of the member whose value it is
	around bool   // outside of the record
	free   string // the member of freeMembers that it is in
	stats  bool   // within statistics
}

func copyUnread(from *json.Decoder, to *bytes.Buffer, by unread) error {
	token, err := from.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return copyToken(to, by.value(token))
	}
	to.WriteRune(rune(open))
	for first := true; from.More(); {
		inner := by
		if open == '[' {
			if !first {
				to.WriteByte(',')
			}
			first = false
			if err := copyUnread(from, to, inner); err != nil {
				return err
			}
			continue
		}
		token, err := from.Token()
		if err != nil {
			return err
		}
		name := token.(string)
		inner = by.member(name)
		var value bytes.Buffer
		if err := copyUnread(from, &value, inner); err != nil {
			return err
		}
		if by.free != "" && value.String() == `""` {
			continue // the names are stored, too
		}
		if !first {
			to.WriteByte(',')
		}
		first = false
		if err := copyToken(to, name); err != nil {
			return err
		}
		to.WriteByte(':')
		to.Write(value.Bytes())
	}
	closing, err := from.Token()
	if err != nil {
		return err
	}
	to.WriteRune(rune(closing.(json.Delim)))
	return nil
}

// member returns how the value of a member is copied.
func (u unread) member(name string) unread {
	inner := u
	inner.name = name
	inner.around = u.around && name != "data"
	inner.stats = u.stats || name == "stats"
	if u.free == "" && slices.Contains(freeMembers, name) {
		inner.free = name
	}
	return inner
}

// value returns what is shown of a text, a number or a boolean.
func (u unread) value(value json.Token) json.Token {
	switch {
	case u.around || value == nil:
		return value
	case u.stats:
		return u.statistic(value)
	}
	text, isText := value.(string)
	switch {
	case !isText:
		return value // an id, a time, an amount or a state
	case u.free != "" && u.sent.has(u.free+"."+u.name, text):
		return value
	case u.free != "":
		return ""
	case u.name == "id" || strings.HasSuffix(u.name, "_id") || slices.Contains(alwaysShown, u.name) || u.sent.has(u.name, text):
		return value
	default:
		return ""
	}
}

// statistic returns what a statistic shows if there is nothing to count.
func (u unread) statistic(value json.Token) json.Token {
	text, isText := value.(string)
	switch {
	case strings.HasSuffix(u.name, "_date"):
		return nil
	case isText && strings.Contains(text, "."):
		return "0.00"
	case isText:
		return "0"
	default:
		return json.Number("0")
	}
}
