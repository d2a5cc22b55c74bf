package compat

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat/jsontext"
)

// What a dry run, or a write that changed nothing, returns to a key that may not read such records: what
// distinguishes one record from another, its times and prices, and whatever the key itself sent. Everything
// else that is stored is empty. Otherwise the permission to write would be a permission to read without a
// trace.

// alwaysShown are the members of records, besides ids, that such a response shows.
var alwaysShown = []string{
	"booking_code", "confirmation_code", "code", "coupon_code", "invoice_number", "receipt_number",
	"status", "payment_status", "fulfillment_status", "visibility", "kind", "payment_portion", "discount_type", "is_guest", "variant",
	"start_date", "start_time", "start_datetime", "end_date", "end_time", "end_datetime", "timezone", "duration", "created_at", "created_datetime", "updated_at", "due_at",
	"price", "price_min", "price_max", "charge_amount", "deposit_amount", "amount", "subtotal", "total", "tax_total", "discount_total", "coupon_discount", "discount_value",
	"min_order_amount", "max_discount_amount", "capacity_min", "capacity_max", "total_attendees",
}

// freeMembers are the members of records that are objects with member names chosen by the site.
var freeMembers = []string{"meta", "custom_fields"}

// Sent are the texts that a client sent for the fields of an operation, by field name, without blanks and
// punctuation, because texts are cleaned before they are stored.
type Sent map[string][]string

// Sent returns what the document has for the fields of an operation, each at its own place and with one
// value: a client that could send several would learn which of them is stored.
func (d Document) Sent(fields []FieldDescription) Sent {
	members := map[string]*Schema{}
	for _, f := range fields {
		members[f.Name] = f.Schema
	}
	query, body := Sent{}, Sent{}
	for name, value := range d.query {
		object, _ := nested(name, value).Object()
		query.take(members, object)
	}
	object, _ := d.root.Object()
	body.take(members, object)
	sent := query
	for name, texts := range body {
		sent[name] = append(sent[name], texts...)
	}
	if _, known := members["customer_comment"]; !known { // the field in which a booking stores its notes
		sent["customer_comment"] = sent["notes"]
	}
	if reasons := sent[records.MoveReason]; reasons != nil { // a booking shows it as one of its own
		sent[records.CancellationReason], sent[records.RescheduleReason] = reasons, reasons
	}
	for name, texts := range maps.Clone(sent) { // of a booking, its meta has them
		if field, custom := strings.CutPrefix(name, "custom_fields."); custom {
			sent["meta."+field] = texts
		}
	}
	for _, first := range sent["first_name"] {
		for _, last := range sent["last_name"] {
			sent["full_name"] = append(sent["full_name"], first+last)
		}
	}
	return sent
}

// nested returns the object that contains a value under a name with several parts, such as customer[email].
func nested(name string, value jsontext.Value) jsontext.Value {
	for _, part := range slices.Backward(partsOfName(name)) {
		value = slices.Concat(jsontext.Value("{"), jsontext.Quote(part), jsontext.Value(":"), value, jsontext.Value("}"))
	}
	return value
}

// take adds the texts of an object with these members.
func (s Sent) take(members map[string]*Schema, object map[string]jsontext.Value) {
	for name, value := range object {
		schema, known := members[name]
		if !known {
			continue
		}
		value = decodeText(value)
		inner, isObject := value.Object()
		switch {
		case value.Null():
		case !isObject:
			s.enter(name, value)
		case slices.Contains(freeMembers, name):
			for member, value := range inner {
				s.enter(name+"."+member, value)
			}
		case schema != nil:
			s.take(membersOf(schema), inner)
		}
	}
}

func membersOf(schema *Schema) map[string]*Schema {
	members := map[string]*Schema{}
	for _, m := range schema.Properties {
		inner, _ := m.Value().(*Schema)
		members[m.Name()] = inner
	}
	return members
}

func (s Sent) enter(name string, value jsontext.Value) {
	text, _, single := value.Scalar()
	if !single {
		text = string(value)
	}
	s[name] = []string{bare(text)}
}

// has reports whether a text was sent under a name.
func (s Sent) has(name, text string) bool { return slices.Contains(s[name], bare(text)) }

// bare returns the letters and digits of a text.
func bare(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, text)
}

// Unread returns a response reduced to what a key without the right to read such records may know. The
// texts around the record are kept.
func Unread(answer []byte, sent Sent) ([]byte, error) {
	root, err := jsontext.Parse(answer)
	if err != nil {
		return nil, fmt.Errorf("empty what is stored: %w", err)
	}
	return unread{sent: sent, around: bytes.Contains(answer, []byte(`"data":{`))}.redact(root), nil
}

// unread says how to copy values.
type unread struct {
	sent   Sent
	name   string // name of the member being copied
	around bool   // outside the record
	free   string // the freeMembers member that contains it
	stats  bool   // within statistics
}

// redact returns what is shown of a value.
func (u unread) redact(value jsontext.Value) jsontext.Value {
	if value[0] == '[' {
		return value.Each(func(_ string, element jsontext.Value) jsontext.Value { return u.redact(element) })
	}
	if value[0] != '{' {
		return u.single(value)
	}
	return value.Each(func(name string, inner jsontext.Value) jsontext.Value {
		shown := u.member(name).redact(inner)
		if u.free != "" && string(shown) == `""` {
			return nil // the names are stored data too
		}
		return shown
	})
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

// single returns what is shown of a text, a number or a boolean.
func (u unread) single(value jsontext.Value) jsontext.Value {
	text, isText, _ := value.Scalar()
	switch {
	case u.around || value.Null():
		return value
	case u.stats:
		return u.statistic(text, isText)
	case !isText: // an id, a time, an amount or a state
		return value
	case u.free != "" && u.sent.has(u.free+"."+u.name, text):
		return value
	case u.free == "" && (isID(u.name, text) || slices.Contains(alwaysShown, u.name) || u.sent.has(u.name, text)):
		return value
	default:
		return jsontext.Value(`""`)
	}
}

// isID reports whether a text is the number of a record. Sources of bookings have names chosen by the site.
func isID(name, text string) bool {
	if name != "id" && !strings.HasSuffix(name, "_id") || name == "source_id" {
		return false
	}
	_, err := strconv.ParseUint(text, 10, 63)
	return err == nil
}

// statistic returns what a statistic shows if there is nothing to count.
func (u unread) statistic(text string, isText bool) jsontext.Value {
	switch {
	case strings.HasSuffix(u.name, "_date"):
		return jsontext.Value("null")
	case isText && strings.Contains(text, "."):
		return jsontext.Value(`"0.00"`)
	case isText:
		return jsontext.Value(`"0"`)
	default:
		return jsontext.Value("0")
	}
}
