package handlers

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"bookside/adapter"
)

// authenticate finds the key of a request, keeps failures of one address slow,
// and checks the route's permission.
func (a *API) authenticate(permission string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			secret := a.secret(c)
			admission, err := a.keys.Authenticate(c.Request().Context(), secret)
			if err == nil {
				err = a.checkNetwork(c, admission.Key)
			}
			if adapter.CodeOf(err) == adapter.CodeUnauthorized && secret != "" {
				return a.brake.failed(c.RealIP(), err)
			}
			if err != nil {
				return err
			}
			key := admission.Key
			c.Set(admissionEntry, admission)
			if err := a.keys.Used(c.Request().Context(), key); err != nil {
				// A read-only database must not turn keys away.
				a.log.LogAttrs(c.Request().Context(), slog.LevelWarn, "use of key not noted", slog.Int64("key_id", key.ID), slog.Any("error", err))
			}
			if !key.Allows(permission) {
				return &adapter.Error{
					Code: adapter.CodeForbidden, Message: fmt.Sprintf("The API key lacks the permission %s", permission),
					Required: permission, Granted: key.Permissions,
				}
			}
			return next(c)
		}
	}
}

// checkNetwork refuses a key from outside its networks. That counts as a wrong
// key in everything the caller sees, the brake included; the log tells which
// key it was, because it may have been stolen.
func (a *API) checkNetwork(c echo.Context, key adapter.Key) error {
	address, _ := netip.ParseAddr(c.RealIP()) // the zero Addr is in no network
	err := key.CheckNetwork(address)
	if err != nil {
		a.log.LogAttrs(c.Request().Context(), slog.LevelWarn, "key sent from outside its networks",
			slog.String("request_id", requestID(c)), slog.Int64("key_id", key.ID))
	}
	return err
}

// admissionEntry is where a request's context keeps its admission.
const admissionEntry = "bookside.admission"

// admissionOf is the admission of a request that was authenticated.
func admissionOf(c echo.Context) (adapter.Admission, bool) {
	admission, ok := c.Get(admissionEntry).(adapter.Admission)
	return admission, ok
}

// secret is the key as the client sent it: in its header, as a bearer token or
// as a query parameter, the first that is there.
func (a *API) secret(c echo.Context) string {
	header := c.Request().Header
	if secret := strings.TrimSpace(header.Get("X-API-Key")); secret != "" {
		return secret
	}
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != "" {
		return strings.TrimSpace(token)
	}
	if a.options.QueryParameter == "" {
		return ""
	}
	sent := c.QueryParams()[a.options.QueryParameter]
	if len(sent) == 0 {
		return ""
	}
	return strings.TrimSpace(sent[len(sent)-1]) // of repeated ones the last wins
}
