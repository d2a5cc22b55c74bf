package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// swaggerUI is a copy of Swagger UI, and the page that opens it.
//
//go:embed swaggerui/*.gz swaggerui/docs.* swaggerui/LICENSE swaggerui/NOTICE swaggerui/*.txt
var swaggerUI embed.FS

// page is a public file that needs no key.
type page struct {
	zipped []byte
	plain  func() ([]byte, error) // unzipped once, because clients without gzip must not cost that each time
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
	plain := sync.OnceValues(func() ([]byte, error) {
		r, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			return nil, fmt.Errorf("uncompress a page: %w", err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("uncompress a page: %w", err)
		}
		return content, nil
	})
	return page{zipped: zipped, plain: plain, typ: typ, tag: `W/"` + hex.EncodeToString(sum[:16]) + `"`}
}

// docsPolicy allows a page to load from and connect to its own origin only.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serve answers with the page, or with 304 if the client's copy is still valid.
func (p page) serve(c echo.Context) error {
	header := c.Response().Header()
	header.Set("Cache-Control", "public, max-age=300")
	header.Add("Vary", "Accept-Encoding") // besides Origin, where CORS is on
	header.Set("ETag", p.tag)
	header.Set("Content-Security-Policy", docsPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	if strings.Contains(c.Request().Header.Get("If-None-Match"), p.tag) {
		return c.NoContent(http.StatusNotModified)
	}
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		return c.Blob(http.StatusOK, p.typ, p.zipped)
	}
	content, err := p.plain()
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, p.typ, content)
}

// reading are the methods that pages accept.
var reading = []string{http.MethodGet, http.MethodHead}

// AddPages serves the document and Swagger UI at the root and under every base path. describe is called each time
// the document is built, because building changes its result.
func AddPages(e *echo.Echo, bases []string, now func() time.Time, describe func() API) {
	addPagesAt := func(base string, servers []string) {
		document := &datedPage{build: func(day time.Time) (page, error) {
			api := describe()
			content, err := api.document(servers, day)
			if err != nil {
				return page{}, err
			}
			return newPage(content, "application/json; charset=UTF-8")
		}}
		e.Match(reading, base+"/openapi.json", func(c echo.Context) error {
			p, err := document.on(dayOfExamples(now()))
			if err != nil {
				return err
			}
			return p.serve(c)
		})
		e.Match(reading, base+"/docs", func(c echo.Context) error { return files.serve(c, "docs.html") }, withoutSlash)
		e.Match(reading, base+"/docs/:file", func(c echo.Context) error { return files.serve(c, c.Param("file")) })
	}
	addPagesAt("", bases)
	for _, base := range bases {
		addPagesAt(base, []string{base})
	}
}

// FrontPage serves the page that links to the documentation.
func FrontPage(c echo.Context) error { return files.serve(c, "docs.front.html") }

// datedPage is a page with dated examples, rebuilt when the day changes.
type datedPage struct {
	build func(day time.Time) (page, error)

	mu    sync.Mutex
	day   time.Time
	built page
}

func (d *datedPage) on(day time.Time) (page, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if day.Equal(d.day) {
		return d.built, nil
	}
	built, err := d.build(day)
	if err == nil {
		d.day, d.built = day, built
	}
	return built, err
}

// withoutSlash redirects docs/ to docs, because the page's addresses are relative to that.
func withoutSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if path, _, _ := strings.Cut(c.Request().RequestURI, "?"); strings.HasSuffix(path, "/") {
			return c.Redirect(http.StatusPermanentRedirect, "../docs")
		}
		return next(c)
	}
}

// docsTypes are the content types of the files of Swagger UI, by extension.
var docsTypes = map[string]string{
	".html": "text/html; charset=UTF-8", ".js": "text/javascript; charset=UTF-8", ".css": "text/css; charset=UTF-8",
}

// docsFiles are files of Swagger UI, each built on first use.
type docsFiles struct {
	mu    sync.Mutex
	built map[string]page
}

// files are the files of the program.
var files = docsFiles{built: map[string]page{}}

func (d *docsFiles) serve(c echo.Context, name string) error {
	p, err := d.named(name)
	if err != nil {
		return err
	}
	return p.serve(c)
}

// named returns a file, or echo.ErrNotFound.
func (d *docsFiles) named(name string) (page, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, ok := d.built[name]; ok {
		return p, nil
	}
	p, err := docsFile(name)
	if err == nil {
		d.built[name] = p
	}
	return p, err
}

// docsFile returns a file of Swagger UI, or echo.ErrNotFound.
func docsFile(name string) (page, error) {
	typ, known := docsTypes[path.Ext(name)]
	if !known {
		typ = "text/plain; charset=UTF-8"
	}
	if zipped, err := fs.ReadFile(swaggerUI, "swaggerui/"+name+".gz"); err == nil {
		return zippedPage(zipped, typ), nil
	}
	content, err := fs.ReadFile(swaggerUI, "swaggerui/"+name)
	if err != nil {
		return page{}, echo.ErrNotFound
	}
	return newPage(content, typ)
}
