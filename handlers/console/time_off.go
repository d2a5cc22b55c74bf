package console

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/lists"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/api"
	"github.com/bookside/bookside/handlers/console/page"
)

const timeOffPath = bookingsPath + "/time-off"

func (c *Console) addTimeOff(mux *http.ServeMux) {
	mux.Handle("GET "+timeOffPath, c.withSession(c.listTimeOff))
	c.addChange(mux, timeOffPath+"/new", c.showNewTimeOff, c.redisplayNewTimeOff, c.createTimeOff)
	c.addChange(mux, timeOffPath+"/{id}/delete", c.showDeleteTimeOff, c.redisplayDeleteTimeOff, c.deleteTimeOff)
}

// shownTimeOff is how much time off the list shows.
const shownTimeOff = 100

// timeOffList is the time off that has not ended.
type timeOffList struct {
	site     *session.Session
	labels   slots.Labels
	found    lists.Page[timeoff.TimeOff]
	done     page.Phrase // what was just done; nil for nothing
	readOnly bool        // see Site
}

func (c *Console) listTimeOff(v *visit) error {
	site, labels, err := v.named()
	if err != nil {
		return err
	}
	l := timeOffList{site: site, labels: labels, readOnly: v.ReadOnly}
	l.done = map[string]page.Phrase{"entered": page.Text("The time off was entered."), "ended": page.Text("The time off was ended.")}[v.r.URL.Query().Get("done")]
	today := availability.MomentOf(site.LocalNow()).Day
	if l.found, err = timeoff.List(v.ctx(), site, timeoff.Filter{Paging: session.Paging{Page: 1, PerPage: shownTimeOff}, From: &today}); err != nil {
		return err
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Time off")}, l.view())
	return nil
}

// named returns a session, and the names of the site's agents, services and locations.
func (v *visit) named() (*session.Session, slots.Labels, error) {
	site, err := v.site()
	if err != nil {
		return nil, nil, err
	}
	labels, err := slots.LoadLabels(v.ctx(), site)
	return site, labels, err
}

// timeOffForm is the form of new time off, with the values that were sent, and what the API answered to a rehearsal.
type timeOffForm struct {
	page.Form
	site     *session.Session
	labels   slots.Labels
	possible *timeOffFacts     // what would be entered; nil if that is not known
	bookings []records.Booking // in it, which stay
	warnings []string
}

// timeOffFacts are what the console reads of time off in a response of the API.
type timeOffFacts struct {
	AgentID    int64  `json:"agent_id"`
	ServiceID  int64  `json:"service_id"`
	LocationID int64  `json:"location_id"`
	Date       string `json:"date"`
	DateTo     string `json:"date_to"`
	StartTime  string `json:"start_time"`
	EndTime    string `json:"end_time"`
	Note       string `json:"note"`
}

// timeOffFields are the fields of POST /time-off.
var timeOffFields = []string{"agent_id", "service_id", "location_id", "date", "date_to", "start_time", "end_time", "note"}

func (c *Console) showNewTimeOff(v *visit) error {
	values := url.Values{}
	for _, name := range []string{"agent_id", "location_id", "date"} {
		values.Set(name, v.r.URL.Query().Get(name))
	}
	return c.showTimeOffForm(v, http.StatusOK, &timeOffForm{Form: page.NewForm(values)})
}

func (c *Console) redisplayNewTimeOff(v *visit, status int, problem page.Text) error {
	return c.showTimeOffForm(v, status, &timeOffForm{Form: page.Submitted(v.r, problem)})
}

func (c *Console) showTimeOffForm(v *visit, status int, f *timeOffForm) (err error) {
	if f.site, f.labels, err = v.named(); err != nil {
		return err
	}
	c.show(v, status, page.Layout{Title: page.Text("New time off"), Invalid: f.Invalid()}, f.view(csrfToken(v.session)))
	return nil
}

// createTimeOff rehearses time off, or enters what was rehearsed.
func (c *Console) createTimeOff(v *visit) error {
	f := &timeOffForm{Form: page.Submitted(v.r, "")}
	confirmed := f.Value("confirmed") != ""
	answer, err := v.askAsAdmin(f.ask(confirmed))
	switch {
	case err != nil:
		return err
	case answer.Refused():
		answer.Refuse(&f.Form, timeOffFields...)
		if answer.Error.Code == domain.CodeTimeOffExists { // its message has an id, which no page shows
			f.Problem = "This time off is entered already: look for it in the list."
		}
		return c.showTimeOffForm(v, answer.Status, f)
	case confirmed:
		c.log.InfoContext(v.ctx(), "console: time off entered", "person", v.person)
		return v.redirect(timeOffPath + "?done=entered")
	}
	if err := f.rehearsed(v, answer); err != nil {
		return err
	}
	return c.showTimeOffForm(v, http.StatusOK, f)
}

// ask returns the operation, or its rehearsal.
func (f *timeOffForm) ask(confirmed bool) api.Request {
	ask := api.Request{Method: http.MethodPost, Target: "/time-off", Body: map[string]any{"dry_run": !confirmed}}
	if confirmed {
		ask.Nonce = f.Value("nonce")
	}
	for _, name := range timeOffFields {
		if value := f.Value(name); value != "" {
			ask.Body[name] = value
		}
	}
	if ask.Body["end_time"] == "00:00" {
		ask.Body["end_time"] = "24:00" // browsers have no such time
	}
	return ask
}

func (f *timeOffForm) rehearsed(v *visit, answer *api.Answer) error {
	var off struct {
		Data       timeOffFacts `json:"data"`
		BookingIDs []int64      `json:"booking_ids"`
	}
	if err := answer.Read(&off); err != nil {
		return err
	}
	f.possible, f.warnings = &off.Data, answer.Warnings
	site, err := v.site()
	if err == nil && len(off.BookingIDs) > 0 {
		f.bookings, err = records.LoadBookings(v.ctx(), site, off.BookingIDs, false)
	}
	return err
}

// timeOffEnd asks whether time off is to end.
type timeOffEnd struct {
	timeoff.TimeOff
	page.Form
	labels slots.Labels
	tag    string
}

// withTimeOff serves the time off of the path.
func (c *Console) withTimeOff(v *visit, serve func(*timeOffEnd) error) error {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return c.noTimeOff(v)
	}
	read, err := v.askAsAdmin(api.Request{Method: http.MethodGet, Target: timeOffTarget(id)})
	if err != nil {
		return err
	}
	site, labels, err := v.named()
	if err != nil {
		return err
	}
	off, err := timeoff.Load(v.ctx(), site, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return c.noTimeOff(v)
	}
	if err != nil {
		return err
	}
	return serve(&timeOffEnd{TimeOff: off, labels: labels, tag: read.Tag})
}

func timeOffTarget(id int64) string { return "/time-off/" + strconv.FormatInt(id, 10) }

func (c *Console) noTimeOff(v *visit) error {
	c.showMessage(v, http.StatusNotFound, "There is no such time off", "Somebody may have ended it.")
	return nil
}

func (c *Console) showDeleteTimeOff(v *visit) error {
	return c.withTimeOff(v, func(e *timeOffEnd) error {
		e.Form = page.NewForm(nil)
		return c.showTimeOffEnd(v, http.StatusOK, e)
	})
}

func (c *Console) redisplayDeleteTimeOff(v *visit, status int, problem page.Text) error {
	return c.withTimeOff(v, func(e *timeOffEnd) error {
		e.Form = page.Submitted(v.r, problem)
		return c.showTimeOffEnd(v, status, e)
	})
}

func (c *Console) showTimeOffEnd(v *visit, status int, e *timeOffEnd) error {
	c.show(v, status, page.Layout{Title: page.Text("End this time off?"), Invalid: e.Invalid()}, e.view(csrfToken(v.session)))
	return nil
}

func (c *Console) deleteTimeOff(v *visit) error {
	f := page.Submitted(v.r, "")
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return c.noTimeOff(v)
	}
	answer, err := v.askAsAdmin(api.Request{Method: http.MethodDelete, Target: timeOffTarget(id), Tag: f.Value("tag"), Nonce: f.Value("nonce")})
	switch {
	case err != nil:
		return err
	case answer.Stale():
		return c.redisplayDeleteTimeOff(v, answer.Status, "Somebody has changed this time off in the meantime. Nothing was deleted: look at it again.")
	case answer.Refused():
		return c.redisplayDeleteTimeOff(v, answer.Status, page.Text(page.Sentence(answer.Error.Message)))
	}
	c.log.InfoContext(v.ctx(), "console: time off ended", "time_off_id", id, "person", v.person)
	return v.redirect(timeOffPath + "?done=ended")
}
