package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/page"
)

const (
	bookingsPath    = Path + "/bookings"
	agendaStylePath = Path + "/agenda.css"
)

func (c *Console) addBookings(mux *http.ServeMux) {
	mux.Handle("GET "+bookingsPath, c.withSession(c.showAgenda))
	mux.Handle("GET "+bookingListPath, c.withSession(c.listBookings))
	mux.Handle("GET "+bookingsPath+"/{id}", c.withSession(c.showBooking))
	mux.HandleFunc("GET "+agendaStylePath, serveAgendaStyle)
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
	today      availability.Day
	zone       session.Zone
	all        []slots.Choice // agents or locations
	columns    []agendaColumn
	start, end int // full hours around everything, in minutes after midnight
	more       bool
}

// agendaColumn is a day of an agent or a location.
type agendaColumn struct {
	Title, Path string // the path leads to its week or day
	Today       bool
	Open        []availability.Hours
	Items       []agendaItem // by start
	Lanes       int          // beside each other
}

// agendaItem is something that takes time in a column.
type agendaItem struct {
	Kind     string // the class: booking, hold or off
	From, To int    // minutes after midnight of the column's day
	Lane     int    // from 1; 0 for the whole width
	Booking  *records.Booking
	Begins   time.Time // of a booking
	Overlaps bool
	Text     string // of what is no booking
}

func (c *Console) showAgenda(v *visit) error {
	site, err := v.Platform.Session(v.ctx())
	if err != nil {
		return err
	}
	p := agendaPage{today: availability.MomentOf(site.LocalNow()).Day, zone: site.Zone}
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
	off, err := timeoff.List(v.ctx(), site, timeoff.Filter{Paging: session.Paging{Page: 1, PerPage: agendaTimeOff}, From: &from, To: &to})
	if err != nil {
		return err
	}
	p.more = table.More
	for _, choice := range shown {
		for day := from; day <= to; day++ {
			p.columns = append(p.columns, p.column(site, choice, day, table, off.Records))
		}
	}
	p.limitHours()
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

func (p *agendaPage) column(site *session.Session, of slots.Choice, day availability.Day, table slots.Timetable, off []timeoff.TimeOff) agendaColumn {
	other := p.agendaChoice
	other.Week, other.Day, other.ID, other.Page = !p.Week, day, of.ID, 0
	column := agendaColumn{Title: of.Name, Path: other.path(), Today: day == p.today}
	if p.Week {
		other.ID = 0
		column.Title, column.Path = shortDay(day), other.path()
	}
	from, _ := p.days()
	column.Open = table.Hours[of.ID][day-from].Open
	is := func(agent, location int64) bool {
		return p.Of == domain.AgentResource && agent == of.ID || p.Of == domain.LocationResource && location == of.ID
	}
	for i := range table.Bookings {
		b := &table.Bookings[i]
		start, end, ok := records.Span(site, *b)
		if !ok || !is(b.Agent.ID, b.LocationID()) {
			continue
		}
		item := agendaItem{Kind: "booking", Booking: b, Overlaps: table.Overlapping[b.ID]}
		item.Begins, _ = records.Start(site, *b)
		column.add(item, day, start, end)
	}
	for _, hold := range table.Holds {
		if is(hold.Agent, hold.Location) {
			column.add(agendaItem{Kind: "hold", Text: "Held for a customer"}, day, hold.Start, site.Zone.Clock().StoredEnd(hold.Start, hold.End, hold.Duration))
		}
	}
	for _, event := range table.Events {
		if event.Day == day && event.Agent == of.ID {
			column.add(agendaItem{Kind: "off", Text: "Event in the agent's calendar"}, day, availability.Moment{Day: day, Minutes: event.Start}, availability.Moment{Day: day, Minutes: event.End})
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
		hours := availability.Hours{End: dayMinutes}
		if t.Hours != nil {
			hours = *t.Hours
		}
		column.add(agendaItem{Kind: "off", Text: timeOffText(t)}, day, availability.Moment{Day: day, Minutes: hours.Start}, availability.Moment{Day: day, Minutes: hours.End})
	}
	column.arrange()
	return column
}

// timeOffText says what time off is for, and why.
func timeOffText(t timeoff.TimeOff) string {
	text := "Time off"
	switch {
	case t.Service != 0:
		text += fmt.Sprintf(" of service %d", t.Service)
	case t.Agent == 0 && t.Location == 0:
		text = "Closed"
	}
	if t.Note != "" {
		text += ": " + t.Note
	}
	return text
}

// add adds the part of an item that is on the day.
func (c *agendaColumn) add(item agendaItem, day availability.Day, start, end availability.Moment) {
	item.From = int(start.Day-day)*dayMinutes + int(start.Minutes)
	item.To = int(end.Day-day)*dayMinutes + int(end.Minutes)
	if item.To <= 0 || item.From >= dayMinutes {
		return
	}
	item.From, item.To = max(item.From, 0), min(item.To, dayMinutes)
	c.Items = append(c.Items, item)
}

// agendaLanes is how many items are shown beside each other; more cover each other.
const agendaLanes = 6

// arrange puts bookings and holds at the same time into lanes.
func (c *agendaColumn) arrange() {
	slices.SortStableFunc(c.Items, func(a, b agendaItem) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	c.Lanes = 1
	var ends []int      // of the lanes
	var group, last int // where those that overlap begin, and when they end
	for i := range c.Items {
		item := &c.Items[i]
		if item.Kind == "off" {
			continue
		}
		if item.From >= last {
			group, ends = i, nil
		}
		lane := slices.IndexFunc(ends, func(end int) bool { return end <= item.From })
		if lane < 0 {
			lane, ends = len(ends), append(ends, 0)
		}
		ends[lane], last = item.To, max(last, item.To)
		if len(ends) == 1 {
			continue // the whole width, unless others follow
		}
		for j := group; j < i; j++ {
			if c.Items[j].Kind != "off" {
				c.Items[j].Lane = max(c.Items[j].Lane, 1)
			}
		}
		item.Lane = min(lane+1, agendaLanes)
		c.Lanes = max(c.Lanes, item.Lane)
	}
}

// limitHours sets the first and the last hour that are shown: those around working hours and bookings.
func (p *agendaPage) limitHours() {
	p.start, p.end = dayMinutes, 0
	include := func(from, to int) { p.start, p.end = min(p.start, from), max(p.end, min(to, dayMinutes)) }
	for _, column := range p.columns {
		for _, open := range column.Open {
			include(int(open.Start), int(open.End))
		}
		for _, item := range column.Items {
			if item.Kind != "off" {
				include(item.From, item.To)
			}
		}
	}
	if p.start >= p.end {
		p.start, p.end = 8*60, 18*60
	}
	p.start, p.end = p.start/60*60, (p.end+59)/60*60
}

func dayTime(day availability.Day) time.Time {
	year, month, number := day.Date()
	return time.Date(year, month, number, 0, 0, 0, 0, time.UTC)
}

func longDay(day availability.Day) string  { return dayTime(day).Format("Monday, 2 January 2006") }
func shortDay(day availability.Day) string { return dayTime(day).Format("Mon 2 Jan") }

// agendaStep is the height of a row of the agenda, in minutes.
const agendaStep = 5

// agendaStyle places items by classes: the page may have no styles in elements.
var agendaStyle = func() string {
	var css strings.Builder
	css.WriteString("@media (min-width: 48.01rem) {\n")
	for row := range dayMinutes / agendaStep {
		fmt.Fprintf(&css, ".from-%d{grid-row-start:%d}.for-%d{grid-row-end:span %d}\n", row, row+1, row+1, row+1)
	}
	for n := 1; n <= max(agendaLanes, agendaColumns, 7); n++ {
		fmt.Fprintf(&css, ".agenda .lane-%d{grid-column:%d}.lanes-%d{grid-template-columns:repeat(%d,minmax(0,1fr))}.columns-%d{grid-template-columns:3.25rem repeat(%d,minmax(8.5rem,1fr))}\n", n, n, n, n, n, n)
	}
	css.WriteString("}\n")
	return css.String()
}()

func serveAgendaStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "agenda.css", time.Time{}, strings.NewReader(agendaStyle))
}
