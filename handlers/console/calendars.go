package console

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/bookings"
	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/wpdb"
)

const calendarsPath = Path + "/calendars"

func (c *Console) addCalendars(mux *http.ServeMux) {
	mux.Handle("GET "+calendarsPath, c.withSession(c.listCalendars))
	mux.Handle("GET "+calendarsPath+"/new", c.withSession(c.showNewCalendar))
	mux.Handle("POST "+calendarsPath+"/new", c.withForm(c.redisplayNewCalendar, c.createCalendar))
	mux.Handle("GET "+calendarsPath+"/{id}/revoke", c.withSession(func(v *visit) error { return c.showRevokeCalendar(v, http.StatusOK, "") }))
	mux.Handle("POST "+calendarsPath+"/{id}/revoke", c.withForm(c.showRevokeCalendar, c.revokeCalendar))
}

// listCalendars shows all calendars: those in use first, the newest on top.
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
	c.show(v, http.StatusOK, layout{Title: "Calendars"}, calendarsView(rows))
	return nil
}

// ended returns 1 for what is no longer in use.
func ended(r keyRow) int {
	if r.Status == keys.Active {
		return 0
	}
	return 1
}

// withCalendar calls serve with the calendar in the path, unless it is revoked.
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

func (c *Console) showRevokeCalendar(v *visit, status int, problem string) error {
	return c.withCalendar(v, func(key keys.Key) error {
		c.show(v, status, layout{Title: "Revoke calendar " + strconv.FormatInt(key.ID, 10) + "?", Invalid: problem != ""}, revokeCalendarView(key, csrfToken(v.session), problem))
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
		http.Redirect(v.w, v.r, calendarsPath, http.StatusSeeOther)
		return nil
	})
}

const newCalendarTitle = "New calendar"

// calendarForm is the form of a new calendar as typed.
type calendarForm struct {
	keyForm // its errors
	Values  url.Values
}

func (f *calendarForm) value(name string) string { return strings.TrimSpace(f.Values.Get(name)) }

func (c *Console) showNewCalendar(v *visit) error {
	return c.showCalendarForm(v, http.StatusOK, &calendarForm{Values: url.Values{"of": {string(domain.AgentResource)}, "details": {string(keys.Busy)}}})
}

func (c *Console) redisplayNewCalendar(v *visit, status int, problem string) error {
	return c.showCalendarForm(v, status, &calendarForm{keyForm{Problem: problem}, v.r.PostForm})
}

func (c *Console) showCalendarForm(v *visit, status int, f *calendarForm) error {
	f.Nonce = rand.Text()
	c.show(v, status, layout{Title: newCalendarTitle, Invalid: f.invalid()}, f.view(csrfToken(v.session)))
	return nil
}

// parseCalendar parses the form and fills f.Errors.
func (c *Console) parseCalendar(v *visit, f *calendarForm) (of domain.Resource, id int64, n keys.NewKey) {
	now := c.now()
	of = domain.AgentResource
	if f.value("of") == string(domain.LocationResource) {
		of = domain.LocationResource
	}
	id = parseField(&f.keyForm, "subject", f.value("subject"), calendarSubject(c, v, of))
	return of, id, keys.NewKey{
		Kind: keys.Calendar, Scope: keys.CalendarScope(of, id),
		Details:   parseField(&f.keyForm, "details", f.value("details"), keys.ParseDetails),
		Name:      parseField(&f.keyForm, "name", f.value("name"), optional(keys.ParseName)),
		ExpiresAt: parseField(&f.keyForm, "expires", f.value("expires"), optional(func(text string) (*time.Time, error) { return keys.ParseExpiry(text, now) })),
	}
}

// calendarSubject parses one id or name of an agent or a location.
func calendarSubject(c *Console, v *visit, of domain.Resource) func(string) (int64, error) {
	return func(text string) (int64, error) {
		if _, err := keys.ParseChoice(text); err != nil {
			return 0, err
		}
		return choices(c, v, of, keys.ParseID)(text)
	}
}

func (c *Console) createCalendar(v *visit) error {
	f := &calendarForm{Values: v.r.PostForm}
	of, id, n := c.parseCalendar(v, f)
	if len(f.Errors) == 0 {
		name, err := c.calendarName(v, of, id)
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			f.Errors = append(f.Errors, fieldError{"subject", "There is no " + string(of) + " with this id."})
		case err != nil:
			problem, status := c.explain(v, err)
			return c.redisplayNewCalendar(v, status, problem)
		}
		n.Name, n.CreatedBy = cmp.Or(n.Name, name), v.creator()
	}
	if len(f.Errors) > 0 {
		return c.showCalendarForm(v, http.StatusUnprocessableEntity, f)
	}
	secret, key, err := createOnce(v, f.value("nonce"), n)
	switch {
	case errors.Is(err, errSubmitted):
		c.showMessage(v, http.StatusConflict, "This form was already submitted", "Its calendar was made and its address shown then. If you did not copy it, revoke it and make another one.")
		return nil
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNewCalendar(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: calendar created", "key_id", key.ID)
	c.show(v, http.StatusOK, layout{Title: "Calendar " + strconv.FormatInt(key.ID, 10) + " was made"}, calendarAddressView(key, key.Address(v.basePath(), secret)))
	return nil
}

// calendarName returns the name of an agent or a location, as it can be that of a calendar.
func (c *Console) calendarName(v *visit, of domain.Resource, id int64) (string, error) {
	site, err := v.Platform.Session(v.ctx())
	if err != nil {
		return "", err
	}
	name, err := bookings.CalendarName(v.ctx(), site, of, id)
	return keys.CutName(name, string(of)+" "+strconv.FormatInt(id, 10)), err
}
