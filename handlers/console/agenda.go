package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

const (
	bookingsPath    = Path + "/bookings"
	agendaStylePath = Path + "/agenda.css"
)

func (c *Console) addBookings(mux *http.ServeMux) {
	mux.Handle("GET "+bookingsPath, c.withSession(c.showAgenda))
	mux.Handle("GET "+bookingListPath, c.withSession(c.listBookings))
	mux.Handle("GET "+freeTimesPath, c.withSession(c.showFreeTimes))
	mux.Handle("GET "+bookingsPath+"/{id}", c.withSession(c.showBooking))
	c.addChange(mux, bookingsPath+"/{id}/{action}", c.showAction, c.redisplayAction, c.act)
	c.addTimeOff(mux)
	mux.HandleFunc("GET "+agendaStylePath, page.ServeGridStyle)
}

const (
	agendaColumns  = 6   // agents or locations beside each other
	agendaBookings = 500 // on a page
	agendaTimeOff  = 100 // on a page
)

// agendaChoice is what the agenda shows, as its address says it: agents or locations on a day, or one of them for a week.
type agendaChoice struct {
	Day  availability.Day
	Week bool
	Of   domain.Resource
	ID   int64 // in a week, whose; 0 for the first
	Page int   // of the columns of a day
}

func readAgendaChoice(query url.Values, today availability.Day) agendaChoice {
	choice := agendaChoice{Day: today, Week: query.Get("view") == "week", Of: domain.AgentResource}
	if day, ok := availability.ParseDay(query.Get("day")); ok && day < availability.LastDay-7 {
		choice.Day = day
	}
	if query.Get("by") == "location" {
		choice.Of = domain.LocationResource
	}
	choice.ID, _ = strconv.ParseInt(query.Get("id"), 10, 64) // otherwise the first
	choice.Page, _ = strconv.Atoi(query.Get("page"))         // likewise
	return choice
}

// path is the address of the choice.
func (a agendaChoice) path() string {
	query := url.Values{"day": {a.Day.String()}}
	if a.Week {
		query.Set("view", "week")
	}
	if a.Of == domain.LocationResource {
		query.Set("by", "location")
	}
	if a.ID != 0 {
		query.Set("id", strconv.FormatInt(a.ID, 10))
	}
	if a.Page > 0 {
		query.Set("page", strconv.Itoa(a.Page))
	}
	return bookingsPath + "?" + query.Encode()
}

// days returns the first and the last day.
func (a agendaChoice) days() (from, to availability.Day) {
	if !a.Week {
		return a.Day, a.Day
	}
	monday := a.Day - availability.Day(a.Day.Weekday()-1)
	return monday, monday + 6
}

// agendaPage is the agenda with its columns.
type agendaPage struct {
	agendaChoice
	today    availability.Day
	all      []slots.Choice // agents or locations
	labels   slots.Labels   // nil if no service has time off
	grid     page.Grid
	more     bool
	noHolds  string // the table of holds, if it is missing
	nowhere  int    // bookings of the days that are in no column
	readOnly bool   // see Site
}

func (c *Console) showAgenda(v *visit) error {
	site, err := v.site()
	if err != nil {
		return err
	}
	p := agendaPage{today: availability.MomentOf(site.LocalNow()).Day, readOnly: v.ReadOnly}
	p.agendaChoice = readAgendaChoice(v.r.URL.Query(), p.today)
	from, to := p.days()
	if p.all, err = slots.TimetableColumns(v.ctx(), site, p.Of, from, to); err != nil {
		return err
	}
	shown := p.chosen()
	query := slots.TimetableQuery{Of: p.Of, From: from, To: to, Limit: agendaBookings}
	for _, choice := range shown {
		query.IDs = append(query.IDs, choice.ID)
	}
	table, err := slots.LoadTimetable(v.ctx(), site, query)
	if err != nil {
		return err
	}
	if table.NoHolds {
		p.noHolds = site.DB.FullName(wpdb.Holds)
	}
	if p.nowhere, err = slots.WithoutColumn(v.ctx(), site, p.Of, from, to); err != nil {
		return err
	}
	off, err := timeoff.List(v.ctx(), site, timeoff.Filter{Paging: session.Paging{Page: 1, PerPage: agendaTimeOff}, From: &from, To: &to})
	if err != nil {
		return err
	}
	p.more, p.labels = table.More, c.labels(v, slices.ContainsFunc(off.Records, func(t timeoff.TimeOff) bool { return t.Service != 0 }))
	for _, choice := range shown {
		for day := from; day <= to; day++ {
			p.grid.Columns = append(p.grid.Columns, p.column(site, choice, day, table, off.Records))
		}
	}
	c.show(v, http.StatusOK, page.Layout{Title: p.title(), Style: agendaStylePath}, p.view())
	return nil
}

// chosen returns the agents or locations of the page.
func (p *agendaPage) chosen() []slots.Choice {
	if !p.Week {
		first := min(max(p.Page, 0), max(len(p.all)-1, 0)/agendaColumns) * agendaColumns
		return p.all[first:min(first+agendaColumns, len(p.all))]
	}
	i := max(slices.IndexFunc(p.all, func(c slots.Choice) bool { return c.ID == p.ID }), 0)
	return p.all[i:min(i+1, len(p.all))]
}

func (p *agendaPage) column(site *session.Session, of slots.Choice, day availability.Day, table slots.Timetable, off []timeoff.TimeOff) page.Column {
	other := p.agendaChoice
	other.Week, other.Day, other.ID, other.Page = !p.Week, day, of.ID, 0
	column := page.Column{Title: page.Name(of.Name), Path: other.path(), Today: day == p.today}
	if p.Week {
		other.ID = 0
		column.Title, column.Path = words.ShortDay(day), other.path()
	}
	from, _ := p.days()
	for _, open := range table.Hours[of.ID][day-from].Open {
		column.Open = append(column.Open, page.Span{From: int(open.Start), To: int(open.End)})
	}
	is := func(agent, location int64) bool {
		return p.Of == domain.AgentResource && agent == of.ID || p.Of == domain.LocationResource && location == of.ID
	}
	for i := range table.Bookings {
		b := &table.Bookings[i]
		start, end, ok := records.Span(site, *b)
		if ok && is(b.Agent.ID, b.LocationID()) {
			item := p.booking(site, *b, table.Overlapping[b.ID])
			item.Span = words.MinutesOn(day, start, end)
			column.Add(item)
		}
	}
	for _, hold := range table.Holds {
		if is(hold.Agent, hold.Location) {
			column.Add(page.Item{Kind: "hold", Content: taken(page.Text("Held for a customer")), Span: words.MinutesOn(day, hold.Start, site.Zone.Clock().StoredEnd(hold.Start, hold.End, hold.Duration))})
		}
	}
	for _, event := range table.Events {
		if event.Day == day && event.Agent == of.ID {
			column.Add(page.Item{Kind: "off", Behind: true, Content: taken(page.Text("Event in the agent's calendar")), Span: page.Span{From: int(event.Start), To: int(event.End)}})
		}
	}
	for _, t := range off {
		own := t.Agent
		if p.Of == domain.LocationResource {
			own = t.Location
		}
		if t.From > day || t.To < day || own != 0 && own != of.ID {
			continue
		}
		span := page.Span{To: page.DayMinutes}
		if t.Hours != nil {
			span = page.Span{From: int(t.Hours.Start), To: int(t.Hours.End)}
		}
		column.Add(page.Item{Kind: "off", Behind: true, Content: p.timeOff(t), Span: span})
	}
	return column
}
