package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/api"
	"github.com/bookside/bookside/handlers/console/freetimes"
	"github.com/bookside/bookside/handlers/console/page"
)

// bookingAction is what an administrator can do with a booking: an operation of the API.
type bookingAction struct {
	Name    string // in its path
	Button  page.Text
	Done    page.Text // a sentence
	Reason  string    // the field of the operation that takes a reason; "" for none
	Moves   bool      // to another time, agent or location
	Begun   bool      // only of bookings that have begun
	May     func(status string) bool
	request api.Request // its target is behind the path of the booking
}

var bookingActions = []bookingAction{
	{Name: "approve", Button: "Approve", Done: "The booking was approved.", request: api.Request{Method: http.MethodPost, Target: "/approve"},
		May: func(status string) bool {
			return status != records.StatusApproved && records.TransitionAllowed(status, records.StatusApproved)
		}},
	{Name: "decline", Button: "Decline", Done: "The booking was declined.", Reason: records.MoveReason, request: api.Request{Method: http.MethodPost, Target: "/decline"},
		May: func(status string) bool { return status == records.StatusPending }},
	{Name: "reschedule", Button: "Reschedule", Done: "The booking was rescheduled.", Reason: records.RescheduleReason, Moves: true, request: api.Request{Method: http.MethodPut},
		May: func(status string) bool { return status == records.StatusPending || status == records.StatusApproved }},
	{Name: "no-show", Button: "Mark as a no-show", Done: "The booking was marked as a no-show.", Begun: true,
		request: api.Request{Method: http.MethodPut, Body: map[string]any{"status": records.StatusNoShow}},
		May:     func(status string) bool { return records.TransitionAllowed(status, records.StatusNoShow) }},
	{Name: "cancel", Button: "Cancel the booking", Done: "The booking was cancelled.", Reason: records.MoveReason, request: api.Request{Method: http.MethodPost, Target: "/cancel"},
		May: func(status string) bool {
			return status != records.StatusCancelled && records.TransitionAllowed(status, records.StatusCancelled)
		}},
}

func (a bookingAction) path(id int64) string { return bookingPath(id) + "/" + a.Name }

// fields are what the operation gets of the form.
func (a bookingAction) fields() (names []string) {
	if a.Moves {
		names = append(names, "start_date", "start_time", "agent_id", "location_id")
	}
	if a.Reason != "" {
		names = append(names, a.Reason)
	}
	return append(names, notifyField)
}

// notifyField is the field of the API that asks for the site's messages.
const notifyField = "send_notification"

// actionForm is the form of an action, with the values that were sent, and what the API answered to a rehearsal.
type actionForm struct {
	bookingAction
	page.Form
	booking   bookingPage
	tag       string // of the booking as it is shown
	agents    []slots.Choice
	locations []slots.Choice
	warnings  []string
	possible  *bookingFacts // what the booking would be; nil if that is not known
	conflict  *conflict     // what is in the way of a time; nil for nothing, or if that is not known
	why       page.Text     // a time cannot be had; "" if it can, or if that is not known
}

// bookingFacts are what the console reads of a booking in a response of the API.
type bookingFacts struct {
	Status    string `json:"status"`
	StartDate string `json:"start_date"`
	StartTime string `json:"start_time"`
	EndTime   string `json:"end_time"`
	Agent     struct {
		Name string `json:"full_name"`
	} `json:"agent"`
	Location struct {
		Name string `json:"name"`
	} `json:"location"`
}

// conflict is with which booking a time conflicts, if that is known, and what is free on that day.
type conflict struct {
	BookingID int64    `json:"conflicting_booking_id"`
	Free      []string `json:"available_slots"`
	with      *records.Booking
}

// addChange adds a form that changes bookings or time off. The setting admin.read_only hides it, too.
func (c *Console) addChange(mux *http.ServeMux, path string, show func(*visit) error, again redisplay, submit func(*visit) error) {
	mux.Handle("GET "+path, c.withSession(c.unlessReadOnly(show)))
	mux.Handle("POST "+path, c.withForm(again, submit))
}

// withAction serves the form of an action on the booking of the path.
func (c *Console) withAction(v *visit, serve func(*actionForm) error) error {
	i := slices.IndexFunc(bookingActions, func(a bookingAction) bool { return a.Name == v.r.PathValue("action") })
	if i < 0 {
		return c.noPage(v)
	}
	// The tag is read before the booking: if that changes in between, the tag is too old, and nothing is lost.
	read, err := v.askAsAdmin(api.Request{Method: http.MethodGet, Target: "/bookings/" + url.PathEscape(v.r.PathValue("id"))})
	if err != nil {
		return err
	}
	shown, found, err := c.loadBooking(v)
	if err != nil || !found {
		return err
	}
	if bookingActions[i].Begun && !shown.begun() {
		return c.noPage(v)
	}
	return serve(&actionForm{bookingAction: bookingActions[i], booking: shown, tag: read.Tag})
}

func (c *Console) showAction(v *visit) error {
	return c.withAction(v, func(f *actionForm) error {
		f.Form = page.NewForm(url.Values{})
		b := f.booking.Booking
		f.Values.Set("start_date", string(b.StartDate))
		if b.StartTime != nil {
			f.Values.Set("start_time", page.Clock(int(*b.StartTime)))
		}
		f.Values.Set("agent_id", strconv.FormatInt(b.Agent.ID, 10))
		f.Values.Set("location_id", strconv.FormatInt(domain.ValueOr(b.Location.ID, 0), 10))
		return c.showActionForm(v, http.StatusOK, f)
	})
}

func (c *Console) redisplayAction(v *visit, status int, problem page.Text) error {
	return c.withAction(v, func(f *actionForm) error {
		f.Form = page.Submitted(v.r, problem)
		return c.showActionForm(v, status, f)
	})
}

func (c *Console) showActionForm(v *visit, status int, f *actionForm) (err error) {
	if f.Moves {
		if f.agents, err = slots.Choices(v.ctx(), f.booking.site, domain.AgentResource); err != nil {
			return err
		}
		if f.locations, err = slots.Choices(v.ctx(), f.booking.site, domain.LocationResource); err != nil {
			return err
		}
	}
	c.show(v, status, page.Layout{Title: page.Textf("%s: %s", f.Button, f.booking.title()), Invalid: f.Invalid()}, f.view(csrfToken(v.session)))
	return nil
}

// act rehearses an action, or does what was rehearsed.
func (c *Console) act(v *visit) error {
	return c.withAction(v, func(f *actionForm) error {
		f.Form = page.Submitted(v.r, "")
		id, confirmed := f.booking.ID, f.Value("confirmed") != ""
		answer, err := v.askAsAdmin(f.ask(id, confirmed))
		if err != nil {
			return err
		}
		if confirmed && !answer.Refused() {
			c.log.InfoContext(v.ctx(), "console: booking changed", "booking_id", id, "action", f.Name, "person", v.person)
			return v.redirect(bookingPath(id) + "?done=" + f.Name)
		}
		status := http.StatusOK
		if answer.Refused() {
			status = answer.Status
			err = f.refuse(v, answer)
		} else {
			f.tag, f.warnings = f.Value("tag"), answer.Warnings
			var rehearsed struct {
				Data bookingFacts `json:"data"`
			}
			err = answer.Read(&rehearsed)
			f.possible = &rehearsed.Data
		}
		if err != nil {
			return err
		}
		return c.showActionForm(v, status, f)
	})
}

// ask returns the operation, or its rehearsal.
func (f *actionForm) ask(id int64, confirmed bool) api.Request {
	ask := f.request
	ask.Target = "/bookings/" + strconv.FormatInt(id, 10) + ask.Target
	ask.Tag = f.Value("tag")
	ask.Body = map[string]any{"dry_run": !confirmed}
	maps.Copy(ask.Body, f.request.Body)
	if confirmed {
		ask.Nonce = f.Value("nonce")
	}
	for _, name := range f.fields() {
		ask.Body[name] = f.Value(name)
	}
	ask.Body[notifyField] = f.Value(notifyField) != ""
	return ask
}

// refuse shows why the API refuses the action.
func (f *actionForm) refuse(v *visit, answer *api.Answer) error {
	switch {
	case answer.Stale():
		f.Problem = "Somebody has changed the booking in the meantime. Nothing was saved: look at it again."
	case answer.Error.Code == domain.CodeSlotUnavailable:
		f.conflict = new(conflict)
		if err := json.Unmarshal(answer.Error.Details, f.conflict); err != nil {
			return err
		}
		if err := f.conflict.load(v, f.booking); err != nil {
			return err
		}
		if !f.Moves {
			f.Problem = "Its time is not free. Nothing was saved."
			return nil
		}
		f.Errors = append(f.Errors, page.FieldError{Field: "start_time", Error: "This time is not free."})
		return f.explain(v)
	default:
		answer.Refuse(&f.Form, f.fields()...)
		if f.Moves {
			return f.explain(v)
		}
	}
	return nil
}

// question asks why the booking cannot move to the time, the agent and the location of the form; it is not ok without a day.
func (f *actionForm) question() (q freetimes.Question, ok bool) {
	q = freetimes.Question{Service: f.booking.ServiceID(), Booking: f.booking.ID}
	q.Day, ok = availability.ParseDay(f.Value("start_date"))
	q.Agent, _ = strconv.ParseInt(f.Value("agent_id"), 10, 64)       // otherwise any
	q.Location, _ = strconv.ParseInt(f.Value("location_id"), 10, 64) // likewise
	return q, ok
}

// explain asks the API why the booking cannot move. Without a conflict, only what the whole day lacks explains it.
func (f *actionForm) explain(v *visit) error {
	q, ok := f.question()
	if !ok {
		return nil
	}
	answer, err := v.askAsAdmin(api.Request{Method: http.MethodGet, Target: q.Target()})
	if err != nil || answer.Refused() {
		return err
	}
	var times freetimes.Answer
	if err := answer.Read(&times); err != nil {
		return err
	}
	if f.conflict != nil || times.Data.Explain.Missing != "" {
		f.why = page.Text(times.Why(f.Value("start_time")))
	}
	return nil
}

// load loads the booking with which a time conflicts.
func (c *conflict) load(v *visit, of bookingPage) error {
	if c.BookingID == 0 {
		return nil
	}
	found, err := records.LoadBookings(v.ctx(), of.site, []int64{c.BookingID}, false)
	if err == nil && len(found) > 0 {
		c.with = &found[0]
	}
	return err
}
