package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
	"github.com/bookside/bookside/wpdb"
)

const calendarsPath = Path + "/calendars"

func (c *Console) addCalendars(mux *http.ServeMux) {
	mux.Handle("GET "+calendarsPath, c.withSession(c.listCalendars))
	mux.Handle("GET "+calendarsPath+"/new", c.withSession(c.showNewCalendar))
	mux.Handle("POST "+calendarsPath+"/new", c.withForm(c.redisplayNewCalendar, c.createCalendar))
	mux.Handle("GET "+calendarsPath+"/{id}/revoke", c.withSession(func(v *visit) error { return c.showRevokeCalendar(v, http.StatusOK, "") }))
	mux.Handle("POST "+calendarsPath+"/{id}/revoke", c.withForm(c.showRevokeCalendar, c.revokeCalendar))
}

// listCalendars shows all calendars: those in use first, the newest first.
func (c *Console) listCalendars(v *visit) error {
	all, err := v.Keys.Calendars(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no calendars
		return err
	}
	slices.Reverse(all)
	rows := make([]keyRow, len(all))
	labels := c.labels(v, len(all) > 0)
	for i, key := range all {
		rows[i] = c.row(v, key)
		rows[i].Labels = labels
	}
	slices.SortStableFunc(rows, func(a, b keyRow) int { return cmp.Compare(ended(a), ended(b)) })
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Calendars")}, calendarsView(rows))
	return nil
}

// ended returns 1 for a key that is no longer in use.
func ended(r keyRow) int {
	if r.Status == keys.Active {
		return 0
	}
	return 1
}

// withCalendar calls serve with the calendar in the path, unless that is revoked.
func (c *Console) withCalendar(v *visit, serve func(keys.Key) error) error {
	all, err := v.Keys.Calendars(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	for _, key := range all {
		if strconv.FormatInt(key.ID, 10) == v.r.PathValue("id") && !key.Revoked {
			return serve(key)
		}
	}
	c.showMessage(v, http.StatusNotFound, "There is no such calendar", "Look for it in the list of calendars.")
	return nil
}

func (c *Console) showRevokeCalendar(v *visit, status int, problem page.Text) error {
	return c.withCalendar(v, func(key keys.Key) error {
		c.show(v, status, page.Layout{Title: page.Textf("Revoke calendar %d?", key.ID), Invalid: problem != ""}, revokeCalendarView(key, csrfToken(v.session), problem))
		return nil
	})
}

func (c *Console) revokeCalendar(v *visit) error {
	return c.withCalendar(v, func(key keys.Key) error {
		if _, err := v.Keys.RevokeCalendar(v.ctx(), key.ID); err != nil {
			problem, status := c.explain(v, err)
			return c.showRevokeCalendar(v, status, problem)
		}
		c.log.InfoContext(v.ctx(), "console: calendar revoked", "key_id", key.ID)
		return v.redirect(calendarsPath)
	})
}

const newCalendarTitle page.Text = "New calendar"

// calendarForm is the form of a new calendar as submitted.
type calendarForm struct{ page.Form }

func (c *Console) showNewCalendar(v *visit) error {
	return c.showCalendarForm(v, http.StatusOK, &calendarForm{page.NewForm(url.Values{"details": {string(keys.Busy)}})})
}

func (c *Console) redisplayNewCalendar(v *visit, status int, problem page.Text) error {
	return c.showCalendarForm(v, status, &calendarForm{page.Submitted(v.r, problem)})
}

func (c *Console) showCalendarForm(v *visit, status int, f *calendarForm) error {
	_, names, err := v.named()
	if err != nil {
		return err
	}
	c.show(v, status, page.Layout{Title: newCalendarTitle, Invalid: f.Invalid()}, f.view(csrfToken(v.session), names))
	return nil
}

// setSubject sets whose calendar it is, and its name if the form has none.
func (f *calendarForm) setSubject(n *keys.NewKey, names slots.Labels) {
	resource, id, _ := strings.Cut(f.Value("subject"), " ")
	of := domain.Resource(resource)
	number, err := keys.ParseID(id)
	subject, exists := names[of][number]
	if err != nil || !exists || !slices.Contains(calendarSubjects, of) {
		f.Errors = append(f.Errors, page.FieldError{Field: "subject", Error: "Choose an agent or a location."})
		return
	}
	n.Scope = keys.CalendarScope(of, number)
	n.Name = cmp.Or(n.Name, keys.CutName(subject.Name, resource+" "+id))
}

func (c *Console) createCalendar(v *visit) error {
	_, names, err := v.named()
	if err != nil {
		return err
	}
	f := &calendarForm{page.Submitted(v.r, "")}
	n := keys.NewKey{Kind: keys.Calendar, CreatedBy: v.creator()}
	terms.Read(c.terms(v), &f.Form, nil, keys.CalendarTerms, &n)
	f.setSubject(&n, names)
	if len(f.Errors) > 0 {
		return c.showCalendarForm(v, http.StatusUnprocessableEntity, f)
	}
	secret, key, err := createOnce(v, f.Value("nonce"), n)
	switch {
	case errors.Is(err, errSubmitted):
		c.showMessage(v, http.StatusConflict, "This form was already submitted", "Its calendar was made and its address shown then. If you did not copy it, revoke it and make another one.")
		return nil
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNewCalendar(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: calendar created", "key_id", key.ID)
	c.show(v, http.StatusOK, page.Layout{Title: page.Textf("Calendar %d was made", key.ID)}, calendarAddressView(key, c.addresses(v), secret))
	return nil
}
