package handlers

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"bookside/adapter"
)

// authenticate finds the key of a request. Addresses that send wrong ones are
// slowed before the database is asked.
func (a *api) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		secret := a.secret(c)
		var admission adapter.Admission
		err := a.brake.pass(c.Request().Context(), c.RealIP(), secret, func() error {
			return a.gate.pass(func() (err error) {
				admission, err = a.admit(c, secret)
				return err
			})
		})
		if err != nil {
			return err
		}
		c.Set(admissionEntry, admission)
		return next(c)
	}
}

// admit finds a key that may be used from where it is sent, and notes its use.
func (a *api) admit(c echo.Context, secret string) (adapter.Admission, error) {
	ctx := c.Request().Context()
	admission, err := a.keys.Authenticate(ctx, secret)
	if err == nil {
		err = a.checkNetwork(c, admission.Key)
	}
	if err != nil {
		return adapter.Admission{}, err
	}
	if err := a.keys.Used(ctx, admission.Key); err != nil {
		// A read-only database must not turn keys away.
		a.log.LogAttrs(ctx, slog.LevelWarn, "use of key not noted", slog.Int64("key_id", admission.ID), slog.Any("error", err))
	}
	return admission, nil
}

// permit checks a route's permission. It runs once the request was counted, so
// that a refusal tells the limits too.
func permit(permission string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			admission, _ := admissionOf(c)
			if !admission.Allows(permission) {
				return &adapter.Error{
					Code: adapter.CodeForbidden, Message: fmt.Sprintf("The API key lacks the permission %s", permission),
					Required: permission, Granted: admission.Permissions,
				}
			}
			return next(c)
		}
	}
}

// checkNetwork refuses a key from outside its networks. That counts as a wrong
// key in everything the caller sees, the brake included; the log tells which
// key it was, because it may have been stolen.
func (a *api) checkNetwork(c echo.Context, key adapter.Key) error {
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
func (a *api) secret(c echo.Context) string {
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
