package monitor

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// adminHosts are the names under which the admin address is served, besides localhost and IP addresses. A
// loopback address does not protect against pages that a browser on the same machine opens: a page can make
// its own name resolve to this address (DNS rebinding), and then has the same origin as everything served
// here. Only the Host header reveals that.
type adminHosts []string

// expects reports whether a Host header names this server. An IP address does, because it was not resolved
// from a name. An empty Host does not.
func (h adminHosts) expects(host string) bool {
	name := host
	if withoutPort, _, err := net.SplitHostPort(host); err == nil {
		name = withoutPort
	}
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || slices.ContainsFunc(h, func(known string) bool { return strings.EqualFold(name, known) })
}

// guard rejects requests under any other name, whatever their path.
func (h adminHosts) guard(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if h.expects(c.Request().Host) {
				return next(c)
			}
			log.WarnContext(c.Request().Context(), "request to the admin address under an unknown host name; admin.hosts can allow it")
			c.Response().Header().Set("Cache-Control", "no-store")
			return c.String(http.StatusMisdirectedRequest,
				"This address is not served under this name. Use localhost or an address, or add the name to admin.hosts.\n")
		}
	}
}
