package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
)

// While requests wait for changes, they hold neither a place among the requests in flight nor a database
// connection, and other requests' time limits do not apply. Their number has its own limit. Before anything
// is delivered, their key is checked again.

const (
	streamCheck = 15 * time.Second // between two checks of the key of an event stream, which also keep proxies from closing it
	cursorName  = "cursor"
	lastEventID = "Last-Event-ID"
)

// errTooManyWaiting is the error of a request that exceeds Options.MaxWaiting, or the half of it that a key may have.
var errTooManyWaiting = domain.Unavailable("Too many requests wait for changes", middleware.ErrOverloaded)

// waitForChanges waits until there is something to deliver, if the client requests that, or sends a stream
// of events.
func waitForChanges(c echo.Context, r *request, deliver func() error) error {
	filter, err := compat.ChangeParameters.Read(r.view, r.query)
	if err != nil {
		return err
	}
	resources, err := readable(filter.Resources, r.principal.Key)
	if err != nil {
		return err
	}
	streams := strings.Contains(c.Request().Header.Get(echo.HeaderAccept), eventStream) && c.Request().Method == http.MethodGet
	if !streams && filter.Wait == 0 {
		return deliver()
	}
	w := &waiting{api: r.api, echo: c, request: r, asked: filter.Resources, resources: resources}
	if err := w.begin(filter, streams); err != nil {
		return err
	}
	key := r.principal.ID // whatever becomes of the key, its place is given back
	if !r.api.longPolls.Begin(key) {
		return errTooManyWaiting
	}
	defer r.api.longPolls.End(key)
	ctx, cancel := middleware.Detach(c)
	defer cancel()
	w.ctx = ctx
	if streams {
		w.stream()
		return nil
	}
	return w.wait(time.Duration(filter.Wait) * time.Second)
}

// waiting is a request that waits for changes.
type waiting struct {
	api       *api
	echo      echo.Context
	request   *request
	asked     []journal.Resource // requested by the client; empty for all
	resources []journal.Resource // those of them that the key may read
	cursor    journal.Cursor
	ctx       context.Context // context of the connection
}

// begin finds the cursor of the request.
func (w *waiting) begin(f compat.ChangeFilter, streams bool) (err error) {
	if id := w.echo.Request().Header.Get(lastEventID); streams && id != "" {
		var known bool
		if w.cursor, known = journal.ParseCursor(id); !known {
			return compat.ChangeParameters.Invalid(map[string]string{cursorName: "Last-Event-ID must be the id of an event"})
		}
		return w.checkCursor()
	}
	if f.Cursor != nil {
		w.cursor = *f.Cursor
		return w.checkCursor()
	}
	return w.api.inFlight.Do(w.request.principal.ID, func() error {
		w.cursor, err = w.api.platform.Journal.End(w.request.ctx())
		return err
	})
}

// checkCursor returns an error for a cursor that has expired.
func (w *waiting) checkCursor() error {
	_, err := w.read(w.request.ctx())
	return err
}

// maxReads is how many pages of hidden changes are skipped before the client is told how far it has read: a
// place must not be held for all of a long journal.
const maxReads = 20

// read reports whether there is something to deliver after the cursor, and moves the cursor to just before
// it: a change or, after many that the key does not see, a page that says to continue.
func (w *waiting) read(ctx context.Context) (found bool, err error) {
	err = w.api.inFlight.Do(w.request.principal.ID, func() error {
		for range maxReads {
			page, err := w.api.platform.Changes(ctx, &w.request.principal.Key, w.cursor, w.resources, 1)
			if err != nil {
				return err
			}
			if len(page.Entries) > 0 {
				found = true
				return nil
			}
			w.cursor = page.Cursor
			if !page.More {
				return nil
			}
		}
		found = true
		return nil
	})
	return found, err
}

// next waits until there is a change after the cursor, the time is up, or the server stops.
func (w *waiting) next(limit time.Duration) (found bool, err error) {
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		end, changed := w.api.platform.Journal.Changed()
		if end != w.cursor { // of another epoch if the journal was replaced; lower if this server does not know the cursor's number yet
			err = w.withTurn(func(ctx context.Context) (err error) {
				found, err = w.read(ctx)
				return err
			})
			if found || err != nil {
				return found, err
			}
		}
		select {
		case <-changed:
		case <-over.C:
			return false, nil
		case <-w.api.options.Stopping:
			return false, errStopping
		case <-w.ctx.Done():
			return false, w.ctx.Err()
		}
	}
}

// errStopping means that the server stops.
var errStopping = errors.New("the server is stopping")

// wait waits once, and sends what there is then. The request's time limit begins again after waiting, but
// not if there was nothing to wait for.
func (w *waiting) wait(limit time.Duration) error {
	ctx := w.request.ctx()
	found, err := w.read(ctx)
	if err == nil && !found {
		var cancel context.CancelFunc
		w.ctx, cancel = context.WithTimeout(w.ctx, limit+w.api.options.RequestTimeout)
		defer cancel()
		ctx = w.ctx
		_, err = w.next(limit)
	}
	if err != nil && !errors.Is(err, errStopping) {
		return err
	}
	response, err := w.list(ctx)
	if err != nil {
		return err
	}
	defer response.discard()
	defer middleware.StopWritingAfter(ctx, w.echo)()
	return response.send(w.echo)
}

// list checks the key and reads the changes after the cursor.
func (w *waiting) list(ctx context.Context) (response encodedResponse, err error) {
	err = w.api.longPolls.WithTurn(ctx, func() error {
		if err := w.checkKey(ctx); err != nil {
			return err
		}
		w.refresh(ctx)
		response, err = w.request.run()
		return err
	})
	return response, err
}

// checkKey authenticates the key once more: it may have been revoked meanwhile.
func (w *waiting) checkKey(ctx context.Context) error {
	return w.api.inFlight.Do(w.request.principal.ID, func() error {
		principal, err := w.api.identify(ctx, w.echo, w.api.secret(w.echo))
		if err == nil {
			err = principal.Require(w.request.route.permission)
		}
		if err == nil {
			w.request.principal = principal
			w.resources, err = readable(w.asked, principal.Key)
		}
		return err
	})
}

// refresh makes the request ask for what follows the cursor.
func (w *waiting) refresh(ctx context.Context) {
	values := url.Values{cursorName: {w.cursor.String()}}
	for _, name := range []string{"resources", "limit", compat.IncludeParameter} {
		if value := w.request.query.Last(name); value != "" {
			values.Set(name, value)
		}
	}
	w.request.context = ctx
	w.request.query = compat.ParseQuery(values.Encode())
}

// stream sends changes as server-sent events until the client leaves or the server stops.
func (w *waiting) stream() {
	header := w.echo.Response().Header()
	header.Set(echo.HeaderContentType, eventStream)
	header.Set("X-Accel-Buffering", "no") // nginx would collect the events
	w.echo.Response().WriteHeader(http.StatusOK)
	for {
		// An id alone is not an event, but after a break the client continues from there, even if nothing
		// else was sent.
		if err := w.send(fmt.Appendf(nil, ": %s\nid: %s\n\n", eventStream, w.cursor)); err != nil {
			return // the client has left
		}
		found, err := w.next(streamCheck)
		for found && err == nil {
			found, err = w.sendBatch()
		}
		if err == nil {
			err = w.withTurn(w.checkKey)
		}
		if err != nil {
			w.logEnd(err)
			return
		}
	}
}

// withTurn calls work, which uses the database, in turn and with the time limit of a request.
func (w *waiting) withTurn(work func(context.Context) error) error {
	return w.api.withTimeLimit(w.ctx, func(ctx context.Context) error {
		return w.api.longPolls.WithTurn(ctx, func() error { return work(ctx) })
	})
}

// batch is what a stream needs of a list of changes.
type batch struct {
	Data    []json.RawMessage `json:"data"`
	Cursor  string            `json:"cursor"`
	HasMore bool              `json:"has_more"`
}

// sendBatch sends the changes after the cursor as events, and moves the cursor past them.
func (w *waiting) sendBatch() (more bool, err error) {
	var list batch
	err = w.api.withTimeLimit(w.ctx, func(ctx context.Context) error {
		response, err := w.list(ctx)
		if err != nil {
			return err
		}
		defer response.discard()
		return json.Unmarshal(response.body.Bytes(), &list)
	})
	if err != nil {
		return false, err
	}
	next, known := journal.ParseCursor(list.Cursor)
	if !known {
		return false, fmt.Errorf("cursor %q of a list", list.Cursor)
	}
	var events [][]byte
	for _, change := range list.Data {
		var numbered struct {
			Number int64 `json:"number"`
		}
		if err := json.Unmarshal(change, &numbered); err != nil {
			return false, fmt.Errorf("number of a change: %w", err)
		}
		events = append(events, fmt.Appendf(nil, "id: %s\ndata: ", next.At(numbered.Number)), change, []byte("\n\n"))
	}
	if err := w.send(events...); err != nil {
		return false, err
	}
	w.cursor = next
	return list.HasMore, nil
}

// send writes a part of the stream, with a time limit for clients that do not read.
func (w *waiting) send(texts ...[]byte) error {
	return w.api.withTimeLimit(w.ctx, func(ctx context.Context) error {
		defer middleware.StopWritingAfter(ctx, w.echo)()
		for _, text := range texts {
			if _, err := w.echo.Response().Write(text); err != nil {
				return fmt.Errorf("write events: %w", err)
			}
		}
		return http.NewResponseController(w.echo.Response()).Flush()
	})
}

// logEnd logs why a stream ended, unless the client left or the server stops.
func (w *waiting) logEnd(err error) {
	if errors.Is(err, errStopping) || w.ctx.Err() != nil {
		return
	}
	w.api.log.WarnContext(w.ctx, "event stream ended", "request_id", middleware.RequestID(w.echo), "error", err)
}
