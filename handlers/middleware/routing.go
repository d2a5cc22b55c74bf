package middleware

import (
	"net"
	"net/http"
	"slices"

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

// RejectUnserved is middleware that rejects URLs longer than maxURL, and OPTIONS, which the router would answer itself: no
// route has that method, and the CORS middleware handles preflight requests.
func RejectUnserved(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		switch {
		case c.Request().Method == http.MethodOptions:
			return echo.ErrNotFound
		case len(c.Request().RequestURI) > maxURL:
			return ErrURLTooLong
		}
		return next(c)
	}
}
