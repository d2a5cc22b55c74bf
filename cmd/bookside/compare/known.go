package compare

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// comparison is a request with its responses.
type comparison struct {
	request  Request
	route    string
	php      answer
	bookside answer
}

// known is a kind of difference that is a decision of Bookside, not a fault.
type known struct {
	name    string
	matches func(comparison, difference) bool
}

// knownDifferences are the known differences of responses. The first match counts.
var knownDifferences = []known{
	{"only Bookside has the route", func(c comparison, _ difference) bool {
		return c.php.status == http.StatusNotFound && codeOf(c.php.json) == "rest_no_route" && c.bookside.status < http.StatusInternalServerError
	}},
	{"a wrong parameter is rejected", func(c comparison, _ difference) bool {
		return c.bookside.status == http.StatusBadRequest && codeOf(c.bookside.json) == "invalid_parameters" && c.php.status <= http.StatusBadRequest
	}},
	{"PHP fails", func(c comparison, _ difference) bool {
		return c.php.status == http.StatusInternalServerError && c.bookside.status < http.StatusInternalServerError
	}},
	{"equal records have an order", tieOrder},
	{"records never lack a key", emptyRecord},
	{"the answer has both forms of the documentation", func(_ comparison, d difference) bool {
		return d.kind == AdditionalKey && len(d.at) == 1
	}},
	{"fields of add-ons", func(_ comparison, d difference) bool {
		return d.kind == AdditionalKey && slices.Contains([]string{"extras", "cancellation_reason", "reschedule_reason"}, d.at.last())
	}},
	{"refunds are shown", func(_ comparison, d difference) bool {
		return d.kind == ValueDiffers && d.at.last() == "payment_status" && strings.HasSuffix(d.bookside.text, "refunded")
	}},
	{"secrets stay out", func(_ comparison, d difference) bool {
		return d.kind == MissingKey && secretField.MatchString(d.at.last())
	}},
	{"past days and starts after the end of a day are not offered", unbookable},
	{"it is another time", func(c comparison, d difference) bool {
		return c.route == "/status" && d.kind == ValueDiffers && d.at.last() == "current_time"
	}},
}

// knownAs returns the name of a known difference, or nothing.
func knownAs(c comparison, d difference) string {
	for _, k := range knownDifferences {
		if k.matches(c, d) {
			return k.name
		}
	}
	return ""
}

// codeOf returns the code of an error in any of the shapes.
func codeOf(body value) string {
	return cmp.Or(body.at("code").text, body.at("error.code").text)
}

// sortFields are the fields that lists are sorted by, if the parameter's value has another name.
var sortFields = map[string][]string{
	"start_date":    {"start_date", "start_time"},
	"customer_name": {"customer.first_name", "customer.last_name"},
	"price":         {"charge_amount"},
	"created_date":  {"created_at"},
	"updated_date":  {"updated_at"},
}

// defaultSort is how lists are sorted without a parameter.
var defaultSort = map[string]string{
	"/bookings": "start_date", "/customers": "created_at", "/agents": "first_name", "/services": "id", "/services/categories": "order_number",
	"/payments": "created_at", "/orders": "created_at",
}

// tieOrder reports whether two pages differ only in the order of equal records: their sort values are the
// same, one after the other.
func tieOrder(c comparison, d difference) bool {
	records := d.kind == OrderDiffers && d.path() == "$.data" || d.isElement() && d.path() == "$.data[*]"
	by := cmp.Or(c.request.last("sort"), c.request.last("order_by"), defaultSort[c.route])
	if !records || by == "" || by == "id" {
		return false
	}
	php, bookside := sortValues(c.php.json, by), sortValues(c.bookside.json, by)
	if php == nil || !slices.Equal(php, bookside) {
		return false
	}
	if d.kind == OrderDiffers {
		return true
	}
	// A record that sorts first or last could as well be on another page.
	i, _ := strconv.Atoi(d.at[1].name)
	return (php[i] == php[0] || php[i] == php[len(php)-1]) && hasMore(c.php.json) && hasMore(c.bookside.json)
}

// hasMore reports whether a list has records beyond the page.
func hasMore(body value) bool {
	n, err := strconv.Atoi(body.at("pagination.total").text)
	return err == nil && n > len(body.at("data").members)
}

// sortValues returns the sort values of a list's records, or nothing if one of them lacks it.
func sortValues(body value, by string) (all []string) {
	fields := sortFields[by]
	if fields == nil {
		fields = []string{by}
	}
	for _, record := range body.at("data").members {
		text := ""
		for _, field := range fields {
			v := record.value.at(field)
			if v.kind == 0 {
				return nil
			}
			text += strings.ToLower(v.text) + "\x00"
		}
		all = append(all, text)
	}
	return all
}

// emptyRecord reports whether Bookside has only the id of an object, and PHP nothing.
func emptyRecord(_ comparison, d difference) bool {
	filled := slices.ContainsFunc(d.bookside.members, func(m member) bool { return m.name != "id" && !m.value.empty() })
	object := d.bookside.kind == jsontext.KindBeginObject && len(d.bookside.members) > 0
	return (d.kind == TypeDiffers || d.kind == AdditionalKey) && object && !filled && d.php.empty()
}

// secretField matches the names of fields with which somebody could manage a booking or log in.
var secretField = regexp.MustCompile(`(?i)^(?:key_to_manage|manage_|(?:password|activation_key|account_non[sc]e)$)`)

// clockTime matches a start.
var clockTime = regexp.MustCompile(`^\d{2}:\d{2}(?::\d{2})?$`)

// unbookable reports whether only PHP offers a start, on a past day or after midnight.
func unbookable(c comparison, d difference) bool {
	if c.route != "/availability" || d.kind != MissingElement || !clockTime.MatchString(d.php.text) {
		return false
	}
	today, err := http.ParseTime(c.bookside.header.Get("Date"))
	yesterday := today.AddDate(0, 0, -1).Format(time.DateOnly) // the site may be in any zone
	return d.php.text >= "24:00" || err == nil && c.request.last("date") != "" && c.request.last("date") < yesterday
}
