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

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/upkeep"
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
	waits    atomic.Value // string: what the start waits for
	// companion is the version of the embedded companion.
	companion string
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
	// Writes says why some writes are rejected although everything else is served.
	Writes string `json:"writes,omitempty"`
	// Changes says that changes are not recorded, so that webhooks and readers of /changes are stuck,
	// although everything else is served.
	Changes string `json:"changes,omitempty"`
	// Extensions says that extensions are not asked or told what they should be, or names the plugins that take part in the
	// site's bookings but not in those of the API, although everything is served.
	Extensions string `json:"extensions,omitempty"`
	// Companion is the version of the embedded companion.
	Companion string `json:"companion,omitempty"`
	// Fingerprint identifies the site; "" if it is not known. See session.Platform.Fingerprint.
	Fingerprint string `json:"fingerprint,omitempty"`

	down      domain.Down // why the site cannot be served; "" if it can, or if that is not known
	siteKnown bool        // whether the database answered about the site's state
}

// VerboseReadiness is the body of /readyz?verbose, which takes a few more statements: it also rates
// background work.
type VerboseReadiness struct {
	Readiness
	Rating []Rated `json:"rating,omitempty"` // empty if unknown
}

// Rated is a diagnose.Rating without personal data.
type Rated struct {
	Code  diagnose.Code `json:"code"`
	Name  string        `json:"name"`  // of the kind of work
	Level string        `json:"level"` // good, minor or broken
	Text  string        `json:"text"`
	Count int           `json:"count"` // of items; 101 stands for more than 100
	Since string        `json:"since"` // UTC, of the first item; "" if there is none
	IDs   []int64       `json:"ids"`   // of the first ten items
}

func ratingOf(work upkeep.Work) []Rated {
	var list []Rated
	for _, r := range diagnose.Rate(work) {
		rated := Rated{Code: r.Code, Name: r.Name, Level: r.Level.String(), Text: r.Text.String(), Count: len(r.Items), IDs: []int64{}}
		if !r.Since.IsZero() {
			rated.Since = domain.Stamp(r.Since)
		}
		for _, item := range r.Items[:min(len(r.Items), diagnose.Named)] {
			rated.IDs = append(rated.IDs, item.ID)
		}
		list = append(list, rated)
	}
	return list
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
	a.router.Pre(adminHosts(hosts).guard(log))
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

// SetCompanionVersion sets the version of the embedded companion for /readyz. Call it before the first
// request.
func (a *Admin) SetCompanionVersion(companion string) { a.companion = companion }

// Waits sets what the start waits for. Anybody may read it.
func (a *Admin) Waits(reason string) { a.waits.Store(reason) }

// Started marks the API as served, from a platform.
func (a *Admin) Started(platform *session.Platform) { a.platform.Store(platform) }

// Stopping marks the server as shutting down.
func (a *Admin) Stopping() { a.stopping.Store(true) }

// ServeMetrics adds /metrics. Like Mount, Handle and ServeProfiles it must be called before the first
// request.
func (a *Admin) ServeMetrics(m *Metrics) {
	m.readiness.Store(new(a.readiness))
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
	readiness.Companion = a.companion
	if readiness.siteKnown {
		readiness.Fingerprint, _ = a.platform.Load().Fingerprint(ctx) // the next probe reports errors
	}
	if c.QueryParams().Has("verbose") && readiness.siteKnown {
		if work, err := upkeep.LoadWork(ctx, a.platform.Load()); err == nil {
			readiness.Rating = ratingOf(work)
		}
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
		err = upkeep.CheckColumns(site)
	}
	if err == nil {
		err = upkeep.CheckReadable(ctx, site)
	}
	var waiting time.Duration
	if err == nil {
		waiting, err = upkeep.ChangesWaiting(ctx, site)
	}
	var active []extensions.Active
	if err == nil {
		active, err = site.Extensions(ctx)
	}
	var late []events.Stored
	if err == nil {
		late, err = upkeep.LateEvents(ctx, site)
	}
	var known *domain.Error
	switch {
	case err == nil:
		return Readiness{
			Status: StatusReady, Database: partOK, Platform: partOK, Writes: writeProblem(site), Changes: changesProblem(platform.Journal.RestoredUnder(), waiting),
			Extensions: extensionsProblem(active, site.Asker != nil && site.Asker.Unanswered(), late), siteKnown: true,
		}
	case errors.As(err, &known):
		return Readiness{Status: StatusUnavailable, Database: partOK, Platform: known.Message, down: known.Down, siteKnown: true}
	default:
		return Readiness{Status: StatusUnavailable, Database: databaseStatus(err), Platform: partUnknown}
	}
}

// writeProblem returns why a site cannot be written, or "".
func writeProblem(site *session.Session) string {
	var known *domain.Error
	if errors.As(site.CheckWritable(), &known) {
		return known.Message
	}
	return ""
}

// changesProblem reports changes that wait too long for their numbers, or a restored backup, or returns "".
func changesProblem(restored bool, waiting time.Duration) string {
	r := diagnose.RateChanges(restored, waiting)
	if r.Level == diagnose.Good {
		return ""
	}
	return r.Text.String()
}

// extensionsProblem reports that WordPress, which is asked what extensions decide, did not answer last, or changes that they are told
// late, or extensions that are not honoured, or returns "".
func extensionsProblem(active []extensions.Active, unanswered bool, late []events.Stored) string {
	ignored := extensions.Ignored(active)
	switch {
	case unanswered && len(extensions.AskedOf(active)) > 0:
		return "WordPress does not answer what extensions decide; see bookside check"
	case len(late) > 0:
		return diagnose.RateEvents(late)[0].Text.String()
	case len(ignored) == 0:
		return ""
	}
	return "not all is honoured that these do: " + extensions.Titles(ignored) + "; see bookside check"
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
