package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Conditional requests (RFC 9110, section 13): the answer to a GET has a tag, with which
// the client asks again whether anything changed, or writes only if nothing did.

const (
	tagHeader         = "ETag"
	ifNoneMatchHeader = "If-None-Match"
)

// tagged reports whether the responses of a route have a tag.
func (r *route) tagged() bool { return r.method == http.MethodGet && !r.operation.volatile }

// tagOf returns the strong tag of a response: a hash of its body, as the key sees it.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// mayKeep sets the headers with which a client may keep a response, if it asks each time
// whether that has changed.
func mayKeep(c echo.Context, tag string) {
	header := c.Response().Header()
	header.Set(tagHeader, tag)
	header.Set(echo.HeaderCacheControl, "private, no-cache")
}

// tagList is a list of tags that a client sent.
type tagList struct {
	any    bool // *
	opaque []string
}

// tagsOf reads the values of a header. Lists are read leniently, with or without quotes,
// and weak tags as strong ones: proxies that compress weaken the tags of responses.
func tagsOf(values []string) tagList {
	var tags tagList
	for rest := strings.Join(values, ","); rest != ""; {
		rest = strings.TrimPrefix(strings.TrimLeft(rest, " \t,"), "W/")
		var tag string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			tag, rest, _ = strings.Cut(quoted, `"`)
		} else {
			tag, rest, _ = strings.Cut(rest, ",")
			tag = strings.TrimRight(tag, " \t")
			tags.any = tags.any || tag == "*"
		}
		if tag != "" {
			tags.opaque = append(tags.opaque, tag)
		}
	}
	return tags
}

// include reports whether one of the tags is that of a response, as we sent it or as a
// proxy marked it: Apache and Caddy append the name of the compression.
func (l tagList) include(tag string) bool {
	return l.any || slices.ContainsFunc(l.opaque, func(sent string) bool {
		sent, _, _ = strings.Cut(sent, "-")
		return `"`+sent+`"` == tag
	})
}
