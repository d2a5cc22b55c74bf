package console

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/middleware"
)

// Proxy is a web server of the owner's through which people open the console; the zero value is none.
type Proxy struct {
	// Address is that of the proxy for browsers, such as https://bookings.example.com; "" if it is not known.
	Address string
	// UserHeader is the header in which the proxy names who has logged in there; "" for none.
	UserHeader string
	// Networks are the addresses of proxies. Others cannot name anybody.
	Networks []*net.IPNet
}

// person returns who has logged in at the proxy; "" for nobody.
func (p Proxy) person(r *http.Request, log *slog.Logger) string {
	names := r.Header.Values(p.UserHeader)
	if p.UserHeader == "" || len(names) == 0 || !middleware.From(r, p.Networks) {
		return ""
	}
	name := strings.TrimSpace(names[0])
	switch {
	case len(names) > 1:
		// Clients can send the header, too, if the proxy adds its own instead of replacing theirs.
		log.WarnContext(r.Context(), "console: the proxy sends its header for the user twice; it must replace what a browser sends", "header", p.UserHeader)
		return ""
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > keys.MaxPerson:
		log.WarnContext(r.Context(), "console: the proxy sends a user who cannot be stored", "header", p.UserHeader, "bytes", len(name))
		return ""
	}
	return name
}
