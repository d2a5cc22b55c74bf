package compare

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Request is a GET, without the key.
type Request struct {
	path  string // below the base path, such as /bookings/17, in its original encoding
	query url.Values
	times int // how often it was seen in the logs
}

// String returns the path and the query. Its values may be personal.
func (r Request) String() string {
	if len(r.query) == 0 {
		return r.path
	}
	return r.path + "?" + r.query.Encode()
}

// last returns the effective value of a parameter: the last one, as in PHP.
func (r Request) last(name string) string {
	values := r.query[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// apiPath is the path of the API below a site.
const apiPath = "/wp-json/latepoint-api/v1"

// plainRoute is the value of rest_route for the API on sites without permalinks.
const plainRoute = "/latepoint-api/v1"

// parseURI returns the request to the API in a URI as logged, such as
// /blog/wp-json/latepoint-api/v1/bookings?page=2 or /?rest_route=/latepoint-api/v1/status; ok is false for
// any other URI. Keys are dropped.
func parseURI(uri string) (r Request, ok bool) {
	parsed, err := url.Parse(uri)
	if err != nil {
		return Request{}, false
	}
	query := parsed.Query() // parts that cannot be parsed are left out
	var path string
	if _, below, found := strings.Cut(parsed.EscapedPath(), apiPath); found {
		path = below
	} else if below, found := strings.CutPrefix(query.Get("rest_route"), plainRoute); found {
		path = (&url.URL{Path: below}).EscapedPath()
	} else {
		return Request{}, false
	}
	if path != "" && path[0] != '/' { // another version, such as v10
		return Request{}, false
	}
	if unescaped, err := url.PathUnescape(path); err != nil || keyText.MatchString(unescaped) { // such as /bookings&api_key=…
		return Request{}, false
	}
	return clean(path, query), true
}

// clean returns a request without keys.
func clean(path string, query url.Values) Request {
	r := Request{path: "/" + strings.Trim(path, "/"), query: url.Values{}, times: 1}
	for name, values := range query {
		if name != "rest_route" && !secret(name, values) {
			r.query[name] = values
		}
	}
	return r
}

// keyName matches the names of parameters that hold keys, including names with an encoded character, which
// no real name has.
var keyName = regexp.MustCompile(`(?i)` + keyWords + `|^key(?:\[|$)|%`)

const keyWords = `api.?key|secret|passw|pwd|nonce|token|auth|signature|bearer|credential`

// keyText matches texts that contain a key: keys of Bookside, and what follows the name of a key, as in
// ?page=2?api_key=….
var keyText = regexp.MustCompile(`lp_(?:live|test)_|(?i:(?:` + keyWords + `)[^=]*=)`)

// maskedKey is what logs show instead of a key.
var maskedKey = regexp.MustCompile(`^\*+$`)

// secret reports whether a parameter may be a key. The API has no parameters with such names.
func secret(name string, values []string) bool {
	return keyName.MatchString(name) || keyText.MatchString(name) ||
		slices.ContainsFunc(values, func(v string) bool { return keyText.MatchString(v) || maskedKey.MatchString(v) })
}
