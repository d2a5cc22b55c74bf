package compare

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bookside/compat"
)

// crawler makes requests for every route, filter, order, page and id, with values from the
// lists that Bookside returns. PHP is not asked meanwhile.
type crawler struct {
	routes  routes // those that PHP may have too
	ask     func(context.Context, Request) (answer, error)
	samples int // values of each parameter, and records of each kind
	today   time.Time

	lists    map[string]value // records by the path of their list
	totals   map[string]value // pagination by the same
	requests []Request
	seen     map[string]bool
}

// crawl returns the requests.
func (c *crawler) crawl(ctx context.Context) ([]Request, error) {
	c.lists, c.totals, c.seen = map[string]value{}, map[string]value{}, map[string]bool{}
	for _, r := range c.routes {
		if len(r.placeholders()) == 0 && r.isList() {
			if err := c.read(ctx, r, r.Path); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range c.routes {
		paths, err := c.paths(ctx, r)
		if err != nil {
			return nil, err
		}
		for i, path := range paths {
			c.route(r, path, i == 0)
		}
	}
	return c.requests, nil
}

func (r Route) isList() bool {
	_, ok := r.parameter("per_page")
	return ok
}

// read reads the first records of a list, with everything that can be included.
func (c *crawler) read(ctx context.Context, r Route, path string) error {
	request := newRequest(path, "per_page", "100")
	if p, ok := r.parameter("include_meta"); ok {
		request.query.Set(p.Name, "true")
	}
	got, err := c.ask(ctx, request)
	if err != nil {
		return fmt.Errorf("read %s to crawl it: %w", path, err)
	}
	c.lists[path], c.totals[path] = got.json.at("data"), got.json.at("pagination")
	if got.json.kind == jsontext.KindBeginArray {
		c.lists[path] = got.json
	}
	return nil
}

// paths returns the paths of a route, with the ids or codes of some records and of one that
// does not exist.
func (c *crawler) paths(ctx context.Context, r Route) ([]string, error) {
	names := r.placeholders()
	if len(names) == 0 {
		return []string{r.Path}, nil
	}
	before, after, _ := strings.Cut(r.Path, "/{"+names[0]+"}")
	var paths []string
	for _, id := range c.keys(before, names[0]) {
		paths = append(paths, before+"/"+id+after)
	}
	if len(names) > 1 {
		return c.nested(ctx, paths, names[1])
	}
	return append(paths, before+"/"+absentID+after), nil
}

// absentID is an id that no record has: the largest of a MEDIUMINT.
const absentID = "8388607"

// nested returns the paths of records in lists of records, such as the invoices of orders.
func (c *crawler) nested(ctx context.Context, outer []string, name string) ([]string, error) {
	var paths []string
	for _, path := range outer {
		list, _, _ := strings.Cut(path, "/{"+name+"}")
		r, ok := c.routes.match(list)
		if !ok {
			continue
		}
		if err := c.read(ctx, r, list); err != nil {
			return nil, err
		}
		for _, id := range c.keys(list, name) {
			paths = append(paths, list+"/"+id)
		}
		if len(paths) == 0 {
			paths = append(paths, list+"/"+absentID)
		}
	}
	return paths, nil
}

// keys returns the ids, or the codes, of some records of a list.
func (c *crawler) keys(list, name string) []string {
	field := "id"
	if name == "code" {
		field = name
	}
	var keys []string
	for _, record := range c.lists[list].members {
		if v := record.value.at(field); v.text != "" {
			keys = append(keys, url.PathEscape(v.text))
		}
	}
	return spread(keys, c.samples)
}

// spread returns at most n of the texts, from the first to the last, each once.
func spread(texts []string, n int) []string {
	var distinct []string
	for _, t := range texts {
		if !slices.Contains(distinct, t) {
			distinct = append(distinct, t)
		}
	}
	if len(distinct) <= n {
		return distinct
	}
	picked := make([]string, n)
	for i := range picked {
		picked[i] = distinct[i*(len(distinct)-1)/max(1, n-1)]
	}
	return picked
}

func (c *crawler) add(path string, parameters ...string) {
	r := newRequest(path, parameters...)
	if key := r.String(); !c.seen[key] {
		c.seen[key] = true
		c.requests = append(c.requests, r)
	}
}

// route adds the requests of a path; those for the second and later records of a route have
// no parameters.
func (c *crawler) route(r Route, path string, first bool) {
	bases := c.required(r)
	for _, base := range bases {
		c.add(path, base...)
	}
	if !first || len(bases) == 0 {
		return
	}
	if r.isList() {
		c.pages(path)
	}
	for _, p := range r.Parameters {
		if p.Needed || p.Name == "page" || p.Name == "per_page" {
			continue
		}
		for _, v := range c.values(r, p) {
			c.parameter(r, path, bases[0], p.Name, v)
		}
	}
}

// parameter adds requests with one parameter, and with those that belong to it.
func (c *crawler) parameter(r Route, path string, base []string, name, v string) {
	with := append(slices.Clip(base), name, v)
	if outer, ok := strings.CutSuffix(name, "_key"); ok && strings.Contains(v, "=") { // meta_key and meta_value
		key, content, _ := strings.Cut(v, "=")
		c.add(path, append(slices.Clip(base), name, key, outer+"_value", content)...)
		return
	}
	c.add(path, with...)
	if order, ok := r.parameter("order"); ok && (name == "sort" || name == "order_by") {
		for _, direction := range order.Schema.Enum {
			c.add(path, append(slices.Clip(with), "order", direction)...)
		}
	}
	for _, bounds := range [][2]string{{"_min", "_max"}, {"_from", "_to"}, {"_after", "_before"}} {
		if begin, ok := strings.CutSuffix(name, bounds[0]); ok {
			if _, ok := r.parameter(begin + bounds[1]); ok {
				c.add(path, append(slices.Clip(with), begin+bounds[1], v)...)
			}
		}
	}
}

const pageSize = "5"

// pages adds the first pages of a list, the last one, the one after it, and sizes of pages.
func (c *crawler) pages(path string) {
	for _, size := range []string{"1", pageSize, "100"} {
		c.add(path, "per_page", size)
	}
	c.add(path, "page", "2")
	c.add(path, "page", "2", "per_page", pageSize)
	if pages := c.totals[path].at("total_pages"); pages.kind != 0 { // of 100 records
		c.add(path, "page", pages.text, "per_page", "100")
		c.add(path, "page", "1000000", "per_page", "100")
	}
}

// required returns the parameters without which a route answers an error, with values: one set
// without any, or several for a route that needs them.
func (c *crawler) required(r Route) [][]string {
	sets := [][]string{nil}
	for _, p := range r.Parameters {
		if !p.Needed {
			continue
		}
		var next [][]string
		for _, v := range c.values(r, p) {
			for _, set := range sets {
				next = append(next, append(slices.Clip(set), p.Name, v))
			}
		}
		sets = next
	}
	return sets
}

// values returns the values to send for a parameter.
func (c *crawler) values(r Route, p compat.FieldDescription) []string {
	if all := words(p); len(all) > 0 {
		return all
	}
	if p.Schema.Type == "boolean" {
		return []string{"true", "false"}
	}
	found := c.found(r, p)
	if example := compat.NewSchemas().Example(p.Schema); len(found) == 0 && example != nil && example != "" {
		return []string{fmt.Sprint(example)}
	}
	return found
}

// found returns values of a parameter from the records.
func (c *crawler) found(r Route, p compat.FieldDescription) []string {
	if strings.HasSuffix(p.Name, "_value") {
		return nil // with its _key
	}
	records := c.lists[r.Path].members
	var texts []string
	switch {
	case p.Name == "meta_key":
		texts = metaOf(records)
	case p.Schema.Format == "date" && len(records) == 0:
		texts = c.days()
	default:
		for _, record := range records {
			for _, field := range fieldsFor(p.Name) {
				if v := record.value.at(field...); v.kind != jsontext.KindNull && v.text != "" {
					texts = append(texts, shortened(p, v.text))
					break
				}
			}
		}
	}
	if resource, ok := strings.CutSuffix(p.Name, "_id"); ok && len(texts) == 0 {
		return c.keys(listOf(resource), "id")
	}
	return spread(texts, c.samples)
}

// days returns days on which there may be free times.
func (c *crawler) days() []string {
	var days []string
	for _, n := range []int{1, 7, 30} {
		days = append(days, c.today.AddDate(0, 0, n).Format(time.DateOnly))
	}
	return days
}

func listOf(resource string) string {
	if resource == "category" {
		return "/services/categories"
	}
	return "/" + resource + "s"
}

// shortened makes of a field what the parameter matches: a day of a timestamp, a part of a text.
func shortened(p compat.FieldDescription, text string) string {
	const part = 4
	switch {
	case p.Schema.Format == "date" || strings.HasSuffix(p.Name, "_at"):
		return text[:min(len(text), len(time.DateOnly))]
	case p.Name == "search" || p.Name == "booking_code":
		runes := []rune(text)
		return strings.TrimSpace(string(runes[:min(len(runes), part)]))
	default:
		return text
	}
}

// metaOf returns name=value of the meta data of records.
func metaOf(records []member) []string {
	var found []string
	for _, record := range records {
		for _, m := range record.value.at("meta").members {
			if m.value.text != "" {
				found = append(found, m.name+"="+m.value.text)
			}
		}
	}
	return found
}

// fieldsFor returns the fields of a record that a parameter may be about, the likeliest first.
func fieldsFor(name string) [][]string {
	begin := name
	for _, suffix := range []string{"_min", "_max", "_from", "_to", "_after", "_before"} {
		begin = strings.TrimSuffix(begin, suffix)
	}
	switch begin {
	case "date":
		return [][]string{{"start_date"}, {"created_at"}}
	case "created", "created_date":
		return [][]string{{"created_at"}}
	case "updated":
		return [][]string{{"updated_at"}}
	case "price":
		return [][]string{{"price"}, {"charge_amount"}}
	case "search":
		return [][]string{{"customer", "first_name"}, {"first_name"}, {"name"}, {"code"}, {"confirmation_code"}, {"token"}}
	case "cms_user_id", "wordpress_user_id":
		return [][]string{{"cms_user_id"}}
	}
	fields := [][]string{{begin}}
	for _, separator := range []string{"customer_", "location_", "service_", "agent_", "category_"} {
		if inner, ok := strings.CutPrefix(begin, separator); ok {
			outer := strings.TrimSuffix(separator, "_")
			fields = append(fields, []string{outer, inner}, []string{outer + "s", inner})
		}
	}
	return fields
}
