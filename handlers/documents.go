package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// page is a document that is the same for everybody and needs no key.
type page struct {
	content  []byte
	typ      string
	encoding string // "" for none
	policy   string // Content-Security-Policy; "" for none
	tag      string
}

func newPage(content []byte, typ string) page {
	sum := sha256.Sum256(content)
	return page{content: content, typ: typ, tag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// serve answers with the page, or tells that a client's copy is still good.
func (p page) serve(c echo.Context) error {
	header := c.Response().Header()
	header.Set("Cache-Control", "public, max-age=300")
	header.Set("ETag", p.tag)
	if strings.Contains(c.Request().Header.Get("If-None-Match"), p.tag) {
		return c.NoContent(http.StatusNotModified)
	}
	if p.policy != "" {
		header.Set("Content-Security-Policy", p.policy)
	}
	if p.encoding != "" {
		header.Set("Content-Encoding", p.encoding)
	}
	return c.Blob(http.StatusOK, p.typ, p.content)
}

// addDocuments serves what tells of the API, under every base path and at the
// root.
func (a *API) addDocuments(e *echo.Echo) {
	reading := []string{http.MethodGet, http.MethodHead}
	e.Match(reading, "/openapi.json", a.openAPI(a.options.BasePaths...))
	for _, base := range a.options.BasePaths {
		e.Match(reading, base+"/openapi.json", a.openAPI(base))
	}
}

// openAPI serves the OpenAPI document, made when it is first asked for.
func (a *API) openAPI(servers ...string) echo.HandlerFunc {
	made := sync.OnceValues(func() (page, error) {
		content, err := document(servers, a.options.QueryParameter)
		return newPage(content, contentType), err
	})
	return func(c echo.Context) error {
		p, err := made()
		if err != nil {
			return err
		}
		return p.serve(c)
	}
}
