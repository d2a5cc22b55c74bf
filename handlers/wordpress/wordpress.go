// Package wordpress imitates what WordPress's REST server does around its routes, for clients that rely on
// it: paths in a parameter, and an index of routes. It also tells the companion how to forward requests.
// It imports compat for queries, handlers/middleware and handlers/openapi, and knows no resource.
package wordpress

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
)

// RouteParameter has the path of a request to a site without permalinks.
const RouteParameter = "rest_route"

// Address is middleware that reads the method and the path of a request as WordPress does. A parameter or a header may name
// another method. Of several slashes at the beginning of a path one stays, because clients join the site's address, which ends
// with a slash, and a path; and none at its end. Requests in the form of sites without permalinks, such as
// /?rest_route=/latepoint-api/v1/bookings, are served under the base path that WordPress would have used.
func Address(bases []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			middleware.OverrideMethod(c.Request())
			u := c.Request().URL
			trimPath(u, func(path string) string { return strings.TrimLeft(path, "/") })
			if u.Path == "/" || u.Path == "/index.php" {
				path := root + "/" + strings.TrimLeft(compat.ParseQuery(u.RawQuery).Last(RouteParameter), "/")
				if path = strings.TrimRight(path, "/"); slices.ContainsFunc(bases, func(base string) bool { return below(path, base) }) {
					u.Path, u.RawPath = path, (&url.URL{Path: path}).EscapedPath()
				}
			}
			trimPath(u, func(path string) string { return strings.Trim(path, "/") })
			return next(c)
		}
	}
}

// trimPath trims a path behind its first slash, and the escaped path, by which echo routes if the path contains an encoded
// slash.
func trimPath(u *url.URL, trim func(string) string) {
	for _, path := range []*string{&u.Path, &u.RawPath} {
		if strings.HasPrefix(*path, "/") {
			*path = "/" + trim(*path)
		}
	}
}

// below reports whether a path is a base path or below one.
func below(path, base string) bool {
	rest, found := strings.CutPrefix(path, base)
	return found && strings.HasPrefix(base, root+"/") && (rest == "" || rest[0] == '/')
}

// root is the path of WordPress's REST API.
const root = "/wp-json"

const (
	// ForwardedHeader marks requests that the companion forwards.
	ForwardedHeader = "X-Bookside-Forwarded"
	// forwardingHeader tells the companion what it needs to answer for the server.
	forwardingHeader = "X-Bookside-Forwarding"
)

// TellCompanion is middleware that tells the companion, on forwarded requests, how many seconds a request
// may take (timeout), which query parameter may have the key (key, empty for none), and whether responses
// depend on the origin of a page (cors). The companion stores this, and removes the header for clients.
func TellCompanion(timeout time.Duration, keyParameter string, cors bool) echo.MiddlewareFunc {
	told := url.Values{"timeout": {strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64)}, "key": {keyParameter}, "cors": {"0"}}
	if cors {
		told.Set("cors", "1")
	}
	text := told.Encode()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if c.Request().Header.Get(ForwardedHeader) != "" {
				c.Response().Header().Set(forwardingHeader, text)
			}
			return next(c)
		}
	}
}
