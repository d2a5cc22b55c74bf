package handlers

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// viewer is a copy of Swagger UI, and the page that opens it.
//
//go:embed viewer/*.gz viewer/docs.* viewer/LICENSE viewer/NOTICE viewer/*.txt
var viewer embed.FS

// page is a document that is the same for everybody and needs no key.
type page struct {
	zipped []byte
	typ    string
	tag    string
}

func newPage(content []byte, typ string) (page, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		return page{}, fmt.Errorf("compress a page: %w", err)
	}
	if err := w.Close(); err != nil {
		return page{}, fmt.Errorf("compress a page: %w", err)
	}
	return zippedPage(b.Bytes(), typ), nil
}

func zippedPage(zipped []byte, typ string) page {
	sum := sha256.Sum256(zipped)
	return page{zipped: zipped, typ: typ, tag: `W/"` + hex.EncodeToString(sum[:16]) + `"`}
}

// viewerPolicy lets a page load from where it came from, talk to it, and do
// nothing else.
const viewerPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serve answers with the page, or tells that a client's copy is still good.
func (p page) serve(c echo.Context) error {
	header := c.Response().Header()
	header.Set("Cache-Control", "public, max-age=300")
	header.Add("Vary", "Accept-Encoding") // beside the origin, where other sites may read
	header.Set("ETag", p.tag)
	header.Set("Content-Security-Policy", viewerPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	if strings.Contains(c.Request().Header.Get("If-None-Match"), p.tag) {
		return c.NoContent(http.StatusNotModified)
	}
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, p.typ, p.zipped)
	}
	return p.unzip(c)
}

// unzip sends the page to a client that takes no gzip, piece by piece: it needs
// no key, and many such clients must not take the memory of many pages.
func (p page) unzip(c echo.Context) error {
	content, err := gzip.NewReader(bytes.NewReader(p.zipped))
	if err != nil {
		return fmt.Errorf("uncompress a page: %w", err)
	}
	if c.Request().Method == http.MethodHead {
		c.Response().Header().Set(echo.HeaderContentType, p.typ)
		return c.NoContent(http.StatusOK)
	}
	return c.Stream(http.StatusOK, p.typ, content)
}

// addDocuments serves what tells of the API, under every base path and at the
// root.
func (a *api) addDocuments(e *echo.Echo) {
	a.addDocumentsAt(e, "", a.options.BasePaths)
	for _, base := range a.options.BasePaths {
		a.addDocumentsAt(e, base, []string{base})
	}
}

func (a *api) addDocumentsAt(e *echo.Echo, base string, servers []string) {
	reading := []string{http.MethodGet, http.MethodHead}
	e.Match(reading, base+"/openapi.json", whenAsked(func() (page, error) {
		content, err := document(servers, a.options.QueryParameter)
		if err != nil {
			return page{}, err
		}
		return newPage(content, contentType)
	}))
	e.Match(reading, base+"/docs", whenAsked(func() (page, error) { return viewerFile("docs.html") }), withoutSlash)
	e.Match(reading, base+"/docs/:file", func(c echo.Context) error {
		p, err := viewerFile(c.Param("file"))
		if err != nil {
			return err
		}
		return p.serve(c)
	})
}

// whenAsked makes a page once, when it is first asked for.
func whenAsked(build func() (page, error)) echo.HandlerFunc {
	built := sync.OnceValues(build)
	return func(c echo.Context) error {
		p, err := built()
		if err != nil {
			return err
		}
		return p.serve(c)
	}
}

// slashEntry is where a request's context keeps that its path ended in a slash.
const slashEntry = "bookside.slash"

// noteSlash remembers the slash at the end of a path, before it is removed.
func noteSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if strings.HasSuffix(c.Request().URL.Path, "/") {
			c.Set(slashEntry, true)
		}
		return next(c)
	}
}

// withoutSlash sends a browser from docs/ to docs, from where the addresses in
// the page are counted.
func withoutSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Get(slashEntry) != nil {
			return c.Redirect(http.StatusPermanentRedirect, "../docs")
		}
		return next(c)
	}
}

// viewerTypes are the types of the viewer's files, by the end of their names.
var viewerTypes = map[string]string{
	".html": "text/html; charset=UTF-8", ".js": "text/javascript; charset=UTF-8", ".css": "text/css; charset=UTF-8",
}

// viewerFile is a file of the viewer; errNoRoute for any other.
func viewerFile(name string) (page, error) {
	typ, known := viewerTypes[path.Ext(name)]
	if !known {
		typ = "text/plain; charset=UTF-8"
	}
	if zipped, err := fs.ReadFile(viewer, "viewer/"+name+".gz"); err == nil {
		return zippedPage(zipped, typ), nil
	}
	content, err := fs.ReadFile(viewer, "viewer/"+name)
	if err != nil {
		return page{}, errNoRoute
	}
	return newPage(content, typ)
}
