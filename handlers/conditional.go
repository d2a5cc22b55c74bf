package handlers

import (
	"cmp"
	"encoding/json"
	"net/http"
	"path"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
)

// Conditional requests (RFC 9110, section 13): the response to a GET has a tag, with which the client can
// later ask whether anything changed, or write only if nothing did.

const (
	tagHeader         = "ETag"
	ifMatchHeader     = "If-Match"
	ifNoneMatchHeader = "If-None-Match"
)

// tagged reports whether the responses of a route have a tag.
func (r *route) tagged() bool { return r.method == http.MethodGet && !r.is(untagged) }

// mayKeep sets the headers that let a client keep a response, as long as it checks each time whether it has
// changed.
func mayKeep(c echo.Context, tag string) {
	header := c.Response().Header()
	header.Set(tagHeader, tag)
	header.Set(echo.HeaderCacheControl, "private, no-cache")
}

// recordRead is how to read the record that a PUT, a DELETE or a POST to an existing record changes: the GET of its
// path, whose tag an If-Match is compared with.
type recordRead struct {
	route    *route
	includes []compat.Guarded
}

// readOf returns how to read the record of a route, or nil for a route that changes none.
func readOf(r *route) *recordRead {
	if r.method != http.MethodPut && r.method != http.MethodDelete && !r.is(changesRecord) {
		return nil
	}
	for i := range routes {
		if get := &routes[i]; get.method == http.MethodGet && get.path == r.recordPath() {
			return &recordRead{get, get.includes()}
		}
	}
	return nil
}

// recordPath returns the path of the record that the route changes.
func (r *route) recordPath() string {
	if r.is(changesRecord) {
		return path.Dir(r.path)
	}
	return r.path
}

// permit rejects a request with tags from a key that may not read the record and thus
// cannot know its tag.
func (read *recordRead) permit(c echo.Context, key keys.Key) error {
	sent := c.Request().Header.Values(ifMatchHeader)
	if read == nil || len(sent) == 0 || middleware.ParseETags(sent).Any {
		return nil
	}
	if err := key.Require(read.route.permission); err != nil {
		return err
	}
	return requireIncludes(read.includes, compat.ParseQuery(c.Request().URL.RawQuery), key)
}

// tags returns the tags of the request's If-Match; there are none in *, because a write to a record that does not exist is an
// error anyway.
func (r *request) tags() (tags middleware.ETags, sent bool) {
	values := r.echo.Request().Header.Values(ifMatchHeader)
	tags = middleware.ParseETags(values)
	return tags, r.read != nil && len(values) > 0 && !tags.Any
}

// precondition returns the check of the request's If-Match, see session.Tx; nil without tags.
func (r *request) precondition() func(*session.Session) error {
	tags, sent := r.tags()
	if !sent {
		return nil
	}
	return func(within *session.Session) error {
		present, err := r.present(within, cmp.Or(r.recordQuery, r.echo.Request().URL.RawQuery))
		if err != nil {
			return err
		}
		tag := middleware.ETag(present)
		if tags.Include(tag) {
			return nil
		}
		record, err := r.recordIn(present)
		if err != nil {
			return err
		}
		return domain.PreconditionFailed(domain.PresentRecord{Tag: tag, Record: record})
	}
}

// readRecord reads the record that the request changes, as a GET with a query would.
func (r *request) readRecord(within *session.Session, query string) (response, error) {
	get := *r
	get.endpoint, get.session, get.query = &endpoint{route: r.read.route}, within, compat.ParseQuery(query)
	return get.route.operation.serve(&get)
}

// present returns the present body of a GET of the record with a query.
func (r *request) present(within *session.Session, query string) ([]byte, error) {
	response, err := r.readRecord(within, query)
	if err != nil {
		return nil, err
	}
	return encodeBody(visible(response.body, r.principal.Key))
}

// recordIn returns the record in the body of a GET of it.
func (r *request) recordIn(present []byte) (json.RawMessage, error) {
	return compat.RecordIn(r.read.route.operation.answers[0].body, present)
}
