package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/handlers/middleware"
)

// linkset is the JSON form of a set of links, RFC 9264.
type linkset struct {
	Linkset []linksOf `json:"linkset"`
}

// linksOf are the links of the API at one address.
type linksOf struct {
	Anchor string       `json:"anchor"`
	Desc   []linkTarget `json:"service-desc"` // for programs
	Doc    []linkTarget `json:"service-doc"`  // for people and language models
}

type linkTarget struct {
	Href  string `json:"href"`
	Type  string `json:"type"`
	Title string `json:"title"`
}

// catalogType is the content type of an API catalog, RFC 9727.
const catalogType = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`

const catalogPath, llmsPath = "/.well-known/api-catalog", "/llms.txt"

// links returns the links of the API at an address.
func links(address string) linksOf {
	return linksOf{
		Anchor: address,
		Desc: []linkTarget{
			{address + "/openapi.json", "application/json", "Every route with its parameters, bodies, responses and errors (OpenAPI 3.1)"},
			{address + "/openapi.json?for=clients", "application/json", "A smaller document for generators of clients (OpenAPI 3.1; with &version=3.0, 3.0)"},
		},
		Doc: []linkTarget{
			{address + "/docs", "text/html", "The documentation, in which requests can be tried"},
			{address + llmsPath, "text/plain", "A summary with all routes, for language models"},
		},
	}
}

// addCatalogAt serves the API catalog and llms.txt below base; they lead to the documents of the servers.
func addCatalogAt(e *echo.Echo, base string, servers []string, proxies []*net.IPNet, describe func() (API, error)) {
	e.Match(reading, base+catalogPath, func(c echo.Context) error {
		origin := middleware.Origin(c.Request(), proxies)
		var catalog linkset
		for _, server := range servers {
			catalog.Linkset = append(catalog.Linkset, links(origin+server))
		}
		content, err := json.Marshal(catalog)
		if err != nil {
			return fmt.Errorf("encode the API catalog: %w", err)
		}
		c.Response().Header().Set("Link", "<"+origin+base+catalogPath+`>; rel="api-catalog"`)
		return serveLinks(c, catalogType, content)
	})
	// Only the origin varies, so the text is written once.
	text := sync.OnceValues(func() ([]byte, error) {
		api, err := describe()
		if err != nil {
			return nil, err
		}
		return []byte(api.llms(servers)), nil
	})
	e.Match(reading, base+llmsPath, func(c echo.Context) error {
		content, err := text()
		if err != nil {
			return err
		}
		origin := middleware.Origin(c.Request(), proxies)
		return serveLinks(c, "text/plain; charset=UTF-8", bytes.ReplaceAll(content, []byte(originInText), []byte(origin)))
	})
}

func serveLinks(c echo.Context, typ string, content []byte) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=300")
	return c.Blob(http.StatusOK, typ, content)
}

// originInText stands for the origin of a request in the text of llms.txt.
const originInText = "origin:"

// llms returns a summary of the API in the form of llmstxt.org.
func (a *API) llms(servers []string) string {
	var text strings.Builder
	text.WriteString("# Bookside API\n\n> " + summary + ".\n\n" +
		"Each request needs an API key, in the header `X-API-Key` or as a bearer token. Times are in the time zone of the site. " +
		"Where the body takes `dry_run`, `true` checks and prices a write without making it. " +
		"A POST with an `Idempotency-Key` can be repeated safely.\n")
	for _, server := range servers {
		at := links(originInText + server)
		text.WriteString("\n## Documents of " + at.Anchor + "\n\n")
		for _, target := range append(at.Desc, at.Doc[0]) {
			text.WriteString("- [" + strings.TrimPrefix(target.Href, at.Anchor+"/") + "](" + target.Href + "): " + target.Title + "\n")
		}
	}
	for i, o := range a.Operations { // grouped by tag
		if i == 0 || o.Tag != a.Operations[i-1].Tag {
			text.WriteString("\n## " + o.Tag + "\n\n" + tagTexts[o.Tag] + ".\n\n")
		}
		text.WriteString("- `" + o.Method + " " + o.Path + "`: " + o.Summary + "\n")
	}
	return text.String()
}
