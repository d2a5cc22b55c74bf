package compare

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bookside/bookside/compat"
)

// crawler makes requests for every route, filter, order, page and id, with values from the lists that
// Bookside returns. It sends nothing to PHP.
type crawler struct {
	run     *Run
	routes  routes // routes that PHP may have too
	samples int    // values of each parameter, and records of each kind

	lists    map[string]value // responses by the path of their list
	requests []Request
	seen     map[string]bool
}

// crawl returns the requests.
func (c *crawler) crawl(ctx context.Context) ([]Request, error) {
	for _, r := range c.routes {
		if len(r.placeholders()) == 0 && r.has("per_page") {
			if err := c.read(ctx, r.Path); err != nil {
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

// read reads the first records of a list, with everything that can be included.
func (c *crawler) read(ctx context.Context, list string) error {
	request := newRequest(list, "per_page=100")
	if r, _ := c.routes.match(list); r.has("include_meta") {
		request.query.Set("include_meta", "true")
	}
	c.run.report("Bookside's lists")
	got, err := c.run.options.Bookside.get(ctx, request, c.run.waiting)
	if err != nil {
		return fmt.Errorf("read %s to crawl it: %w", list, err)
	}
	c.lists[list] = got.json
	return nil
}

func (c *crawler) records(list string) []member {
	if body := c.lists[list]; body.kind == jsontext.KindBeginArray {
		return body.members
	}
	return c.lists[list].at("data").members
}

// absentID is an id that no record has: the largest of a MEDIUMINT.
const absentID = "8388607"

// paths returns the paths of a route, with the ids or codes of some records and of one that
// does not exist. It reads lists within records, such as the invoices of orders.
func (c *crawler) paths(ctx context.Context, r Route) ([]string, error) {
	paths, absent := []string{r.Path}, []string(nil)
	for _, name := range r.placeholders() {
		var next []string
		for _, path := range paths {
			list, after, _ := strings.Cut(path, "/{"+name+"}")
			if name != r.placeholders()[0] {
				if err := c.read(ctx, list); err != nil {
					return nil, err
				}
			}
			for _, key := range c.keys(list, name) {
				next = append(next, list+"/"+key+after)
			}
			absent = []string{list + "/" + absentID + after}
		}
		paths = next
	}
	return append(paths, absent...), nil
}

// keys returns the ids, or the codes, of some records of a list.
func (c *crawler) keys(list, name string) []string {
	if name != "code" {
		name = "id"
	}
	var keys []string
	for _, record := range c.records(list) {
		if key := record.value.at(name).text; key != "" {
			keys = append(keys, url.PathEscape(key))
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

func (c *crawler) add(path, query string) {
	r := newRequest(path, query)
	if key := r.String(); !c.seen[key] {
		c.seen[key] = true
		c.requests = append(c.requests, r)
	}
}

// with adds a parameter to a query.
func with(query, name, v string) string { return query + "&" + name + "=" + url.QueryEscape(v) }

// route adds the requests of a path. The second and later records of a route are requested without
// parameters.
func (c *crawler) route(r Route, path string, first bool) {
	bases := []string{""} // what a route requires
	for _, p := range r.Parameters {
		if p.Needed {
			var next []string
			for _, v := range c.values(r, p) {
				for _, base := range bases {
					next = append(next, with(base, p.Name, v))
				}
			}
			bases = next
		}
	}
	for _, base := range bases {
		c.add(path, base)
	}
	if !first || len(bases) == 0 {
		return
	}
	if r.has("per_page") {
		for _, page := range []string{"per_page=1", "per_page=5", "per_page=100", "page=2", "page=2&per_page=5"} {
			c.add(path, page)
		}
		if last := c.lists[path].at("pagination.total_pages"); last.kind != 0 { // pages of 100 records
			c.add(path, "per_page=100&page="+last.text)
			c.add(path, "per_page=100&page=1000000")
		}
	}
	for _, p := range r.Parameters {
		if p.Needed || p.Name == "page" || p.Name == "per_page" || p.Name == "extras" && c.addExtras(path, bases[0]) {
			continue
		}
		for _, v := range c.values(r, p) {
			c.parameter(r, path, bases[0], p.Name, v)
		}
	}
}

// parameter adds requests with one parameter, and with its related parameters.
func (c *crawler) parameter(r Route, path, base, name, v string) {
	if key, content, ok := strings.Cut(v, "="); ok && name == "meta_key" {
		c.add(path, with(with(base, name, key), "meta_value", content))
		return
	}
	query := with(base, name, v)
	c.add(path, query)
	if order, ok := r.parameter("order"); ok && (name == "sort" || name == "order_by") {
		for _, direction := range order.Schema.Enum {
			c.add(path, with(query, "order", direction))
		}
	}
	for lower, upper := range map[string]string{"_min": "_max", "_from": "_to", "_after": "_before"} {
		if begin, ok := strings.CutSuffix(name, lower); ok && r.has(begin+upper) {
			c.add(path, with(query, begin+upper, v))
		}
	}
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

// found returns values of a parameter from the records; values of meta_key come with a value after =.
func (c *crawler) found(r Route, p compat.FieldDescription) []string {
	if p.Name == "meta_value" {
		return nil // sent with its key
	}
	var texts []string
	records := c.records(r.Path)
	for _, record := range records {
		if p.Name == "meta_key" {
			for _, m := range record.value.at("meta").members {
				if m.value.text != "" {
					texts = append(texts, m.name+"="+m.value.text)
				}
			}
			continue
		}
		for _, field := range fieldsFor(p.Name) {
			if v := record.value.at(field); v.kind != jsontext.KindNull && v.text != "" {
				texts = append(texts, shortened(p, v.text))
				break
			}
		}
	}
	resource, isID := strings.CutSuffix(p.Name, "_id")
	switch {
	case p.Schema.Format == "date" && len(records) == 0: // there may be free times
		for _, n := range []int{1, 7, 30} {
			texts = append(texts, c.run.started.AddDate(0, 0, n).Format(time.DateOnly))
		}
	case len(texts) == 0 && resource == "category":
		return c.keys("/services/categories", "id")
	case len(texts) == 0 && isID:
		return c.keys("/"+resource+"s", "id")
	}
	return spread(texts, c.samples)
}

// shortened reduces a field to what the parameter matches: a day of a timestamp, a part of a text.
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

// otherFields are the fields that parameters with other names refer to, likeliest first.
var otherFields = map[string][]string{
	"date":              {"start_date", "created_at"},
	"created":           {"created_at"},
	"created_date":      {"created_at"},
	"updated":           {"updated_at"},
	"price":             {"price", "charge_amount"},
	"search":            {"customer.first_name", "first_name", "name", "code", "confirmation_code", "token"},
	"wordpress_user_id": {"cms_user_id"},
}

// fieldsFor returns the fields of a record that a parameter may refer to, likeliest first.
func fieldsFor(name string) []string {
	for _, suffix := range []string{"_min", "_max", "_from", "_to", "_after", "_before"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if fields := otherFields[name]; fields != nil {
		return fields
	}
	outer, inner, _ := strings.Cut(name, "_") // such as customer_email
	return []string{name, outer + "." + inner, outer + "s." + inner}
}
