package openapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/jsonschema"
)

// members and member write JSON objects in a given order.
type (
	members = jsonschema.Members
	member  = jsonschema.Member
)

// indexOf returns the index of the member with a name, or -1.
func indexOf(all members, name string) int {
	return slices.IndexFunc(all, func(m member) bool { return m.Name() == name })
}

// API is what the document describes.
type API struct {
	QueryParameter string      // for keys; "" for none
	Operations     []Operation // in the order of the document, grouped by tag
	Headers        []Header    // of responses
}

// Operation is what the document says about a route.
type Operation struct {
	ID, Tag, Method      string
	Path                 string // below a server, with its parameters in braces
	Summary, Description string
	AboutFormats         string // what the description adds about Formats
	AboutPermission      string // and about the permission
	Noun                 string // what descriptions call a record
	PathParameters       []PathParameter
	Query, Body          []compat.FieldDescription
	StrictBody           bool // other fields of the body are refused
	Answers              []Answer
	Failures             []int                     // statuses
	Headers              func(status int) []string // of its responses, from API.Headers
	Exported             bool                      // a list that can be sent in other formats, which only the description mentions
	Tagged               bool                      // a read whose responses have an ETag
	Conditional          bool                      // a write that accepts If-Match
	Idempotent           bool                      // a write that accepts Idempotency-Key
	CalendarSecret       bool                      // opened by the secret of a calendar, not by a key
}

// PathParameter is an id, or the code of a coupon, in a path.
type PathParameter struct {
	Name     string
	Resource domain.Resource
}

// Answer is a sample response of an operation.
type Answer struct {
	Status int
	Body   any
	Media  string // of a Body that is text; "" for JSON
}

// Header describes a response header.
type Header struct {
	Name, Description, Type string
	Example                 any
}

const summary = "Bookings, customers, services, payments and orders of a WordPress site with LatePoint"

//go:embed introduction.md
var introduction string

// document returns the document of the API at some base paths, with examples on a day; see dayOfExamples.
func (a *API) document(servers []string, day time.Time) ([]byte, error) {
	d := describer{API: a, schemas: compat.NewSchemas()}
	paths, hooks := d.paths(), d.webhooks()
	whole := members{
		{"openapi", "3.1.1"},
		{"info", members{
			{"title", "Bookside"},
			{"version", "v1"},
			{"summary", summary},
			{"description", strings.TrimSpace(introduction)},
			{"contact", members{{"name", "The operator of this site"}}},
			{"license", members{{"name", "Apache License 2.0"}, {"identifier", "Apache-2.0"}}},
		}},
		{"servers", serversOf(servers)},
		{"security", d.security()},
		{"tags", d.tags()},
		{"paths", paths},
		{"webhooks", hooks},
		{"components", members{
			{"securitySchemes", d.securitySchemes()},
			{"headers", d.headers()},
			{"responses", d.errors},
			{"schemas", d.schemas.Named()},
		}},
	}
	return encode(whole, day)
}

// encode returns a document as JSON, with the days of examples replaced.
func encode(document members, day time.Time) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	dates := strings.NewReplacer(compat.ExampleDay, day.Format(time.DateOnly), compat.ExampleLastDay, day.AddDate(0, 0, 6).Format(time.DateOnly))
	return []byte(strings.TrimSuffix(dates.Replace(text.String()), "\n")), nil
}

// dayOfExamples is the day of bookings in examples: a Tuesday after all bookings of the demo, so that
// requests with the examples find free times there.
func dayOfExamples(now time.Time) time.Time {
	day := time.Date(now.Year(), now.Month(), now.Day()+7*7, 0, 0, 0, 0, time.UTC)
	return day.AddDate(0, 0, (int(time.Tuesday-day.Weekday())+7)%7)
}

// describer builds the parts of the document.
type describer struct {
	*API
	schemas *jsonschema.Schemas
	errors  members // the responses to failures, by name
}

func serversOf(bases []string) []members {
	servers := make([]members, len(bases))
	for i, base := range bases {
		servers[i] = members{{"url", cmp.Or(base, "/")}, {"description", "This site"}}
	}
	return servers
}

func (d *describer) tags() []members {
	var all []members
	for i, r := range d.Operations { // grouped by tag
		if i == 0 || r.Tag != d.Operations[i-1].Tag {
			all = append(all, members{{"name", r.Tag}, {"description", tagTexts[r.Tag]}})
		}
	}
	return all
}

// tagTexts describe the tags.
var tagTexts = map[string]string{
	"status":         "Whether the API answers, and the time of the site",
	"bookings":       "Appointments of customers with agents: search, make, move and cancel them",
	"business-hours": "The hours of each weekday in which bookings are taken",
	"time-off":       "Times at which an agent, a service, a location or the whole site takes no bookings",
	"holds":          "Slots that are kept while a customer is still typing",
	"customers":      "The people who book",
	"agents":         "The people who are booked, and who of them is free",
	"services":       "What can be booked, and the categories of it",
	"locations":      "Where agents work",
	"calendars":      "Bookings for calendar programs, each at a secret address",
	"availability":   "The times at which a booking can begin",
	"payments":       "What was paid for orders, and what was paid back",
	"orders":         "What customers ordered: bookings with their prices, invoices and transactions",
	"changes":        "All changes on the site, in order",
	"coupons":        "Codes that give a discount",
	"webhooks":       "Addresses to which changes are sent",
}

const (
	headerScheme = "apiKeyHeader"
	bearerScheme = "bearer"
	queryScheme  = "apiKeyQuery"
	secretScheme = "calendarSecret"
)

func (d *describer) security() []members {
	schemes := []members{{{headerScheme, []string{}}}, {{bearerScheme, []string{}}}}
	if d.QueryParameter != "" {
		schemes = append(schemes, members{{queryScheme, []string{}}})
	}
	return schemes
}

func (d *describer) securitySchemes() members {
	schemes := members{
		{headerScheme, members{{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}, {"description", "The key of an API client"}}},
		{bearerScheme, members{{"type", "http"}, {"scheme", "bearer"}, {"description", "The same key as a bearer token"}}},
	}
	if d.QueryParameter != "" {
		about := "The same key in the URL, where it may end up in logs: prefer a header"
		schemes = append(schemes, member{queryScheme, members{{"type", "apiKey"}, {"in", "query"}, {"name", d.QueryParameter}, {"description", about}}})
	}
	about := "The secret in the address of a calendar, which opens nothing else"
	return append(schemes, member{secretScheme, members{{"type", "apiKey"}, {"in", "query"}, {"name", keys.SecretParameter}, {"description", about}}})
}

func (d *describer) headers() members {
	var all members
	for _, h := range d.Headers {
		all = append(all, member{h.Name, members{{"description", h.Description}, {"schema", &jsonschema.Schema{Type: h.Type}}, {"example", h.Example}}})
	}
	return all
}

// paths returns the operations by path, in their order.
func (d *describer) paths() members {
	var paths members
	for i := range d.Operations {
		o := &d.Operations[i]
		at := indexOf(paths, o.Path)
		if at < 0 {
			at = len(paths)
			paths = append(paths, member{o.Path, members{}})
		}
		paths[at][1] = append(paths[at].Value().(members), member{strings.ToLower(o.Method), d.operation(o)})
	}
	return paths
}
