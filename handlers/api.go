package handlers

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/openapi"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/handlers/wordpress"
)

// Options configure the API.
type Options struct {
	BasePaths           []string      // paths under which the API is served
	QueryParameter      string        // query parameter for the key; "" for none
	SiteTimestamps      bool          // timestamps in the site's time zone instead of UTC
	RequestTimeout      time.Duration // time limit of a request
	MaxConcurrent       int           // requests processed at the same time; 0 for no limit
	MaxWaiting          int           // requests waiting for changes at the same time; 0 for no limit
	MaxExports          int           // exports at the same time; 0 for no limit
	TrustedProxies      []*net.IPNet  // proxies whose X-Forwarded-For is trusted
	AllowedOrigins      []string      // for CORS, which is off without any
	LogClients          bool          // log client addresses too
	Version             string        // of the program, for clients of /mcp
	FailedKeysPerMinute int           // invalid keys that an address may send; 0 for no limit
	RateLimit           ratelimit.Options
	Metrics             *monitor.Metrics // nil for none
	Requests            *keys.RequestLog // nil for none
	Webhooks            *jobs.HookStore  // nil for one that keeps secrets readable
	// Stopping is closed when the server is about to stop, to end requests that wait for changes; nil for
	// never.
	Stopping <-chan struct{}
}

// api serves the booking API of one site.
type api struct {
	platform  *session.Platform
	keys      *keys.Store
	log       *slog.Logger
	now       domain.Clock
	options   Options
	throttle  *middleware.Throttle
	limiter   *ratelimit.Limiter
	inFlight  middleware.InFlight
	longPolls middleware.LongPolls
	exports   middleware.LongPolls
	metrics   *monitor.Metrics
	// endpoints are the operations by id.
	endpoints map[string]*endpoint
}

// endpoint is a route with what its requests need to know of the table of routes.
type endpoint struct {
	route    *route
	read     *recordRead    // of the record that a write changes; nil for none
	reading  string         // the permission to read what a write writes; "" if none is needed
	known    parameterNames // that the route reads
	includes []compat.Guarded
	dryRuns  bool // it supports them
}

// New returns the handler of the API.
func New(platform *session.Platform, keys *keys.Store, now domain.Clock, log *slog.Logger, options Options) http.Handler {
	a := newAPI(platform, keys, now, log, options)
	e := a.router()
	e.Match([]string{http.MethodGet, http.MethodHead}, "/", func(c echo.Context) error {
		if c.QueryParams().Has(wordpress.RouteParameter) {
			return failures.ErrNoRoute // see wordpress.Address
		}
		return openapi.FrontPage(c)
	})
	openapi.AddPages(e, options.BasePaths, now, a.described)
	for i := range routes {
		r := &routes[i]
		a.endpoints[r.operation.id] = &endpoint{r, readOf(r), r.readPermission(), a.parameterNames(r), r.includes(), r.allowsDryRun()}
	}
	index := wordpress.Index{Describe: a.described, Fingerprint: platform.Fingerprint, Proxies: options.TrustedProxies}
	for _, base := range options.BasePaths {
		index.Serve(e, base)
		for i := range routes {
			a.add(e, base, a.endpoints[routes[i].operation.id])
		}
	}
	a.addMCP(e)
	return e
}

func newAPI(platform *session.Platform, keys *keys.Store, now domain.Clock, log *slog.Logger, options Options) *api {
	metrics := options.Metrics
	if metrics == nil {
		metrics = monitor.NewMetrics(monitor.Build{})
	}
	metrics.Shared.Store(options.RateLimit.Shared)
	if options.Webhooks == nil && platform != nil {
		options.Webhooks = jobs.NewHookStore(platform.DB, now, rand.Reader, jobs.Vault{}, platform.Journal)
	}
	return &api{
		platform: platform, keys: keys, log: log, now: now, options: options,
		throttle:  middleware.NewThrottle(now, options.FailedKeysPerMinute),
		limiter:   ratelimit.New(options.RateLimit, now, keyOf),
		inFlight:  middleware.NewInFlight(options.MaxConcurrent),
		longPolls: middleware.NewLongPolls(options.MaxWaiting),
		exports:   middleware.NewLongPolls(options.MaxExports),
		metrics:   metrics,

		endpoints: map[string]*endpoint{},
	}
}

// router returns a router with what happens to every request before its route is known.
func (a *api) router() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) { a.fail(c, err) }
	e.IPExtractor = middleware.AddressFrom(a.options.TrustedProxies)
	cors := len(a.options.AllowedOrigins) > 0
	e.Pre(wordpress.Address(a.options.BasePaths))
	e.Use(
		middleware.Headers,
		middleware.Deadline(a.options.RequestTimeout),
		a.record,
		middleware.Recover(a.log),
		wordpress.TellCompanion(a.options.RequestTimeout, a.options.QueryParameter, cors),
	)
	if cors {
		e.Use(echomiddleware.CORSWithConfig(corsConfig(a.options.AllowedOrigins)))
	}
	e.Use(middleware.RejectUnserved)
	return e
}

// add registers a route, for GET with HEAD, with what happens to its requests before they are served.
func (a *api) add(e *echo.Echo, base string, p *endpoint) {
	r := p.route
	methods := []string{r.method}
	if r.method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	e.Match(methods, base+r.path, a.serve(p), r.set, a.authenticate, a.permit(r.permission))
}

// serve handles the requests of a route.
func (a *api) serve(p *endpoint) echo.HandlerFunc {
	return func(c echo.Context) error {
		query := compat.ParseQuery(c.Request().URL.RawQuery)
		if err := query.Readable(); err != nil {
			return err
		}
		if err := a.limiter.Charge(c, p.route.requests(query)); err != nil {
			return err
		}
		return a.operate(p, c, query)
	}
}

// operate serves a request that is authenticated, permitted and counted.
func (a *api) operate(p *endpoint, c echo.Context, query *compat.Query) error {
	principal, _ := principalOf(c)
	if p.route.method == http.MethodGet {
		if err := p.known.refuseUnknownParameters(c, query); err != nil {
			return err
		}
	}
	if err := requireIncludes(p.includes, query, principal.Key); err != nil {
		return err
	}
	if err := p.route.refuseSearch(query, principal.Key); err != nil {
		return err
	}
	request := &request{endpoint: p, api: a, context: c.Request().Context(), echo: c, path: middleware.PathValuesOf(c), principal: principal, input: input{query: query}}
	if p.route.method == http.MethodGet {
		return a.read(c, request)
	}
	if err := p.read.permit(c, principal.Key); err != nil {
		return err
	}
	var err error
	if request.rawBody, err = middleware.ReadBody(c); err != nil {
		return err
	}
	if err := request.readDocument(); err != nil {
		return err
	}
	return request.deliver(c)
}

// read sends the response of a read.
func (a *api) read(c echo.Context, r *request) error {
	if formats := r.route.operation.formats; formats != nil {
		if f := formatOf(c.Request().Header.Values(echo.HeaderAccept), formats); f != nil {
			return a.export(c, r, f)
		}
	}
	deliver := func() error { return r.deliver(c) }
	if r.route.operation.wrap != nil {
		return r.route.operation.wrap(c, r, deliver)
	}
	return deliver()
}

// withTimeLimit calls work with the time limit of a request, although the request itself lasts longer.
func (a *api) withTimeLimit(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	return work(ctx)
}

// routeEntry is the entry of a request's context that holds its route.
const routeEntry = "bookside.route"

// set is middleware that puts the route into the context of a request, and says which headers its
// response depends on.
func (r *route) set(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(routeEntry, r)
		c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
		return next(c)
	}
}

// routeOf returns the route of a request, and whether it has one.
func routeOf(c echo.Context) (*route, bool) {
	r, known := c.Get(routeEntry).(*route)
	return r, known
}

func corsConfig(origins []string) echomiddleware.CORSConfig {
	return echomiddleware.CORSConfig{
		AllowOrigins:  origins,
		AllowMethods:  []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete},
		AllowHeaders:  append([]string{"Authorization", "Content-Type", idempotencyKey, ifMatchHeader, ifNoneMatchHeader, "X-API-Key", preferHeader, middleware.MethodHeader, middleware.RequestIDHeader}, protocolHeaders...),
		ExposeHeaders: append([]string{middleware.RequestIDHeader, "Retry-After", tagHeader, replayedHeader, totalHeader, linkHeader, ignoredHeader, appliedHeader, warningHeader}, ratelimit.Headers...),
		MaxAge:        int((24 * time.Hour).Seconds()),
	}
}
