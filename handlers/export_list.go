package handlers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
)

// Export is an export by the program itself, without a server: what GET would return of a list to a key
// that may read everything. Its errors name the command's flags.
type Export struct {
	List           string // one of ExportedLists
	Format         string // one of its formats, such as csv
	Filter         url.Values
	From, To       string // first and last date; "" for none
	SiteTimestamps bool
	Progress       func(records, all int64) // called after each chunk
}

// ExportedLists are the names of the lists that can be exported.
func ExportedLists() []string {
	var names []string
	for i := range routes {
		if routes[i].operation.formats != nil {
			names = append(names, routes[i].name())
		}
	}
	return names
}

// name is the last part of the route's path.
func (r *route) name() string { return path.Base(r.path) }

// spans are the parameters for the first and the last date of a list. Each list has at most one pair: dates
// of bookings, or the creation of other records.
var spans = [][2]string{{"date_from", "date_to"}, {"created_after", "created_before"}}

// Validate returns what is wrong with the export, as far as possible without the site.
func (e Export) Validate() error {
	r, _, err := e.find()
	if err == nil {
		_, err = e.query(r)
	}
	return err
}

// Run writes the export.
func (e Export) Run(ctx context.Context, platform *session.Platform, to io.Writer) error {
	r, f, err := e.find()
	if err != nil {
		return err
	}
	query, err := e.query(r)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	request := &request{
		api: &api{platform: platform, options: Options{SiteTimestamps: e.SiteTimestamps}}, route: r, context: ctx,
		query: compat.ParseQuery(query.Encode()), cursor: &session.ExportCursor{Chunk: exportChunk},
	}
	request.query.Export(maxExportedHere)
	writer := f.begin(request, &text)
	for {
		if request.principal, err = platform.Principal(ctx, keys.Key{Permissions: []string{"read"}}); err != nil {
			return err
		}
		if err := request.nextChunk(writer); err != nil {
			return err
		}
		if _, err := text.WriteTo(to); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
		e.Progress(request.cursor.Passed(), request.cursor.Size())
		if request.cursor.Done() {
			return nil
		}
	}
}

// maxExportedHere exceeds the number of rows in any table.
const maxExportedHere = math.MaxInt32

// find returns the route and the format of the export.
func (e Export) find() (*route, *exportFormat, error) {
	for i := range routes {
		r := &routes[i]
		if r.operation.formats == nil || r.name() != e.List || r.method != http.MethodGet {
			continue
		}
		formats, names := append(slices.Clone(r.operation.formats), linesFormat), []string{}
		for _, f := range formats {
			if f.extension == e.Format {
				return r, f, nil
			}
			names = append(names, f.extension)
		}
		return nil, nil, fmt.Errorf("--format: the format of %s can be %s, not %q", e.List, strings.Join(names, ", "), e.Format)
	}
	return nil, nil, fmt.Errorf("LIST: there is no list %q; write one of %s", e.List, strings.Join(ExportedLists(), ", "))
}

// query returns the request's query.
func (e Export) query(r *route) (url.Values, error) {
	known := slices.DeleteFunc(r.operation.query.Names(), func(name string) bool { return name == "page" || name == "per_page" })
	query := url.Values{}
	for name, values := range e.Filter {
		if !slices.Contains(known, name) {
			meant := ""
			if closest, likely := domain.Closest(name, known); likely {
				meant = "did you mean " + closest + "? "
			}
			return nil, fmt.Errorf("--filter: %s have no filter %q; %sthose of theirs are %s", e.List, name, meant, strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return nil, fmt.Errorf("--filter: the filter %q is given %d times; a list takes one value of each", name, len(values))
		}
		query[name] = values
	}
	query.Set("per_page", strconv.Itoa(maxExportedHere))
	if e.From == "" && e.To == "" {
		return query, nil
	}
	for _, span := range spans {
		if !slices.Contains(known, span[0]) {
			continue
		}
		for i, date := range []string{e.From, e.To} {
			if date == "" {
				continue
			}
			if query.Has(span[i]) {
				return nil, fmt.Errorf("%s: the filter %q is a date that is given already", spanFlags[i], span[i])
			}
			query.Set(span[i], date)
		}
		return query, nil
	}
	given := spanFlags[0]
	if e.From == "" {
		given = spanFlags[1]
	}
	return nil, fmt.Errorf("%s: %s have no dates to select by", given, e.List)
}

// spanFlags are the command's flags for the dates of a span.
var spanFlags = [2]string{"--from", "--to"}

// Flag returns the command's flag for a parameter of the list.
func (e Export) Flag(parameter string) string {
	for _, span := range spans {
		for i, date := range []string{e.From, e.To} {
			if span[i] == parameter && date != "" && !e.Filter.Has(parameter) {
				return spanFlags[i]
			}
		}
	}
	return "--filter " + parameter
}
