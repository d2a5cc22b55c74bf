package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/wordpress"
	"github.com/bookside/bookside/wpdb"
)

// An export is a long page of a list in a file format, see exportFormat. It is read and sent chunk by
// chunk. While its client reads a chunk, however slowly, it holds neither a database connection nor a place
// among the requests in flight. The key is checked again before each
// chunk, and the export ends if the key may see something else by then: nobody could tell which part of the
// file is which. Time limits apply to each chunk. A client can tell if it did not get everything, because
// the connection is aborted.

const (
	exportChunk    = 500      // records read at once
	chargedRecords = 100      // of an export count as one request
	sendAtOnce     = 64 << 10 // bytes that a client must read within the time limit of a request
)

// Headers of exports.
const (
	totalHeader = "X-Total-Count" // size of the whole list
	linkHeader  = "Link"          // leads to the next page
)

var (
	// errTooManyExports is the error of an export that exceeds Options.MaxExports, or the half of it that a key may have.
	errTooManyExports = domain.Unavailable("Too many exports at the same time", middleware.ErrOverloaded)
	// errKeyChanged is the error of an export whose key may no longer see the same as at the beginning.
	errKeyChanged = errors.New("what the key may see was changed during the export")
	// errUnfit is the error of an export of several parts over a connection that would not let the client
	// see whether it is complete.
	errUnfit = &failures.Error{Status: http.StatusHTTPVersionNotSupported, Code: "rest_export_needs_http_1_1", Message: fmt.Sprintf("More than %d records are sent in parts, and over HTTP/1.0 or through WordPress you could not tell a broken download from a whole one. Ask Bookside directly over HTTP/1.1, or for less", exportChunk)}
)

// export is an export over HTTP.
type export struct {
	api     *api
	echo    echo.Context
	request *request
	format  *exportFormat
	ctx     context.Context // context of the connection
	writer  exportWriter
	text    bytes.Buffer // text of the present chunk
}

// export sends a list in a format.
func (a *api) export(c echo.Context, r *request, f *exportFormat) error {
	key := r.principal.ID
	if !a.exports.Begin(key) {
		return errTooManyExports
	}
	defer a.exports.End(key)
	a.metrics.Exports.Inc()
	defer a.metrics.Exports.Dec()
	ctx, cancel := middleware.Detach(c)
	defer cancel()
	r.query.Export(compat.MaxExported)
	r.cursor = &session.ExportCursor{Chunk: exportChunk}
	x := &export{api: a, echo: c, request: r, format: f, ctx: ctx}
	x.writer = f.begin(r, &x.text)
	if err := x.first(); err != nil || c.Request().Method == http.MethodHead {
		return err
	}
	for !r.cursor.Done() {
		if err := x.next(); err != nil {
			return err
		}
		if err := x.send(); err != nil {
			return err
		}
	}
	return nil
}

// first reads the first chunk, and sends it unless that is not allowed. Everything before counts towards
// its time limit, because until then the client has nothing.
func (x *export) first() error {
	if err := x.request.nextChunk(x.writer); err != nil {
		return err
	}
	cursor, whole := x.request.cursor, x.request.cursor.Done()
	if x.echo.Request().Method == http.MethodHead {
		x.begin()
		return x.echo.NoContent(http.StatusOK)
	}
	if err := x.api.limiter.Charge(x.echo, max(1, (cursor.Size()+chargedRecords-1)/chargedRecords)); err != nil {
		return err
	}
	if long := !whole || cursor.Page().PerPage > exportChunk; long && (!x.echo.Request().ProtoAtLeast(1, 1) || x.echo.Request().Header.Get(wordpress.ForwardedHeader) != "") {
		return errUnfit
	}
	x.begin()
	if whole { // lets a client notice if it gets less
		x.echo.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(x.text.Len()))
	}
	x.echo.Response().WriteHeader(http.StatusOK)
	return x.send()
}

// begin sets the headers of the response.
func (x *export) begin() {
	header, cursor := x.echo.Response().Header(), x.request.cursor
	header.Set(echo.HeaderContentType, x.format.media+"; charset=utf-8")
	header.Set(echo.HeaderContentDisposition, `attachment; filename="`+path.Base(x.request.route.path)+"."+x.format.extension+`"`)
	header.Set("X-Accel-Buffering", "no") // otherwise nginx would buffer the export on disk, and it would seem read
	header.Set(totalHeader, strconv.FormatInt(cursor.Total(), 10))
	if page := cursor.Page(); page.Page*page.PerPage < cursor.Total() {
		header.Set(linkHeader, "<?"+x.request.nextPage(page.Page+1)+`>; rel="next"`)
	}
}

// nextPage returns the query of another page, without the key.
func (r *request) nextPage(page int64) string {
	query := withoutParameter(withoutParameter(r.echo.Request().URL.RawQuery, r.api.options.QueryParameter), "page")
	return strings.TrimPrefix(strings.Trim(strings.ReplaceAll(query, ">", "%3E"), "&")+"&page="+strconv.FormatInt(page, 10), "&")
}

// next checks the key again and reads the next chunk; it may wait if the server is busy.
func (x *export) next() error {
	return x.api.withTimeLimit(x.ctx, func(ctx context.Context) error {
		x.request.context = ctx
		return x.api.exports.WithTurn(ctx, func() error {
			err := x.admit(ctx)
			if err == nil {
				err = x.request.nextChunk(x.writer)
			}
			if errors.Is(err, wpdb.ErrBusy) {
				err = fmt.Errorf("%w: %w", middleware.ErrOverloaded, err)
			}
			return err
		})
	})
}

// admit looks up the present state of the key.
func (x *export) admit(ctx context.Context) error {
	r := x.request
	return x.api.inFlight.Do(r.principal.ID, func() error {
		principal, err := x.api.identify(ctx, x.echo, x.api.secret(x.echo))
		if err != nil {
			return err
		}
		begun := r.principal
		r.principal = principal
		if !slices.Equal(principal.Permissions, begun.Permissions) || principal.Scope.String() != begun.Scope.String() || principal.MaskPersonal != begun.MaskPersonal {
			return errKeyChanged
		}
		return nil
	})
}

// nextChunk writes the next chunk of an export. If its records are unusually large, later chunks have
// fewer.
func (r *request) nextChunk(to exportWriter) error {
	for {
		wpdb.Allow(r.ctx(), maxRead)
		err := to.next(r)
		if failures.TooLarge(err) && r.cursor.Chunk > 1 {
			r.cursor.Chunk = max(1, r.cursor.Chunk/8)
			continue
		}
		if err != nil {
			return err
		}
		r.cursor.Pass()
		if r.cursor.Done() {
			return to.end()
		}
		return nil
	}
}

// send sends the text of a chunk to the client.
func (x *export) send() error {
	for x.text.Len() > 0 {
		piece := x.text.Next(sendAtOnce)
		if err := x.api.withTimeLimit(x.ctx, func(ctx context.Context) error { return x.write(ctx, piece) }); err != nil {
			return err
		}
	}
	x.text.Reset() // the next chunk takes its memory
	return nil
}

func (x *export) write(ctx context.Context, text []byte) error {
	defer middleware.StopWritingAfter(ctx, x.echo)()
	if _, err := x.echo.Response().Write(text); err != nil {
		return fmt.Errorf("send a part of an export: %w", err)
	}
	err := http.NewResponseController(x.echo.Response()).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// withoutParameter removes a parameter from a query, whatever its encoding.
func withoutParameter(query, name string) string {
	if name == "" || !strings.Contains(query, name) && !strings.Contains(query, "%") {
		return query
	}
	parts := slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
		sent, _, _ := strings.Cut(part, "=")
		decoded, err := url.QueryUnescape(sent)
		return sent == name || err == nil && decoded == name
	})
	return strings.Join(parts, "&")
}
