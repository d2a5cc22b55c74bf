package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/handlers/console/overlaps"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/shared"
	"github.com/bookside/bookside/wpdb"
)

// How long visitors share the contents of the overview. Examining a site takes some sixty statements.
const (
	healthLife  = time.Minute
	agendaLife  = time.Minute
	figuresLife = 10 * time.Second
)

// overview holds what visitors of the first page share.
type overview struct {
	health  *shared.Value[health]
	figures *shared.Value[daystats.Day]
	agenda  *shared.Value[slots.Agenda]
}

// health is the state of the site and of its pending work.
type health struct {
	diagnose.Report
	rating   []diagnose.Rating // nil if pending work cannot be examined
	overlaps []overlaps.Group  // bookings that overlap, from today on
	more     int               // number of overlaps not shown
}

// next has the bookings of today and tomorrow, which visitors do not share: it is cheap, and people look there for what
// they have just done.
type next struct {
	site     *session.Session
	bookings []records.Booking
	more     bool // whether there are others on these days
}

func (c *Console) newOverview(site *Site) *overview {
	return &overview{
		health:  shared.New(c.now, healthLife, site.health),
		figures: shared.New(c.now, figuresLife, site.day),
		agenda:  shared.New(c.now, agendaLife, site.agenda),
	}
}

func (s *Site) health(ctx context.Context) (health, error) {
	report, err := s.Examine(ctx)
	if err != nil {
		return health{}, err
	}
	h := health{Report: report}
	if work, err := upkeep.LoadWork(ctx, s.Platform); err == nil {
		h.rating = diagnose.Rate(work)
	}
	if report.Conflicts != nil && len(report.Conflicts.Conflicts) > 0 {
		h.overlaps, err = session.ServeBackground(ctx, s.Platform, func(ctx context.Context, site *session.Session) ([]overlaps.Group, error) {
			return loadOverlaps(ctx, site, *report.Conflicts)
		})
		h.more = max(len(report.Conflicts.Conflicts)-shownOverlaps, 0)
	}
	return h, err
}

// loadOverlaps describes the first overlaps of a report.
func loadOverlaps(ctx context.Context, site *session.Session, report slots.ConflictReport) ([]overlaps.Group, error) {
	shown := report.Conflicts[:min(len(report.Conflicts), shownOverlaps)]
	bookings, err := slots.ConflictingBookings(ctx, site, shown)
	if err != nil {
		return nil, err
	}
	address, err := slots.Address(ctx, site)
	return overlaps.Of(shown, bookings, report.Assets, address), err
}

func (s *Site) day(ctx context.Context) (daystats.Day, error) { return s.Figures.Day(ctx) }

const (
	agendaDays    = 30 // before and after today
	nextDays      = 2  // today and tomorrow
	shownNext     = 200
	shownOverlaps = 20 // pairs
)

func (s *Site) agenda(ctx context.Context) (slots.Agenda, error) {
	return session.ServeBackground(ctx, s.Platform, func(ctx context.Context, site *session.Session) (slots.Agenda, error) {
		return slots.LoadAgenda(ctx, site, agendaDays)
	})
}

func loadNext(v *visit) (n next, err error) {
	if n.site, err = v.site(); err == nil {
		n.bookings, n.more, err = slots.NextBookings(v.ctx(), n.site, nextDays, shownNext)
	}
	return n, err
}

// showOverview shows every part that it can load; a broken database must not hide the others.
func (c *Console) showOverview(v *visit) error {
	var p overviewPage
	var err error
	if p.figures, _, err = v.overview.figures.Get(v.ctx()); err != nil {
		p.figuresProblem = c.problemOf(v, err)
	}
	if p.health, p.healthAge, err = v.overview.health.Get(v.ctx()); err != nil {
		p.healthProblem = c.problemOf(v, err)
	}
	if p.next, err = loadNext(v); err != nil {
		p.nextProblem = c.problemOf(v, err)
	}
	if p.agenda, _, err = v.overview.agenda.Get(v.ctx()); err != nil {
		p.agendaProblem = c.problemOf(v, err)
	}
	p.zone = cmp.Or(v.zone(), time.UTC)
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Overview")}, p.view())
	return nil
}

func (c *Console) problemOf(v *visit, err error) page.Text {
	problem, _ := c.explain(v, err)
	if errors.Is(err, wpdb.ErrReadOnly) || errors.Is(err, wpdb.ErrAccessDenied) {
		return "The database does not let Bookside read this."
	}
	return problem
}
