package wordpress

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/openapi"
)

// namespaceIndex lists the routes below a base path in the form of WP_REST_Server::get_namespace_index,
// WordPress 7.0. It needs no key, as in WordPress. The fingerprint is our addition; it is "" if not known.
type namespaceIndex struct {
	Namespace   string             `json:"namespace"`
	Fingerprint string             `json:"fingerprint"`
	Routes      jsonschema.Members `json:"routes"`
	Links       jsonschema.Members `json:"_links"`
}

type indexedRoute struct {
	Namespace string             `json:"namespace"`
	Methods   []string           `json:"methods"`
	Endpoints []indexedEndpoint  `json:"endpoints"`
	Links     jsonschema.Members `json:"_links,omitempty"`
}

type indexedEndpoint struct {
	Methods []string           `json:"methods"`
	Args    jsonschema.Members `json:"args"`
}

type indexedArgument struct {
	*jsonschema.Schema
	Required bool `json:"required"`
}

type link struct {
	Href string `json:"href"`
}

// Index describes the index of routes.
type Index struct {
	Describe    func() openapi.API
	Fingerprint func(context.Context) (string, error) // of the site
	Proxies     []*net.IPNet                          // whose X-Forwarded-Proto is trusted
}

// Serve serves the index at a base path. That of WordPress has a parent.
func (i Index) Serve(e *echo.Echo, base string) {
	namespace, below := strings.CutPrefix(base, root+"/")
	links := jsonschema.Members{}
	if below {
		links = append(links, jsonschema.Member{"up", []link{{Href: originInIndex + strings.TrimSuffix(base, namespace)}}})
	} else if namespace = strings.Trim(base, "/"); namespace == "" {
		return
	}
	// Only the origin and the fingerprint vary, so it is built once.
	index := sync.OnceValues(func() ([]byte, error) {
		return encode(namespaceIndex{
			Namespace:   namespace,
			Fingerprint: fingerprintInIndex,
			Routes:      indexedRoutes(i.Describe(), namespace, originInIndex+base),
			Links:       links,
		})
	})
	e.Match([]string{http.MethodGet, http.MethodHead}, base, func(c echo.Context) error {
		content, err := index()
		if err != nil {
			return err
		}
		origin, err := encode(middleware.Origin(c.Request(), i.Proxies))
		if err != nil {
			return err
		}
		content = bytes.ReplaceAll(content, []byte(originInIndex), bytes.Trim(origin, `"`))
		content = bytes.Replace(content, []byte(fingerprintInIndex), []byte(i.fingerprint(c.Request().Context())), 1)
		return c.Blob(http.StatusOK, middleware.JSON, content)
	})
}

// originInIndex and fingerprintInIndex are placeholders in the cached index for the origin of a request and
// the fingerprint of the site.
const (
	originInIndex      = "origin:"
	fingerprintInIndex = "fingerprint:"
)

// fingerprintWait is how long the index waits for the database before it omits the fingerprint.
const fingerprintWait = time.Second

func (i Index) fingerprint(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, fingerprintWait)
	defer cancel()
	fingerprint, err := i.Fingerprint(ctx)
	if err != nil {
		return ""
	}
	return fingerprint
}

// indexedRoutes returns the index itself and the routes of the API, by path.
func indexedRoutes(api openapi.API, namespace, address string) jsonschema.Members {
	self := func(path string) jsonschema.Members {
		return jsonschema.Members{{"self", []link{{Href: address + path}}}}
	}
	index := &indexedRoute{
		Namespace: namespace, Methods: []string{http.MethodGet}, Links: self(""),
		Endpoints: []indexedEndpoint{{Methods: []string{http.MethodGet}, Args: jsonschema.Members{}}},
	}
	all := jsonschema.Members{{"/" + namespace, index}}
	byPath := map[string]*indexedRoute{}
	for _, o := range api.Operations {
		entry := byPath[o.Path]
		if entry == nil {
			entry = &indexedRoute{Namespace: namespace}
			pattern := o.Path
			for _, p := range o.PathParameters {
				pattern = strings.Replace(pattern, "{"+p.Name+"}", "(?P<"+p.Name+">"+patternOf(p)+")", 1)
			}
			if pattern == o.Path {
				entry.Links = self(o.Path)
			}
			byPath[o.Path] = entry
			all = append(all, jsonschema.Member{"/" + namespace + pattern, entry})
		}
		args := jsonschema.Members{}
		for _, f := range slices.Concat(o.Query, o.Body) {
			args = append(args, jsonschema.Member{f.Name, indexedArgument{f.Schema, f.Required}})
		}
		entry.Methods = append(entry.Methods, o.Method)
		entry.Endpoints = append(entry.Endpoints, indexedEndpoint{Methods: []string{o.Method}, Args: args})
	}
	return all
}

// patternOf returns the pattern of a path parameter.
func patternOf(p openapi.PathParameter) string {
	if p.Resource == domain.CouponResource {
		return `[^/]+`
	}
	return `\d+`
}

func encode(body any) ([]byte, error) {
	var b bytes.Buffer
	err := middleware.EncodeJSON(&b, body)
	return b.Bytes(), err
}
