package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/shared"
	"github.com/bookside/bookside/wpdb"
)

// How long visitors share the contents of the overview. Examining a site takes some hundred statements.
const (
	healthLife  = time.Minute
	agendaLife  = time.Minute
	figuresLife = 10 * time.Second
)

// overview holds what visitors of the first page share.
type overview struct {
	health  *shared.Value[health]
	figures *shared.Value[daystats.Day]
	agenda  *shared.Value[agenda]
}

// health is the state of the site and of its pending work.
type health struct {
	diagnose.Report
	rating []diagnose.Rating // nil if pending work cannot be examined
}

// agenda has the bookings of the days around today, and those that overlap.
type agenda struct {
	slots.Agenda
	site     *session.Session // as it was read
	next     []records.Booking
	moreNext bool // whether there are more than next on these days
	overlaps []overlap
	more     int // number of overlaps not shown
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
	return h, nil
}

func (s *Site) day(ctx context.Context) (daystats.Day, error) { return s.Figures.Day(ctx) }

const (
	agendaDays    = 30 // before and after today
	nextDays      = 2  // today and tomorrow
	shownNext     = 200
	shownOverlaps = 20 // pairs
)

func (s *Site) agenda(ctx context.Context) (agenda, error) {
	return session.ServeBackground(ctx, s.Platform, loadAgenda)
}

func loadAgenda(ctx context.Context, site *session.Session) (agenda, error) {
	counted, err := slots.LoadAgenda(ctx, site, agendaDays)
	if err != nil {
		return agenda{}, err
	}
	a := agenda{Agenda: counted, site: site}
	if a.next, a.moreNext, err = slots.NextBookings(ctx, site, nextDays, shownNext); err != nil {
		return a, err
	}
	report, err := slots.FindConflicts(ctx, site)
	if err != nil || len(report.Conflicts) == 0 {
		return a, err
	}
	shown := report.Conflicts[:min(len(report.Conflicts), shownOverlaps)]
	a.more = len(report.Conflicts) - len(shown)
	bookings, err := slots.ConflictingBookings(ctx, site, shown)
	if err != nil {
		return a, err
	}
	address, err := slots.Address(ctx, site)
	if err != nil {
		return a, err
	}
	a.overlaps = overlapsOf(shown, bookings, report.Assets, address)
	return a, nil
}

// overlap is a group of an agent's or an asset's bookings on a day that overlap.
type overlap struct {
	Whose, Date string
	BuffersOnly bool
	Start, End  int // full hours around all of them, in minutes after midnight
	Bookings    []overlappingBooking
}

type overlappingBooking struct {
	slots.ConflictingBooking
	ID       int64
	From, To int    // minutes after midnight of the overlap's day
	URL      string // on the site; "" if its address is not known
}

// overlapsOf groups pairs by agent or asset, and by day, in the order of the pairs.
func overlapsOf(pairs []slots.Conflict, bookings map[int64]slots.ConflictingBooking, assets map[int64]string, address string) []overlap {
	type place struct {
		agent, asset int64
		date         string
	}
	var all []overlap
	at := map[place]int{}
	for _, pair := range pairs {
		first := bookings[pair.First]
		key := place{pair.Agent, pair.Asset, first.Date}
		if pair.Asset != 0 {
			key.agent = 0
		}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, overlap{Whose: cmp.Or(assets[pair.Asset], first.Agent), Date: first.Date, BuffersOnly: true})
		}
		o := &all[i]
		o.BuffersOnly = o.BuffersOnly && pair.BuffersOnly
		for _, id := range []int64{pair.First, pair.Second} {
			if !slices.ContainsFunc(o.Bookings, func(b overlappingBooking) bool { return b.ID == id }) {
				o.Bookings = append(o.Bookings, onDay(o.Date, id, bookings[id], address))
			}
		}
	}
	for i := range all {
		o := &all[i]
		slices.SortFunc(o.Bookings, func(a, b overlappingBooking) int { return cmp.Or(a.From-b.From, int(a.ID-b.ID)) })
		o.Start, o.End = o.Bookings[0].From, o.Bookings[0].To
		for _, b := range o.Bookings {
			o.Start, o.End = min(o.Start, b.From), max(o.End, b.To)
		}
		o.Start, o.End = o.Start/60*60, (o.End+59)/60*60
	}
	return all
}

// onDay places a booking on the timeline of a day, which extends past midnight.
func onDay(date string, id int64, b slots.ConflictingBooking, address string) overlappingBooking {
	placed := overlappingBooking{ConflictingBooking: b, ID: id, From: b.Start, To: b.End}
	day, err := time.Parse(time.DateOnly, date)
	begin, failed := time.Parse(time.DateOnly, b.Date)
	if err == nil && failed == nil {
		later := int(begin.Sub(day)/(24*time.Hour)) * page.DayMinutes
		placed.From, placed.To = b.Start+later, b.End+later
	}
	if placed.To <= placed.From {
		placed.To += page.DayMinutes // it ends after midnight
	}
	if address != "" {
		placed.URL = slots.BookingURL(address, id)
	}
	return placed
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
	if p.agenda, p.agendaAge, err = v.overview.agenda.Get(v.ctx()); err != nil {
		p.agendaProblem = c.problemOf(v, err)
	}
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
