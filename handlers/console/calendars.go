package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/forms"
	"github.com/bookside/bookside/handlers/console/page"
)

const newCalendarTitle page.Text = "New calendar"

// calendarSubjects are what a calendar may be of.
var calendarSubjects = []domain.Resource{domain.AgentResource, domain.LocationResource}

func (c *Console) showNewCalendar(v *visit) error {
	return c.showCalendarForm(v, http.StatusOK, page.NewForm(url.Values{"details": {string(keys.Busy)}}))
}

func (c *Console) redisplayNewCalendar(v *visit, status int, problem page.Text) error {
	return c.showCalendarForm(v, status, page.Submitted(v.r, problem))
}

// subjects are the names of those whose calendar it may be.
func (v *visit) subjects() (slots.Labels, error) {
	site, err := v.site()
	if err != nil {
		return nil, err
	}
	return slots.LoadLabels(v.ctx(), site)
}

func (c *Console) showCalendarForm(v *visit, status int, f page.Form) error {
	names, err := v.subjects()
	if err != nil {
		return err
	}
	var choices []page.Choice
	for _, resource := range calendarSubjects {
		for _, choice := range names.Choices(resource) {
			choices = append(choices, page.Choice{Value: fmt.Sprint(resource, " ", choice.ID), Text: page.Textf("%s %s", page.Text(resource), choice.String())})
		}
	}
	c.show(v, status, page.Layout{Title: newCalendarTitle, Invalid: f.Invalid()}, g.Group{
		f.Summary(),
		page.PostForm(keysPath+"/new-calendar", h.AutoComplete("off"), g.Attr("novalidate"),
			f.Guard(),
			f.Radios("subject", "Bookings of", "", choices),
			forms.Fields(&f, keys.CalendarAttributes, names),
			h.P(h.Class("actions"), h.Button(h.Class("main"), page.Text("Make the calendar")), page.Button(keysPath, page.Text("Cancel"))),
		),
	})
	return nil
}

// setSubject sets whose calendar it is, and its name if the form has none.
func setSubject(f *page.Form, n *keys.NewKey, names slots.Labels) {
	resource, id, _ := strings.Cut(f.Value("subject"), " ")
	of := domain.Resource(resource)
	number, err := keys.ParseID(id)
	subject, exists := names[of][number]
	if err != nil || !exists || !slices.Contains(calendarSubjects, of) {
		f.Errors = append(f.Errors, page.FieldError{Field: "subject", Error: "Choose an agent or a location."})
		return
	}
	n.Scope = keys.CalendarScope(of, number)
	n.Name = cmp.Or(n.Name, keys.NameOr(subject.Name, resource+" "+id))
}

func (c *Console) createCalendar(v *visit) error {
	names, err := v.subjects()
	if err != nil {
		return err
	}
	f := page.Submitted(v.r, "")
	n := keys.NewKey{Kind: keys.Calendar, CreatedBy: v.creator()}
	forms.Read(c.formReader(v), &f, nil, keys.CalendarAttributes, &n)
	setSubject(&f, &n, names)
	if len(f.Errors) > 0 {
		return c.showCalendarForm(v, http.StatusUnprocessableEntity, f)
	}
	secret, key, err := createOnce(v, f.Value("nonce"), n)
	switch {
	case errors.Is(err, errSubmitted):
		return c.showSubmitted(v, "Its calendar was made and its address shown then. If you did not copy it, revoke it and make another one.")
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNewCalendar(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: calendar created", "key_id", key.ID)
	c.showCalendarAddress(v, key, secret)
	return nil
}

// showCalendarAddress is the only page that ever shows the address of a calendar.
func (c *Console) showCalendarAddress(v *visit, key keys.Key, secret string) {
	public := c.publicAddress(v)
	address := key.Address(cmp.Or(public, v.API), secret)
	use := g.Node(g.Group{h.P(page.Text("Subscribe to it in a calendar program; a phone opens it from this code:")), h.P(page.QR(address, "The address as a QR code"))})
	if public == "" {
		use = h.P(page.Textf("It leads to this machine, because Bookside does not know the address of the API outside. Replace what is before %s, and subscribe to it in a calendar program.",
			h.Code(g.Text(key.Address("", "")))))
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Textf("Calendar %d was made", key.ID)}, g.Group{
		h.P(page.Textf("This is the only time the address of %s is shown: Bookside stores only a hash of its secret.", h.Strong(g.Text(key.Name)))),
		page.Secret("Address", address),
		use,
		h.P(page.Text("Anybody who has the address can read the calendar.")),
		h.P(page.A(keysPath, page.Text("I have copied it: back to the list"))),
	})
}

// publicAddress returns the address of the API below that of the site; "" if web servers do not forward its base path, or if
// the address cannot be quoted in a shell command. It is only a convenience: a new key must be shown even without it.
func (c *Console) publicAddress(v *visit) string {
	if !v.Proxied {
		return ""
	}
	site, err := v.site()
	var home string
	if err == nil {
		home, err = slots.Home(v.ctx(), site)
	}
	if err != nil {
		c.log.WarnContext(v.ctx(), "console: the address of the site cannot be read", "error", err)
		return ""
	}
	u, err := url.Parse(home)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(home, `'"\`) || v.basePath() != u.Path+"/wp-json/latepoint-api/v1" {
		return ""
	}
	return u.Scheme + "://" + u.Host + v.basePath()
}
