package monitor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// Admin serves the administrative endpoints: /livez while the process runs, /readyz while it can serve the
// site, and metrics, profiles and pages that are added to it. It belongs on an address that clients cannot
// reach.
type Admin struct {
	router   *echo.Echo
	platform atomic.Pointer[session.Platform]
	stopping atomic.Bool
	reports  atomic.Pointer[Reports]
	waits    atomic.Value // string: what the start waits for
}

// The values of Readiness.Status.
const (
	StatusStarting    = "starting" // the database is not open yet
	StatusReady       = "ready"
	StatusUnavailable = "unavailable" // temporarily
	StatusStopping    = "stopping"
)

// Readiness is the body of /readyz. Its status is 200 when the server is ready, otherwise 503 with the
// problem of the database or the platform. Anybody may read it.
type Readiness struct {
	Status   string `json:"status"`
	Database string `json:"database"`
	Platform string `json:"platform"`
	// Fingerprint identifies the site; "" if it is not known. See session.Platform.Fingerprint.
	Fingerprint string `json:"fingerprint,omitempty"`

	down      domain.Down // why the site cannot be served; "" if it can, or if that is not known
	siteKnown bool        // whether the database answered about the site's state
}

// VerboseReadiness is the body of /readyz?verbose, which takes more statements: it also has the report about the site and
// the work for it, without names of items.
type VerboseReadiness struct {
	Readiness
	Report []Entry `json:"report,omitempty"` // none if it is not known
}

// readinessTimeout is shorter than the usual timeouts of probes.
const readinessTimeout = 2 * time.Second

const (
	partOK      = "ok"
	partUnknown = "unknown"
)

// NewAdmin returns an Admin that is not ready until Started is called. hosts are the names under which it
// is served, besides localhost and IP addresses.
func NewAdmin(log *slog.Logger, hosts []string) *Admin {
	a := &Admin{router: echo.New()}
	a.router.HTTPErrorHandler = failProbe
	a.router.Pre(middleware.DiscardBody, adminHosts(hosts).guard(log))
	methods := []string{http.MethodGet, http.MethodHead}
	a.router.Match(methods, "/livez", live)
	a.router.Match(methods, "/readyz", a.ready)
	return a
}

// Mount adds the console at a path and everything below it. / redirects to it, and so does /keys, where
// version 0.1 had its page for keys.
func (a *Admin) Mount(path string, page http.Handler) {
	for from, to := range map[string]string{"/": path, "/keys": path + "/keys"} {
		a.router.Match([]string{http.MethodGet, http.MethodHead}, from, func(c echo.Context) error { return c.Redirect(http.StatusSeeOther, to) })
	}
	a.HandleExact(path, page)
	a.Handle(path, page)
}

// Handle adds a handler for everything below a path.
func (a *Admin) Handle(path string, below http.Handler) {
	a.router.Any(path+"/*", echo.WrapHandler(below))
}

// HandleExact adds a handler for a path alone.
func (a *Admin) HandleExact(path string, page http.Handler) {
	a.router.Any(path, echo.WrapHandler(page))
}

// Waits sets what the start waits for. Anybody may read it.
func (a *Admin) Waits(reason string) { a.waits.Store(reason) }

// Started marks the API as served, from a platform, and returns the reports about its site.
func (a *Admin) Started(platform *session.Platform) *Reports {
	reports := NewReports(platform)
	a.reports.Store(reports)
	a.platform.Store(platform)
	return reports
}

// Stopping marks the server as shutting down.
func (a *Admin) Stopping() { a.stopping.Store(true) }

// ServeMetrics adds /metrics. Like Mount, Handle and ServeProfiles it must be called before the first
// request.
func (a *Admin) ServeMetrics(m *Metrics) {
	m.admin.Store(a)
	a.router.GET("/metrics", echo.WrapHandler(m.handler()))
}

// ServeProfiles adds /debug/pprof without its cmdline, because flags may contain
// secrets.
func (a *Admin) ServeProfiles() {
	a.router.GET("/debug/pprof/", echo.WrapHandler(http.HandlerFunc(pprof.Index)))
	for name, handler := range map[string]http.HandlerFunc{
		"cmdline": http.NotFound, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		a.router.GET("/debug/pprof/"+name, echo.WrapHandler(handler))
	}
	a.router.GET("/debug/pprof/:profile", echo.WrapHandler(http.HandlerFunc(pprof.Index)))
}

func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.router.ServeHTTP(w, r) }

func live(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.String(http.StatusOK, "ok")
}

func (a *Admin) ready(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readinessTimeout)
	defer cancel()
	c.Response().Header().Set("Cache-Control", "no-store")
	readiness := VerboseReadiness{Readiness: a.readiness(ctx)}
	if readiness.siteKnown {
		readiness.Fingerprint, _ = a.platform.Load().Fingerprint(ctx) // the next probe reports errors
	}
	if c.QueryParams().Has("verbose") && readiness.siteKnown {
		readiness.Report = a.report(ctx, time.Minute)
	}
	if readiness.Status != StatusReady {
		return middleware.SendJSON(c, http.StatusServiceUnavailable, readiness)
	}
	return middleware.SendJSON(c, http.StatusOK, readiness)
}

func (a *Admin) readiness(ctx context.Context) Readiness {
	platform := a.platform.Load()
	switch {
	case a.stopping.Load():
		return Readiness{Status: StatusStopping, Database: partUnknown, Platform: partUnknown}
	case platform == nil:
		reason, _ := a.waits.Load().(string)
		return Readiness{Status: StatusStarting, Database: cmp.Or(reason, "not open yet"), Platform: partUnknown}
	}
	site, err := platform.Session(ctx)
	if err == nil {
		err = session.CheckColumns(site)
	}
	if err == nil {
		err = session.CheckWrites(site)
	}
	if err == nil {
		err = session.CheckReadable(ctx, site)
	}
	var known *domain.Error
	switch {
	case err == nil:
		return Readiness{Status: StatusReady, Database: partOK, Platform: partOK, siteKnown: true}
	case errors.As(err, &known):
		return Readiness{Status: StatusUnavailable, Database: partOK, Platform: known.Message, down: known.Down, siteKnown: true}
	default:
		return Readiness{Status: StatusUnavailable, Database: databaseStatus(err), Platform: partUnknown}
	}
}

// report returns what is known of the report in time, without names of items.
func (a *Admin) report(ctx context.Context, oldest time.Duration) []Entry {
	found, _, _ := a.reports.Load().Report(ctx, oldest) // /readyz says why the database does not answer
	for i, entry := range found.Entries {
		found.Entries[i].Items = nil
		for _, item := range entry.Items {
			found.Entries[i].Items = append(found.Entries[i].Items, Item{ID: item.ID})
		}
	}
	return found.Entries
}

const notInTime = "does not answer in time"

// databaseStatus describes an error of the database without quoting it.
func databaseStatus(err error) string {
	switch {
	case errors.Is(err, wpdb.ErrBusy) && errors.Is(err, wpdb.ErrSilent):
		return notInTime
	case errors.Is(err, wpdb.ErrUnavailable), errors.Is(err, wpdb.ErrLinkLost):
		return "unreachable"
	case errors.Is(err, wpdb.ErrBusy):
		return "has no free connection"
	case errors.Is(err, wpdb.ErrAccessDenied):
		return "rejects the user, the password or a privilege"
	case errors.Is(err, wpdb.ErrNoDatabase):
		return "does not exist"
	case errors.Is(err, wpdb.ErrNoTLS), errors.Is(err, wpdb.ErrTLSDemanded), errors.Is(err, wpdb.ErrCertificate):
		return "does not agree on TLS"
	case errors.Is(err, wpdb.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return notInTime
	default:
		return "failed"
	}
}

// failProbe responds to errors and unknown paths.
func failProbe(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	status := http.StatusInternalServerError
	if errors.Is(err, echo.ErrNotFound) || errors.Is(err, echo.ErrMethodNotAllowed) {
		status = http.StatusNotFound
	}
	_ = c.NoContent(status) // fails only if the client is gone
}
