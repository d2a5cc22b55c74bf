package middleware

import (
	"net/http"
	"strings"

	"github.com/bookside/bookside/compat"
)

// Headers and parameters by which a POST stands for another method.
const (
	MethodHeader    = "X-HTTP-Method-Override"
	MethodParameter = "_method"
)

// OtherMethod stands for every method that is not a standard one.
const OtherMethod = "other"

// OverrideMethod lets a POST stand for another method, for clients that cannot send others: by the
// parameter _method, otherwise by a header, as WP_REST_Server::serve_request reads them, WordPress 7.0.
// WordPress does the same for GET, which would let a link delete something.
func OverrideMethod(r *http.Request) {
	if r.Method != http.MethodPost {
		return
	}
	method := compat.ParseQuery(r.URL.RawQuery).Last(MethodParameter)
	if method == "" {
		method = r.Header.Get(MethodHeader)
	}
	if method != "" {
		r.Method = effectiveMethod(method)
	}
}

// effectiveMethod keeps unrouted methods out of logs, and OPTIONS from CORS, which would answer it. HEAD
// becomes GET, because the client of a POST expects a body.
func effectiveMethod(method string) string {
	switch method = strings.ToUpper(strings.TrimSpace(method)); method {
	case http.MethodOptions:
		return OtherMethod
	case http.MethodHead:
		return http.MethodGet
	default:
		return KnownMethod(method)
	}
}

// KnownMethod returns a standard method unchanged, and one label for all others.
func KnownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return OtherMethod
	}
}
