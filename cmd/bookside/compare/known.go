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

	"github.com/bookside/bookside/adapter/rowdiff"
	"github.com/bookside/bookside/compat"
)

// known is a kind of difference that is a decision of Bookside, not a fault. The first match in a list
// counts.
type known[Request, Difference any] struct {
	Name, Why string
	matches   func(Request, Difference) bool
}

// knownOf returns the name of a known difference and the reason for it, or nothing.
func knownOf[Request, Difference any](all []known[Request, Difference], r Request, d Difference) (name, why string) {
	for _, k := range all {
		if k.matches(r, d) {
			return k.Name, k.Why
		}
	}
	return "", ""
}

// knownDifferences are the known differences of responses.
var knownDifferences = []known[comparison, difference]{
	{"route of Bookside", "Bookside has routes that the extension lacks; PHP answers 404 there, and no client of it can have used them.", func(c comparison, _ difference) bool {
		return c.route.Path != "" && c.php.status == http.StatusNotFound && codeOf(c.php.json) == "rest_no_route" && c.bookside.status < 500
	}},
	{"parameter of Bookside", "The extension ignores parameters that it does not know; Bookside has some more, such as updated_from, date_to and any agent.", func(c comparison, d difference) bool {
		return c.bookside.status < http.StatusInternalServerError && (c.otherForm() || c.otherFilter() && c.narrowed(d))
	}},
	{"wrong parameter is rejected", "A parameter that cannot be read gets a 400 that names it, where PHP silently takes the default: a filter that does nothing is worse than an error.", func(c comparison, _ difference) bool {
		return c.bookside.status == http.StatusBadRequest && codeOf(c.bookside.json) == "invalid_parameters" && c.php.status <= http.StatusBadRequest
	}},
	{"failure of PHP", "Some rows make the plugin fail with a 500; Bookside skips or answers them.", func(c comparison, _ difference) bool {
		return c.php.status == http.StatusInternalServerError && c.again.status == http.StatusInternalServerError && c.bookside.status < http.StatusInternalServerError
	}},
	{"total order", "Records that are equal in what the list is sorted by come in the order of their ids, so that pages neither repeat nor skip any; PHP leaves their order to the database.", tieOrder},
	{"records never lack a key", "A customer, agent, location or order that no longer exists keeps its object, with the stored id and empty values, so that clients need no special case.", emptyRecord},
	{"fields of add-ons", "Where the site has Pro Features, a booking shows its extras and why it was cancelled or changed; the extension has no such fields.", func(_ comparison, d difference) bool {
		return d.kind == AdditionalKey && slices.Contains([]string{"extras", "cancellation_reason", "reschedule_reason"}, d.at.last())
	}},
	{"both envelopes", "Where the documentation of the extension shows no envelope, the answer has both success and status, so that either kind of client finds what it tests.", func(c comparison, d difference) bool {
		return c.bookside.status < http.StatusBadRequest && d.kind == AdditionalKey && slices.Contains([]string{"$.success", "$.status", "$.message"}, d.path())
	}},
	{"both shapes of an error", "The documentation of the extension has the error of an unknown customer in another shape than the extension; the answer has both, so that either kind of client finds what it tests.", func(c comparison, d difference) bool {
		return c.route.Path == "/customers/{id}" && c.bookside.status == http.StatusNotFound && d.kind == AdditionalKey &&
			slices.Contains([]string{"$.code", "$.message", "$.data", "$.status", "$.error"}, d.path())
	}},
	{"refunds are shown", "The payment status of an order says refunded or partially_refunded as soon as something was refunded; the plugin's own column never does.", func(_ comparison, d difference) bool {
		return d.kind == ValueDiffers && d.at.last() == "payment_status" && strings.HasSuffix(d.bookside.text, "refunded")
	}},
	{"a payment has its order's customer", "A payment that names no customer gets that of its order, so that it is found with them; the extension stores none.", func(c comparison, d difference) bool {
		return d.kind == ValueDiffers && d.path() == "$.data.customer_id" && d.php.text == "0" && c.php.json.at("message").text == "Payment created successfully"
	}},
	{"secrets stay out", "Keys and URLs with which anybody can manage a booking, passwords and login tokens are not shown.", func(_ comparison, d difference) bool {
		return d.kind == MissingKey && secretField.MatchString(d.at.last())
	}},
	{"permission of the other resource", "A record shows tokens, addresses and transactions of another resource only to a key that may read it; otherwise they are empty.", func(c comparison, d difference) bool {
		resource := readBy[d.at.last()]
		return (d.kind == ValueDiffers || d.kind == TypeDiffers) && resource != "" && !strings.HasPrefix(c.route.Path, resource) && d.bookside.empty()
	}},
	{"totals up to 5 seconds old", "On large sites, totals that take long to count are shared by requests for up to lists.count_max_age; X-Total-Age says how old one is.", func(c comparison, d difference) bool {
		return c.bookside.header.Get("X-Total-Age") != "" && d.kind == ValueDiffers && len(d.at) > 1 && d.at[0].name == "pagination"
	}},
	{"past days are not offered", "The calendar of the plugin also lists starts of past days and after midnight, none of which can be booked.", unbookable},
	{"the time of the request", "It is another one a moment later.", func(c comparison, d difference) bool {
		return c.route.Path == "/status" && d.kind == ValueDiffers && d.at.last() == "current_time" && rowdiff.CloseTimes(d.php.text, d.bookside.text, Tolerance)
	}},
}

// has reports whether the request has one of these parameters.
func (r Request) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return r.last(name) != "" })
}

// otherForm reports whether the request has a parameter of Bookside that changes the format of the
// response.
func (c comparison) otherForm() bool {
	return c.route.Path == "/availability" && (c.request.has("date_to", "explain") || slices.Contains([]string{"any", "-1"}, c.request.last("agent_id")))
}

// otherFilter reports whether the request has a filter that only Bookside knows.
func (c comparison) otherFilter() bool {
	return slices.ContainsFunc(c.route.Parameters, func(p compat.FieldDescription) bool { return p.Ours && c.request.has(p.Name) })
}

// narrowed reports whether a filter can cause the difference: which elements a list has, and how many, but
// not a record.
func (c comparison) narrowed(d difference) bool {
	switch d.kind {
	case StatusDiffers:
		return c.route.Path == "/availability" // the place or the booking does not exist
	case MissingElement, AdditionalElement, OrderDiffers:
		return true
	case HeaderDiffers:
		return strings.HasPrefix(d.path(), "X-WP-")
	case ValueDiffers, TypeDiffers: // such as the next free day, or none
		within := slices.ContainsFunc(d.at, func(s step) bool { return s.element })
		return !within && (d.kind == ValueDiffers || d.php.empty() || d.bookside.empty())
	default:
		return false
	}
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
	by := cmp.Or(c.request.last("sort"), c.request.last("order_by"), defaultSort[c.route.Path])
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

// readBy are the resources that a key must be able to read to see a field; on the resource's own routes it
// can.
var readBy = map[string]string{"token": "/payments", "transactions": "/payments", "ip_address": "/orders"}

// secretField matches the names of fields with which somebody could manage a booking or log in.
var secretField = regexp.MustCompile(`(?i)^(?:key_to_manage|manage_|(?:password|activation_key|account_non[sc]e)$)`)

// clockTime matches a start.
var clockTime = regexp.MustCompile(`^\d{2}:\d{2}(?::\d{2})?$`)

// unbookable reports whether only PHP offers a start, on a past day or after midnight.
func unbookable(c comparison, d difference) bool {
	if c.route.Path != "/availability" || d.kind != MissingElement || !clockTime.MatchString(d.php.text) {
		return false
	}
	today, err := http.ParseTime(c.bookside.header.Get("Date"))
	yesterday := today.AddDate(0, 0, -1).Format(time.DateOnly) // the site may be in any zone
	return d.php.text >= "24:00" || err == nil && c.request.last("date") != "" && c.request.last("date") < yesterday
}
