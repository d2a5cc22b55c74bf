package middleware

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// AddressFrom returns a function for a client's address: the peer's, unless the
// peer is a trusted proxy.
func AddressFrom(proxies []*net.IPNet) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, network := range proxies {
		trust = append(trust, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

// From reports whether a request comes directly from an address in one of the networks, such as those of trusted
// proxies.
func From(r *http.Request, networks []*net.IPNet) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	peer := net.ParseIP(host)
	return slices.ContainsFunc(networks, func(network *net.IPNet) bool { return network.Contains(peer) })
}

// Origin returns scheme and host of a request as its client sees them. proxies are those whose
// X-Forwarded-Proto is trusted.
func Origin(r *http.Request, proxies []*net.IPNet) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get(echo.HeaderXForwardedProto) == "https" && From(r, proxies) {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// LeaveOneSlash is middleware that leaves one of several slashes at the beginning of a path, as WordPress does:
// clients join the site's address, which ends with a slash, and a path.
func LeaveOneSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return trimPath(next, func(path string) string {
		if strings.HasPrefix(path, "//") {
			return "/" + strings.TrimLeft(path, "/")
		}
		return path
	})
}

// TrimLastSlashes is middleware that removes the slashes at the end of a path, as WordPress does.
func TrimLastSlashes(next echo.HandlerFunc) echo.HandlerFunc {
	return trimPath(next, func(path string) string {
		if strings.HasPrefix(path, "/") {
			return "/" + strings.Trim(path, "/")
		}
		return path
	})
}

// trimPath also trims the escaped path, by which echo routes if the path contains an encoded slash.
func trimPath(next echo.HandlerFunc, trim func(string) string) echo.HandlerFunc {
	return func(c echo.Context) error {
		url := c.Request().URL
		url.Path, url.RawPath = trim(url.Path), trim(url.RawPath)
		return next(c)
	}
}

// RejectOptions rejects OPTIONS, which the router would answer itself. No route
// has that method, and the CORS middleware handles preflight requests.
func RejectOptions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodOptions {
			return echo.ErrNotFound
		}
		return next(c)
	}
}
