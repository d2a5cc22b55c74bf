package compare

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bookside/compat"
)

// Known is a difference that is a decision of Bookside, not a fault.
type Known struct {
	Name string `json:"name"`
	Why  string `json:"why"`

	matches func(c comparison, d difference) bool
}

// knownDifferences are all of them; the first that matches counts.
var knownDifferences = []Known{
	{
		"route of Bookside", "Bookside has routes that the extension lacks; PHP answers 404 there, and no client of it can have used them.",
		func(c comparison, _ difference) bool {
			return c.route.Path != "" && c.php.status == http.StatusNotFound && codeOf(c.php.json) == "rest_no_route" && c.bookside.status < 500
		},
	},
	{
		"parameter of Bookside", "The extension ignores parameters that it does not know; Bookside has some more, such as updated_from, date_to and any agent.",
		func(c comparison, d difference) bool {
			return c.bookside.status < http.StatusInternalServerError && (c.otherForm() || c.otherFilter() && c.narrowed(d))
		},
	},
	{
		"wrong parameter is rejected", "A parameter that cannot be read gets a 400 that names it, where PHP silently takes the default: a filter that does nothing is worse than an error.",
		func(c comparison, _ difference) bool {
			return c.bookside.status == http.StatusBadRequest && codeOf(c.bookside.json) == "invalid_parameters" && c.php.status <= http.StatusBadRequest
		},
	},
	{
		"failure of PHP", "Some rows make the plugin fail with a 500; Bookside skips or answers them.",
		func(c comparison, _ difference) bool {
			return c.php.status == http.StatusInternalServerError && c.again.status == http.StatusInternalServerError && c.bookside.status < http.StatusInternalServerError
		},
	},
	{
		"total order", "Records that are equal in what the list is sorted by come in the order of their ids, so that pages neither repeat nor skip any; PHP leaves their order to the database.",
		tieOrder,
	},
	{
		"records never lack a key", "A customer, agent, location or order that no longer exists keeps its object, with the stored id and empty values, so that clients need no special case.",
		func(_ comparison, d difference) bool { return emptyRecord(d) },
	},
	{
		"both envelopes", "Where the documentation of the extension shows no envelope, the answer has both success and status, so that either kind of client finds what it tests.",
		func(c comparison, d difference) bool {
			return c.bookside.status < http.StatusBadRequest && d.kind == AdditionalKey && slices.Contains([]string{"$.success", "$.status", "$.message"}, d.path())
		},
	},
	{
		"both shapes of an error", "The documentation of the extension has the error of an unknown customer in another shape than the extension; the answer has both, so that either kind of client finds what it tests.",
		func(c comparison, d difference) bool {
			return c.route.Path == "/customers/{id}" && c.bookside.status == http.StatusNotFound && d.kind == AdditionalKey &&
				slices.Contains([]string{"$.code", "$.message", "$.data", "$.status", "$.error"}, d.path())
		},
	},
	{
		"refunds are shown", "The payment status of an order says refunded or partially_refunded as soon as something was refunded; the plugin's own column never does.",
		func(_ comparison, d difference) bool {
			return d.kind == ValueDiffers && d.at.last() == "payment_status" && strings.HasSuffix(d.bookside.text, "refunded")
		},
	},
	{
		"a payment has its order's customer", "A payment that names no customer gets that of its order, so that it is found with them; the extension stores none.",
		func(c comparison, d difference) bool {
			return d.kind == ValueDiffers && d.path() == "$.data.customer_id" && d.php.text == "0" && c.php.json.at("message").text == "Payment created successfully"
		},
	},
	{
		"secrets stay out", "Keys and URLs with which anybody can manage a booking, passwords and login tokens are not shown.",
		func(_ comparison, d difference) bool {
			return d.kind == MissingKey && secretField(d.at.last())
		},
	},
	{
		"permission of the other resource", "A record shows tokens, addresses and transactions of another resource only to a key that may read it; otherwise they are empty.",
		func(c comparison, d difference) bool {
			resource := readBy[d.at.last()]
			return (d.kind == ValueDiffers || d.kind == TypeDiffers) && resource != "" && !strings.HasPrefix(c.route.Path, resource) && d.bookside.empty()
		},
	},
	{
		"totals up to 5 seconds old", "On large sites, totals that take long to count are shared by requests for up to lists.count_max_age; X-Total-Age says how old one is.",
		func(c comparison, d difference) bool {
			return c.bookside.header.Get("X-Total-Age") != "" && d.kind == ValueDiffers && len(d.at) > 1 && d.at[0].name == "pagination"
		},
	},
	{
		"past days are not offered", "The calendar of the plugin also lists starts of past days and after midnight, none of which can be booked.",
		unbookable,
	},
	{
		"the time of the request", "It is another one a moment later.",
		func(c comparison, d difference) bool {
			return c.route.Path == "/status" && d.kind == ValueDiffers && d.at.last() == "current_time" && closeTimes(d.php.text, d.bookside.text, clockTolerance)
		},
	},
}

// known returns the known difference, or the zero value.
func (c comparison) known(d difference) Known {
	for _, k := range knownDifferences {
		if k.matches(c, d) {
			return k
		}
	}
	return Known{}
}

// has reports whether the request has one of these parameters.
func (r Request) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return r.last(name) != "" })
}

// otherForm reports a request with a parameter of Bookside that gives the answer another form.
func (c comparison) otherForm() bool {
	return c.route.Path == "/availability" && (c.request.has("date_to", "explain") || slices.Contains([]string{"any", "-1"}, c.request.last("agent_id")))
}

// otherFilter reports a request with a filter that only Bookside has.
func (c comparison) otherFilter() bool {
	return slices.ContainsFunc(c.route.Parameters, func(p compat.FieldDescription) bool { return p.Ours && c.request.has(p.Name) })
}

// narrowed reports what a filter can change: which elements a list has, and how many; but no
// record.
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
	return cmp.Or(body.at("code").text, body.at("error", "code").text)
}

// sortFields are what lists are sorted by, where the name of the parameter's value is another.
var sortFields = map[string][][]string{
	"start_date":    {{"start_date"}, {"start_time"}},
	"customer_name": {{"customer", "first_name"}, {"customer", "last_name"}},
	"price":         {{"charge_amount"}},
	"created_date":  {{"created_at"}},
	"updated_date":  {{"updated_at"}},
}

// defaultSort is what lists are sorted by without a parameter.
var defaultSort = map[string]string{
	"/bookings": "start_date", "/customers": "created_at", "/agents": "first_name", "/services": "id", "/services/categories": "order_number",
	"/payments": "created_at", "/orders": "created_at",
}

// tieOrder reports a difference of two pages that are equally sorted: both have the same
// values, one after the other, in what they are sorted by.
func tieOrder(c comparison, d difference) bool {
	if len(d.at) == 0 || d.at[0].name != "data" {
		return false
	}
	if !listKind(d.kind) || d.kind != OrderDiffers && len(d.at) != 2 || d.kind == OrderDiffers && len(d.at) != 1 {
		return false
	}
	by := c.request.last("sort") + c.request.last("order_by")
	if by == "" {
		by = defaultSort[c.route.Path]
	}
	if by == "" || by == "id" {
		return false
	}
	fields, ok := sortFields[by]
	if !ok {
		fields = [][]string{{by}}
	}
	php, okPHP := sortValues(c.php.json, fields)
	bookside, okBookside := sortValues(c.bookside.json, fields)
	if !okPHP || !okBookside || !slices.Equal(php, bookside) {
		return false
	}
	return d.kind == OrderDiffers || atBorder(d, php) && hasMore(c.php.json) && hasMore(c.bookside.json)
}

// atBorder reports whether a record has the same sort values as the first or the last one of
// its page, so that it could as well be on another page.
func atBorder(d difference, values []string) bool {
	i, _ := strconv.Atoi(d.at[1].name)
	own := values[i]
	return own == values[0] || own == values[len(values)-1]
}

// hasMore reports whether a list has more records than those of the page.
func hasMore(body value) bool {
	n, err := strconv.Atoi(body.at("pagination", "total").text)
	return err == nil && n > len(body.at("data").members)
}

func sortValues(body value, fields [][]string) (all []string, ok bool) {
	for _, record := range body.at("data").members {
		text := ""
		for _, field := range fields {
			v := record.value.at(field...)
			if v.kind == 0 {
				return nil, false
			}
			text += strings.ToLower(v.text) + "\x00"
		}
		all = append(all, text)
	}
	return all, true
}

// emptyRecord reports an object of which Bookside has only the id, and PHP nothing.
func emptyRecord(d difference) bool {
	if d.bookside.kind != jsontext.KindBeginObject || d.kind != TypeDiffers && d.kind != AdditionalKey || !d.php.empty() {
		return false
	}
	for _, m := range d.bookside.members {
		if m.name != "id" && !m.value.empty() {
			return false
		}
	}
	return len(d.bookside.members) > 0
}

// readBy are the resources that a key must read to see a field; on their own routes it does.
var readBy = map[string]string{"token": "/payments", "transactions": "/payments", "ip_address": "/orders"}

// secretField reports the name of a field with which a booking could be managed or somebody
// could log in.
func secretField(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "key_to_manage") || strings.HasPrefix(name, "manage_") ||
		slices.Contains([]string{"password", "activation_key", "account_nonse", "account_nonce"}, name)
}

// clockTime is the form of a start.
var clockTime = regexp.MustCompile(`^\d{2}:\d{2}(?::\d{2})?$`)

// unbookable reports a start that only PHP offers, of a day that is over or after midnight.
func unbookable(c comparison, d difference) bool {
	if c.route.Path != "/availability" || d.kind != MissingElement || !clockTime.MatchString(d.php.text) {
		return false
	}
	return d.php.text >= "24:00" || c.request.last("date") != "" && c.request.last("date") < dayOf(c.bookside)
}

// dayOf returns the day of an answer, by the server's clock.
func dayOf(a answer) string {
	date, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return ""
	}
	return date.AddDate(0, 0, -1).Format("2006-01-02") // a day earlier: the site may be in any zone
}
