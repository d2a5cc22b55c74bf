package compare

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/compat"
)

// unhonoured is a decision of an extension of the site that Bookside makes without it.
type unhonoured struct {
	subject extensions.Subject
	text    string // the extension, and what this means
}

// unhonoured returns the decisions that this side makes without the site's extensions; none if it does not
// say.
func (s *Side) unhonoured(ctx context.Context) (found []unhonoured) {
	a, err := s.get(ctx, newRequest("/site", ""), nil)
	var site struct{ Data compat.Site }
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &site) != nil {
		return nil
	}
	for _, e := range site.Data.Extensions {
		for _, part := range e.Parts {
			if subject := extensions.Subject(part.Subject); part.Kind == string(extensions.NotHonoured) && subject.Decides() {
				found = append(found, unhonoured{subject, e.Title + ": " + part.Means})
			}
		}
	}
	return found
}

// amounts are the names of fields and columns with prices, and with what they are made of.
var amounts = regexp.MustCompile(`price|total\b|amount|discount|coupon`)

// subjects returns what extensions decide about a place in the answer of a route, or in a column.
func subjects(route, path string, kind Kind) []extensions.Subject {
	switch {
	case strings.HasSuffix(route, "/availability"):
		return []extensions.Subject{extensions.Times}
	case kind == StatusDiffers:
		return []extensions.Subject{extensions.Times, extensions.Acceptance}
	case amounts.MatchString(path) && !strings.HasPrefix(path, "$.pagination"):
		return []extensions.Subject{extensions.Prices}
	case strings.Contains(path, "end_"):
		return []extensions.Subject{extensions.Times, extensions.Records}
	default:
		return []extensions.Subject{extensions.Records}
	}
}

// reasons returns which decisions may explain differences of the result.
func (r *Result) reasons(decisions []unhonoured) (found []string) {
	var about []extensions.Subject
	for _, f := range r.Differences {
		about = append(about, subjects(f.Route, f.Path, f.Kind)...)
	}
	if r.Writes != nil {
		for _, w := range r.Writes.Requests {
			for _, f := range w.Answer {
				about = append(about, subjects("", f.Path, f.Kind)...)
			}
			for _, f := range w.Rows {
				if f.Name == "" {
					about = append(about, subjects("", f.Column, "")...)
				}
			}
		}
	}
	for _, d := range decisions {
		if slices.Contains(about, d.subject) && !slices.Contains(found, d.text) {
			found = append(found, d.text)
		}
	}
	return found
}

// addExtras adds requests for the times of bookings with the extras that bookings of the site have, and
// reports whether there are any.
func (c *crawler) addExtras(path, base string) bool {
	added := 0
	for _, booking := range c.records("/bookings") {
		var chosen []map[string]string
		for _, extra := range booking.value.at("extras").members {
			chosen = append(chosen, map[string]string{"id": extra.value.at("id").text, "quantity": extra.value.at("quantity").text})
		}
		service := booking.value.at("service.id").text
		if len(chosen) == 0 || service == "" || added == c.samples {
			continue
		}
		text, err := json.Marshal(chosen)
		query, broken := url.ParseQuery(base)
		if err != nil || broken != nil {
			continue
		}
		query.Set("service_id", service)
		query.Set("extras", string(text))
		c.add(path, query.Encode())
		added++
	}
	return added > 0
}
