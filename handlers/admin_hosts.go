package handlers

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// adminHosts are the names under which the admin address may be asked, besides
// localhost and addresses. A loopback address is no protection from the pages of
// a browser on the same machine: a page can have its own name resolved to this
// address (DNS rebinding), and would then be of the same origin as all that is
// served here. Only the Host header shows it.
type adminHosts []string

// expects tells whether a Host header names this server for sure. An address
// does: no name was resolved to it. No Host at all names nothing.
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

// guard refuses requests under any other name, whatever their path.
func (h adminHosts) guard(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if h.expects(c.Request().Host) {
				return next(c)
			}
			log.WarnContext(c.Request().Context(), "admin address asked under an unknown host name; admin.hosts can allow it")
			c.Response().Header().Set("Cache-Control", "no-store")
			return c.String(http.StatusMisdirectedRequest,
				"This address is not served under this name. Use localhost or an address, or add the name to admin.hosts.\n")
		}
	}
}
