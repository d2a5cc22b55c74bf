package rowdiff

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/wpdb"
)

// Mapping pairs equivalent values of the two copies: ids and random codes of rows that a request created,
// and times close together.
type Mapping struct {
	tolerance time.Duration
	ids       map[wpdb.Table]map[int64]int64 // from Bookside's to PHP's
	codes     map[string]string              // likewise
}

// MaxTolerance is below a minute, so that no two times of a booking are the same.
const MaxTolerance = 59 * time.Second

func newMapping(tolerance time.Duration) *Mapping {
	return &Mapping{tolerance: min(tolerance, MaxTolerance), ids: map[wpdb.Table]map[int64]int64{}, codes: map[string]string{}}
}

// learn records that two new rows are equivalent: their ids and their codes.
func (m *Mapping) learn(t table, php, bookside record) {
	if m.ids[t.name] == nil {
		m.ids[t.name] = map[int64]int64{}
	}
	m.ids[t.name][bookside.key] = php.key
	m.learnCodes(t, php, bookside)
}

// learnCodes records the codes of two equivalent rows.
func (m *Mapping) learnCodes(t table, php, bookside record) {
	for _, column := range t.columns {
		a, b := php.values[column], bookside.values[column]
		if a != nil && b != nil && *a != *b && isCode(t.name, column, php) && len(*b) >= minCodeLength && sameForm(*a, *b) {
			m.codes[*b] = *a
		}
	}
}

// phpID returns the id in PHP's copy for a row of Bookside's.
func (m *Mapping) phpID(t wpdb.Table, id int64) int64 {
	if mapped, ok := m.ids[t][id]; ok {
		return mapped
	}
	return id
}

// codeColumns are the columns with random codes, keys and hashes.
var codeColumns = []string{
	"booking_code", "confirmation_code", "invoice_number", "receipt_number", "access_key", "uuid", "password", "activation_key", "account_nonse", "user_pass", "user_activation_key",
}

const minCodeLength = 6

// isCode reports whether a column of a row holds a random code.
func isCode(t wpdb.Table, column string, r record) bool {
	if slices.Contains(codeColumns, column) {
		return true
	}
	key := r.values["meta_key"]
	return t != wpdb.Usermeta && column == "meta_value" && key != nil && strings.HasPrefix(*key, "key_to_manage")
}

// sameForm reports whether two codes have the same form.
func sameForm(a, b string) bool {
	return len(a) == len(b) && codeForm.MatchString(a) && codeForm.MatchString(b)
}

var codeForm = regexp.MustCompile(`^[A-Za-z0-9$./_-]+$`)

// tableOf names the table that a column or a key of JSON refers to.
var tableOf = map[string]wpdb.Table{
	"booking_id": wpdb.Bookings, "customer_id": wpdb.Customers, "order_id": wpdb.Orders, "order_item_id": wpdb.OrderItems, "invoice_id": wpdb.OrderInvoices,
	"transaction_id": wpdb.Transactions, "service_id": wpdb.Services, "agent_id": wpdb.Agents, "location_id": wpdb.Locations, "coupon_id": wpdb.Coupons,
	"wordpress_user_id": wpdb.Users, "wp_user_id": wpdb.Users, "user_id": wpdb.Users, "cms_user_id": wpdb.Users, "process_id": wpdb.Processes,
}

// metaOwner names the table that object_id of a table with metadata refers to.
var metaOwner = map[wpdb.Table]wpdb.Table{
	wpdb.BookingMeta: wpdb.Bookings, wpdb.CustomerMeta: wpdb.Customers, wpdb.OrderMeta: wpdb.Orders, wpdb.ServiceMeta: wpdb.Services, wpdb.AgentMeta: wpdb.Agents,
}

// Same reports whether Bookside's value under a name, of a column or in a response, is equivalent to PHP's.
func (m *Mapping) Same(name, php, bookside string) bool {
	return m.same("", name, php, bookside)
}

func (m *Mapping) same(t wpdb.Table, name, php, bookside string) bool {
	if id, ok := number(bookside); ok {
		if same, decided := m.sameID(t, name, php, id); decided {
			return same
		}
	}
	if _, plain := number(php); plain {
		return php == bookside || m.codes[bookside] == php
	}
	if php == bookside || m.codes[bookside] == php && php != "" || CloseTimes(php, bookside, m.tolerance) {
		return true
	}
	var a, b any
	if len(php) > 0 && (php[0] == '{' || php[0] == '[') && json.Unmarshal([]byte(php), &a) == nil && json.Unmarshal([]byte(bookside), &b) == nil {
		return m.sameJSON(name, a, b)
	}
	return m.sameText(php, bookside)
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > 0
}

// sameID compares ids; decided is false for other numbers.
func (m *Mapping) sameID(t wpdb.Table, name, php string, bookside int64) (same, decided bool) {
	other, ok := number(php)
	if !ok {
		return false, false
	}
	to, known := tableOf[name]
	if owner, ok := metaOwner[t]; ok && name == "object_id" {
		to, known = owner, true
	}
	switch {
	case known:
		return m.phpID(to, bookside) == other, true
	case name != "id" && !strings.HasSuffix(name, "_id"):
		return false, false
	case other == bookside:
		return true, true
	default:
		for _, ids := range m.ids {
			if ids[bookside] == other {
				return true, true
			}
		}
		return false, true
	}
}

// timeForms are the time formats of columns and of the API.
var timeForms = []string{time.DateTime, time.RFC3339}

// CloseTimes reports whether two texts are times in the same format and no further apart than the
// tolerance.
func CloseTimes(a, b string, tolerance time.Duration) bool {
	for _, form := range timeForms {
		first, errFirst := time.Parse(form, a)
		second, errSecond := time.Parse(form, b)
		if errFirst == nil && errSecond == nil {
			return first.Sub(second).Abs() <= tolerance
		}
	}
	return false
}

func (m *Mapping) sameJSON(name string, php, bookside any) bool {
	switch a := php.(type) {
	case map[string]any:
		b, ok := bookside.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !m.sameJSON(key, value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := bookside.([]any)
		return ok && slices.EqualFunc(a, b, func(php, bookside any) bool { return m.sameJSON(name, php, bookside) })
	case string:
		b, ok := bookside.(string)
		return ok && m.same("", name, a, b)
	case float64:
		b, ok := bookside.(float64)
		return ok && (a == b || m.same("", name, strconv.FormatFloat(a, 'f', -1, 64), strconv.FormatFloat(b, 'f', -1, 64)))
	default:
		return php == bookside
	}
}

// token is a part of a text that may be a time, a code or an id.
var token = regexp.MustCompile(`\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}|[A-Za-z0-9]+|[^A-Za-z0-9]+`)

// sameText compares texts that contain codes, ids and times.
func (m *Mapping) sameText(php, bookside string) bool {
	for _, code := range slices.Backward(slices.Sorted(maps.Keys(m.codes))) { // longer codes before their prefixes
		bookside = strings.ReplaceAll(bookside, code, m.codes[code])
	}
	a, b := token.FindAllString(php, -1), token.FindAllString(bookside, -1)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] == b[i] || CloseTimes(a[i], b[i], m.tolerance) {
			continue
		}
		id, ok := number(b[i])
		if same, _ := m.sameID("", "id", a[i], id); !ok || !same {
			return false
		}
	}
	return true
}
