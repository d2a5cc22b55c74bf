package handlers

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"bookside/compat"
	"bookside/handlers/middleware"
)

// What WordPress's REST server does around its routes, for clients that rely on it:
// methods in a header or a parameter, paths in a parameter, and an index of the routes.

const routeParameter = "rest_route"

// plainRoute serves requests in the form of sites without permalinks, such as
// /?rest_route=/latepoint-api/v1/bookings, under the base path that WordPress would have
// used.
func plainRoute(bases []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			u := c.Request().URL
			if u.Path != "/" && u.Path != "/index.php" {
				return next(c)
			}
			path := wordPressRoot + "/" + strings.TrimLeft(compat.ParseQuery(u.RawQuery).Last(routeParameter), "/")
			if path = strings.TrimRight(path, "/"); slices.ContainsFunc(bases, func(base string) bool { return below(path, base) }) {
				u.Path, u.RawPath = path, (&url.URL{Path: path}).EscapedPath()
			}
			return next(c)
		}
	}
}

// below reports whether a path is a base path or below one.
func below(path, base string) bool {
	rest, found := strings.CutPrefix(path, base)
	return found && strings.HasPrefix(base, wordPressRoot+"/") && (rest == "" || rest[0] == '/')
}

// wordPressRoot is the path of WordPress's REST API.
const wordPressRoot = "/wp-json"

const (
	// forwardedHeader marks requests that the companion in WordPress passes on.
	forwardedHeader = "X-Bookside-Forwarded"
	// forwardingHeader tells the companion what it must know to answer in place of the server.
	forwardingHeader = "X-Bookside-Forwarding"
)

// tellCompanion is middleware that tells the companion, on what it passes on, how long a request may
// take in seconds (timeout), which query parameter may have the key (key, empty for none), and whether
// responses depend on the origin of a page (cors). The companion keeps this, and the header from clients.
func (a *api) tellCompanion(next echo.HandlerFunc) echo.HandlerFunc {
	cors := "0"
	if len(a.options.AllowedOrigins) > 0 {
		cors = "1"
	}
	told := url.Values{
		"timeout": {strconv.FormatFloat(a.options.RequestTimeout.Seconds(), 'f', -1, 64)}, "key": {a.options.QueryParameter}, "cors": {cors},
	}.Encode()
	return func(c echo.Context) error {
		if c.Request().Header.Get(forwardedHeader) != "" {
			c.Response().Header().Set(forwardingHeader, told)
		}
		return next(c)
	}
}

// namespaceIndex lists the routes below a base path in the form of
// WP_REST_Server::get_namespace_index, WordPress 7.0. It needs no key, as there. The fingerprint
// is ours; it is "" if it is not known.
type namespaceIndex struct {
	Namespace   string         `json:"namespace"`
	Fingerprint string         `json:"fingerprint"`
	Routes      compat.Members `json:"routes"`
	Links       compat.Members `json:"_links"`
}

type indexedRoute struct {
	Namespace string            `json:"namespace"`
	Methods   []string          `json:"methods"`
	Endpoints []indexedEndpoint `json:"endpoints"`
	Links     compat.Members    `json:"_links,omitempty"`
}

type indexedEndpoint struct {
	Methods []string       `json:"methods"`
	Args    compat.Members `json:"args"`
}

type indexedArgument struct {
	*compat.Schema
	Required bool `json:"required"`
}

type link struct {
	Href string `json:"href"`
}

// addIndex serves the index of the routes at a base path. That of WordPress has a parent.
func (a *api) addIndex(e *echo.Echo, base string) {
	namespace, below := strings.CutPrefix(base, wordPressRoot+"/")
	links := compat.Members{}
	if below {
		links = append(links, compat.Member{"up", []link{{Href: originInIndex + strings.TrimSuffix(base, namespace)}}})
	} else if namespace = strings.Trim(base, "/"); namespace == "" {
		return
	}
	// The same for everybody but for the origin and the fingerprint, so that it is made once.
	index := sync.OnceValues(func() ([]byte, error) {
		return encodeBody(namespaceIndex{
			Namespace:   namespace,
			Fingerprint: fingerprintInIndex,
			Routes:      indexedRoutes(namespace, originInIndex+base),
			Links:       links,
		})
	})
	e.Match([]string{http.MethodGet, http.MethodHead}, base, func(c echo.Context) error {
		content, err := index()
		if err != nil {
			return err
		}
		origin, err := encodeBody(a.origin(c))
		if err != nil {
			return err
		}
		content = bytes.ReplaceAll(content, []byte(originInIndex), bytes.Trim(origin, `"`))
		content = bytes.Replace(content, []byte(fingerprintInIndex), []byte(a.fingerprint(c.Request().Context())), 1)
		return c.Blob(http.StatusOK, middleware.JSON, content)
	})
}

// originInIndex and fingerprintInIndex stand for the origin of a request and the fingerprint of the
// site in an index that is kept.
const (
	originInIndex      = "origin:"
	fingerprintInIndex = "fingerprint:"
)

// fingerprintWait is how long the index, which does without, waits for the database.
const fingerprintWait = time.Second

func (a *api) fingerprint(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, fingerprintWait)
	defer cancel()
	fingerprint, err := a.platform.Fingerprint(ctx)
	if err != nil {
		return ""
	}
	return fingerprint
}

// indexedRoutes returns the index itself and the routes of the table, by path.
func indexedRoutes(namespace, address string) compat.Members {
	self := func(path string) compat.Members { return compat.Members{{"self", []link{{Href: address + path}}}} }
	index := &indexedRoute{
		Namespace: namespace, Methods: []string{http.MethodGet}, Links: self(""),
		Endpoints: []indexedEndpoint{{Methods: []string{http.MethodGet}, Args: compat.Members{}}},
	}
	all := compat.Members{{"/" + namespace, index}}
	byPath := map[string]*indexedRoute{}
	for i := range routes {
		r := &routes[i]
		entry := byPath[r.path]
		if entry == nil {
			entry = &indexedRoute{Namespace: namespace}
			pattern := placeholders.ReplaceAllStringFunc(r.path, func(name string) string { return "(?P<" + name[1:] + ">" + pathPattern(name[1:]) + ")" })
			if pattern == r.path {
				entry.Links = self(r.path)
			}
			byPath[r.path] = entry
			all = append(all, compat.Member{"/" + namespace + pattern, entry})
		}
		entry.Methods = append(entry.Methods, r.method)
		entry.Endpoints = append(entry.Endpoints, indexedEndpoint{Methods: []string{r.method}, Args: argumentsOf(r)})
	}
	return all
}

// pathPattern is what a parameter of a path matches.
func pathPattern(name string) string {
	if name == couponCode.name {
		return `[^/]+`
	}
	return `\d+`
}

// argumentsOf returns the parameters and fields that a route reads.
func argumentsOf(r *route) compat.Members {
	args := compat.Members{}
	var fields []compat.FieldDescription
	if r.operation.query != nil {
		fields = append(fields, r.operation.query.Describe()...)
	}
	if r.operation.body != nil {
		fields = append(fields, r.operation.body.Describe()...)
	}
	for _, f := range fields {
		args = append(args, compat.Member{f.Name, indexedArgument{f.Schema, f.Required}})
	}
	return args
}

// origin returns scheme and host of a request, as its client sees them.
func (a *api) origin(c echo.Context) string {
	scheme := "http"
	if c.Request().TLS != nil || c.Request().Header.Get(echo.HeaderXForwardedProto) == "https" && a.fromProxy(c) {
		scheme = "https"
	}
	return scheme + "://" + c.Request().Host
}

// fromProxy reports whether a request comes from a trusted proxy.
func (a *api) fromProxy(c echo.Context) bool {
	host, _, err := net.SplitHostPort(c.Request().RemoteAddr)
	if err != nil {
		return false
	}
	peer := net.ParseIP(host)
	return slices.ContainsFunc(a.options.TrustedProxies, func(network *net.IPNet) bool { return network.Contains(peer) })
}
