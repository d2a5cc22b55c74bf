package handlers

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/compat"
	"bookside/handlers/ratelimit"
)

// Options are the choices of whoever runs the server.
type Options struct {
	BasePaths           []string      // the paths under which the API answers
	QueryParameter      string        // parameter that may carry the key; "" for none
	SiteTimestamps      bool          // timestamps in the site's zone in place of the stored UTC
	RequestTimeout      time.Duration // limit of a request
	MaxConcurrent       int           // requests worked on at a time; 0 for any number
	Memory              int64         // bytes that requests may use together, from LeastMemory; 0 for any number
	MemoryWait          time.Duration // how long a request waits for memory that others use
	TrustedProxies      []*net.IPNet  // whose X-Forwarded-For is believed
	AllowedOrigins      []string      // for CORS; none switches it off
	FailedKeysPerMinute int           // wrong keys an address may send; 0 for any number
	RateLimit           ratelimit.Options
	Metrics             *Metrics // nil to measure for nobody
}

// api serves the booking API of one site.
type api struct {
	platform *adapter.Platform
	keys     *keys.Store
	log      *slog.Logger
	now      domain.Clock
	options  Options
	throttle *authThrottle
	limiter  *ratelimit.Limiter
	gate     gate
	memory   memory
	metrics  *Metrics
}

// New is the API's handler.
func New(platform *adapter.Platform, keys *keys.Store, now domain.Clock, log *slog.Logger, options Options) http.Handler {
	a := newAPI(platform, keys, now, log, options)
	e := a.router()
	a.addDocs(e)
	for _, base := range options.BasePaths {
		a.addIndex(e, base)
		for i := range routes {
			a.add(e, base, &routes[i])
		}
	}
	return e
}

func newAPI(platform *adapter.Platform, keys *keys.Store, now domain.Clock, log *slog.Logger, options Options) *api {
	metrics := options.Metrics
	if metrics == nil {
		metrics = NewMetrics(Build{})
	}
	metrics.shared.Store(options.RateLimit.Shared)
	return &api{
		platform: platform, keys: keys, log: log, now: now, options: options,
		throttle: newAuthThrottle(now, options.FailedKeysPerMinute),
		limiter:  ratelimit.New(options.RateLimit, now, keyOf),
		gate:     newGate(options.MaxConcurrent),
		memory:   newMemory(options.Memory, options.MemoryWait),
		metrics:  metrics,
	}
}

// router has everything that happens to a request before its route is known.
func (a *api) router() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) { a.fail(c, err) }
	e.IPExtractor = addressFrom(a.options.TrustedProxies)
	e.Pre(overrideMethod, plainRoute(a.options.BasePaths), noteSlash, trimEscapedPath, middleware.RemoveTrailingSlash())
	e.Use(a.identify, a.deadline, dropBody, a.measure, a.logRequest, a.recover, a.headers)
	if len(a.options.AllowedOrigins) > 0 {
		e.Use(middleware.CORSWithConfig(corsConfig(a.options.AllowedOrigins)))
	}
	e.Use(noOptions, shortURL)
	return e
}

// add registers a route, and HEAD beside GET.
func (a *api) add(e *echo.Echo, base string, r *route) {
	methods := []string{r.method}
	if r.method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	e.Match(methods, base+r.path, a.serve(r), r.note, a.authenticate, a.limiter.Middleware, permit(r.permission))
}

// serve answers the requests of a route.
func (a *api) serve(r *route) echo.HandlerFunc {
	guard, includes := r.guard(), r.includes()
	return func(c echo.Context) error {
		query := compat.ParseQuery(c.Request().URL.RawQuery)
		if err := query.Readable(); err != nil {
			return err
		}
		if err := a.limiter.Charge(c, r.requests(query)); err != nil {
			return err
		}
		principal, _ := principalOf(c)
		if err := permitIncludes(includes, query, principal.Key); err != nil {
			return err
		}
		sent, forget, err := a.readBody(c)
		if err != nil {
			return err
		}
		defer forget()
		request := &request{api: a, route: r, guard: guard, echo: c, query: query, sent: sent}
		answer, err := request.answer()
		if err != nil {
			return err
		}
		return request.deliver(answer)
	}
}

// routeEntry is where a request's context keeps its route.
const routeEntry = "bookside.route"

// note is the middleware that makes the route known.
func (r *route) note(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(routeEntry, r)
		return next(c)
	}
}

// routeOf is the route of a request; false where there is none.
func routeOf(c echo.Context) (*route, bool) {
	r, known := c.Get(routeEntry).(*route)
	return r, known
}

// addressFrom finds a client's address: the peer's, unless the peer is a
// trusted proxy.
func addressFrom(proxies []*net.IPNet) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, network := range proxies {
		trust = append(trust, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

// trimEscapedPath takes the slash from the end of an escaped path, which echo
// routes by where the path holds an encoded slash and which its own middleware
// does not look at.
func trimEscapedPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		url := c.Request().URL
		url.RawPath = strings.TrimSuffix(url.RawPath, "/")
		return next(c)
	}
}

func corsConfig(origins []string) middleware.CORSConfig {
	return middleware.CORSConfig{
		AllowOrigins:  origins,
		AllowMethods:  []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete},
		AllowHeaders:  []string{"Authorization", "Content-Type", idempotencyKey, "X-API-Key", methodHeader, requestIDHeader},
		ExposeHeaders: append([]string{requestIDHeader, "Retry-After", replayedHeader}, ratelimit.Headers...),
		MaxAge:        int((24 * time.Hour).Seconds()),
	}
}

// noOptions refuses what the router would answer by itself: no route has the
// method, and preflights are CORS's.
func noOptions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodOptions {
			return errNoRoute
		}
		return next(c)
	}
}
