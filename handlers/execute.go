package handlers

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// maxRead is how many bytes a request may read from the database, see wpdb.Allow: far more than a page of a
// hundred ordinary records.
const maxRead = 6 << 20

// encodedResponse is a response that is ready to send. Its body is reused once it is discarded.
type encodedResponse struct {
	status   int
	typ      string // of its content
	body     *bytes.Buffer
	tag      string // "" if the response has none
	warnings []string
}

// warningHeader has what an answer is without, or what the site would have said against a write.
const warningHeader = "Warning"

// maxWarnings is how many of them are sent: proxies limit the size of all headers, some to 4 KiB.
const maxWarnings = 10

// send sends the response, or 304 if the client has it already.
func (e encodedResponse) send(c echo.Context) error {
	for _, text := range e.warnings[:min(len(e.warnings), maxWarnings)] {
		c.Response().Header().Add(warningHeader, "199 bookside "+strconv.QuoteToASCII(text))
	}
	if tag := e.tag; tag != "" {
		mayKeep(c, tag)
		if middleware.ParseETags(c.Request().Header.Values(ifNoneMatchHeader)).Include(tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.Blob(e.status, e.typ, e.body.Bytes())
}

func (e encodedResponse) discard() {
	if e.body != nil {
		middleware.Buffers.Put(e.body)
	}
}

// run processes a request and encodes its response.
func (r *request) run() (encoded encodedResponse, err error) {
	wpdb.Allow(r.ctx(), maxRead)
	response, err := r.serve()
	if err != nil {
		return encodedResponse{}, err
	}
	encoded = encodedResponse{status: response.status, body: middleware.Buffers.Get(), warnings: r.session.Warnings}
	if encoded.typ, err = encodeAny(encoded.body, response.body); err != nil {
		encoded.discard()
		return encodedResponse{}, err
	}
	if r.route.tagged() {
		encoded.tag = middleware.ETag(encoded.body.Bytes())
	}
	return encoded, nil
}

// deliver processes a request and sends its response.
func (r *request) deliver(c echo.Context) error {
	response, err := r.run()
	if err != nil {
		return err
	}
	defer response.discard()
	return response.send(c)
}

// atSite calls work with the present state of the site, perhaps twice.
func (r *request) atSite(work func() error) error {
	return r.api.inFlight.Do(r.principal.ID, func() error {
		return r.api.platform.Serve(r.ctx(), r.principal, func(site *session.Session) error {
			r.session, r.view = site, compat.View{}
			if r.api.options.SiteTimestamps {
				r.view.Location = site.Zone.Location
			}
			if r.cursor != nil {
				site.Export = r.cursor
			}
			return work()
		})
	})
}

// serve calls the route's operation, and returns its response as the key may see it.
func (r *request) serve() (response response, err error) {
	err = r.atSite(func() (err error) {
		response, err = r.route.operation.serve(r)
		return err
	})
	response.body = visible(response.body, r.principal.Key)
	return response, err
}
