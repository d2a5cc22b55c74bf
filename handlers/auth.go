package handlers

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
)

// authenticate finds the key of a request. Addresses that send invalid keys are
// throttled before the database is queried.
func (a *api) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if user, ok := userOf(c.Request().Context()); ok {
			principal, err := a.platform.Principal(c.Request().Context(), user)
			if err != nil {
				return err
			}
			c.Set(principalEntry, principal)
			return next(c)
		}
		secret := a.secret(c)
		var principal keys.Principal
		err := a.throttle.Do(c.Request().Context(), c.RealIP(), tried(c, secret), func() error {
			return a.inFlight.Do(0, func() (err error) {
				principal, err = a.findPrincipal(c, secret)
				return err
			})
		})
		if err != nil {
			return err
		}
		c.Set(principalEntry, principal)
		return next(c)
	}
}

// tried returns what the throttle counts as a key: a secret and, for a calendar, also its path. A secret
// that is valid elsewhere is an invalid one there, and stays valid elsewhere.
func tried(c echo.Context, secret string) string {
	if r, known := routeOf(c); known && r.is(ofCalendar) && secret != "" {
		return string(r.operation.path[0].resource) + c.Param("id") + " " + secret
	}
	return secret
}

// findPrincipal returns the holder of a valid key that may be used from the
// client's address, and records its use.
func (a *api) findPrincipal(c echo.Context, secret string) (keys.Principal, error) {
	ctx := c.Request().Context()
	principal, err := a.identify(ctx, c, secret)
	if err != nil {
		return keys.Principal{}, err
	}
	if err := a.keys.Used(ctx, principal.Key); err != nil {
		// A read-only database must not reject keys.
		a.log.LogAttrs(ctx, slog.LevelWarn, "use of key not recorded", slog.Int64("key_id", principal.ID), slog.Any("error", err))
	}
	return principal, nil
}

// identify finds the API key of a request, or the calendar whose secret it has, in its present state. The
// key may be used from the client's address.
func (a *api) identify(ctx context.Context, c echo.Context, secret string) (principal keys.Principal, err error) {
	if r, known := routeOf(c); known && r.is(ofCalendar) {
		principal, err = a.findCalendar(ctx, c, r.operation.path[0].resource, secret)
	} else {
		principal, err = a.keys.Authenticate(ctx, secret)
	}
	if err == nil {
		err = a.checkNetwork(c, principal.Key)
	}
	return principal, err
}

// permit counts a request, whose key is known, and checks the permission of its route. Rejected requests have the headers of
// the limits too.
func (a *api) permit(permission string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := a.limiter.Charge(c, 1); err != nil {
				return err
			}
			principal, _ := principalOf(c)
			if err := principal.Require(permission); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// guarded returns the members of the route's responses that need another permission.
func (r route) guarded() []compat.Guarded { return compat.GuardedIn(r.samples()...) }

// samples returns samples of the route's responses that are JSON.
func (r route) samples() []any {
	samples := make([]any, 0, len(r.operation.answers))
	for _, answer := range r.operation.answers {
		if _, is := answer.body.(file); !is {
			samples = append(samples, answer.body)
		}
	}
	return samples
}

// includes returns what the parameter include can add to the route's responses and
// needs another permission.
func (r route) includes() []compat.Guarded {
	if r.operation.query == nil || !slices.Contains(r.operation.query.Names(), compat.IncludeParameter) {
		return nil
	}
	return slices.DeleteFunc(r.guarded(), func(g compat.Guarded) bool { return !g.OnlyIfIncluded })
}

// requireIncludes checks the permissions for what the parameter include requests.
func requireIncludes(includes []compat.Guarded, q *compat.Query, key keys.Key) error {
	asked := q.Includes()
	for _, g := range includes {
		if slices.Contains(asked, g.Name()) {
			if err := key.Require(g.Permission); err != nil {
				return err
			}
		}
	}
	return nil
}

// visible returns the body of a response as the key may see it.
func visible(body any, key keys.Key) any {
	lacks := func(resource string) bool { return !key.Holds("read_" + resource) }
	if !key.MaskPersonal && !slices.ContainsFunc(keys.PermissionResources, lacks) {
		return body
	}
	return compat.Viewer{Holds: key.Holds, Masked: key.MaskPersonal}.View(body)
}

// refuseSearch rejects a search of personal data with a key that masks it.
func (r *route) refuseSearch(query *compat.Query, key keys.Key) error {
	if !key.MaskPersonal || r.operation.query == nil {
		return nil
	}
	if name := query.PersonalParameter(r.operation.query); name != "" {
		return domain.PersonalMasked(name)
	}
	return nil
}

// checkNetwork rejects a key from outside its networks. To the client and to the throttle, the key is
// invalid; the log names it, because it may be stolen.
func (a *api) checkNetwork(c echo.Context, key keys.Key) error {
	address, _ := netip.ParseAddr(c.RealIP()) // the zero Addr is in no network
	err := key.CheckNetwork(address)
	if err != nil {
		a.log.LogAttrs(c.Request().Context(), slog.LevelWarn, "key sent from outside its networks",
			slog.String("request_id", middleware.RequestID(c)), slog.Int64("key_id", key.ID))
	}
	return err
}

// principalEntry is the entry of a request's context that holds its principal.
const principalEntry = "bookside.principal"

// principalOf returns the principal of an authenticated request.
func principalOf(c echo.Context) (keys.Principal, bool) {
	principal, ok := c.Get(principalEntry).(keys.Principal)
	return principal, ok
}

// keyOf returns the key of an authenticated request, and whether it has one: what WordPress asks for its users is
// limited there, and not by the limits of keys.
func keyOf(c echo.Context) (keys.Key, bool) {
	principal, ok := principalOf(c)
	return principal.Key, ok && principal.Kind != keys.User && principal.Kind != keys.Admin
}

// secret returns the key that the client sent: the first of the header, a bearer token and the query
// parameter. The secret of a calendar comes only in its address.
func (a *api) secret(c echo.Context) string {
	if r, known := routeOf(c); known && r.is(ofCalendar) {
		return lastParameter(c, keys.SecretParameter)
	}
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
	return lastParameter(c, a.options.QueryParameter)
}

// lastParameter returns a parameter of the query; as in PHP, the last one wins.
func lastParameter(c echo.Context, name string) string {
	sent := c.QueryParams()[name]
	if len(sent) == 0 {
		return ""
	}
	return strings.TrimSpace(sent[len(sent)-1])
}
