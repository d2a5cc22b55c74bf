package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/forms"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

// keyPath returns the path of the page that changes a key.
func keyPath(id int64) string { return keysPath + "/" + number(id) }

// keyRow is a key or a calendar as the list shows it.
type keyRow struct {
	keys.Key
	Status    keys.Status
	Limited   bool
	PerMinute int64
	PerHour   int64
	LastDay   int64 // requests in the last 24 hours
	Labels    slots.Labels
	Unused    time.Duration // time since the last use
}

func (c *Console) row(v *visit, key keys.Key) keyRow {
	limits := v.Limits.For(key)
	var unused time.Duration
	if used, ok := key.LastUsedAt.Time(); ok {
		unused = c.now().Sub(used)
	}
	return keyRow{Key: key, Status: key.Status(c.now()), Limited: v.Limits.Enabled, PerMinute: limits.PerMinute, PerHour: limits.PerHour, Unused: unused}
}

// labels returns the names of agents, services and locations, if needed. Pages work without them.
func (c *Console) labels(v *visit, needed bool) slots.Labels {
	if !needed {
		return nil
	}
	site, err := v.site()
	var labels slots.Labels
	if err == nil {
		labels, err = slots.LoadLabels(v.ctx(), site)
	}
	if err != nil {
		c.log.WarnContext(v.ctx(), "console: names not read", "error", err)
	}
	return labels
}

// formReader returns what reads the forms of keys, webhooks and calendars.
func (c *Console) formReader(v *visit) forms.Reader {
	return forms.Reader{Now: c.now(), Numbers: func(of domain.Resource, text string) (string, error) {
		site, err := v.site()
		if err == nil {
			text, err = slots.Numbers(v.ctx(), site, of, text)
		}
		if _, unknown := errors.AsType[*slots.ChoiceError](err); unknown {
			return "", errors.New("one of these does not exist any more")
		} else if err != nil {
			problem, _ := c.explain(v, err)
			return "", errors.New(strings.TrimSuffix(string(problem), "."))
		}
		return text, nil
	}}
}

// listKeys shows all keys and calendars: those in use first, the newest first.
func (c *Console) listKeys(v *visit) error {
	all, err := v.Keys.List(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no keys
		return err
	}
	calendars, err := v.Keys.Calendars(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	requests, err := keys.RequestCounts(v.ctx(), v.Platform.DB, c.now().Add(-24*time.Hour))
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	limited := func(key keys.Key) bool { return !key.Scope.Unlimited() }
	labels := c.labels(v, len(calendars) > 0 || slices.ContainsFunc(all, limited))
	var active, shared, ended []keyRow
	for _, key := range slices.Backward(slices.Concat(calendars, all)) {
		row := c.row(v, key)
		row.Labels, row.LastDay = labels, requests[key.ID]
		switch {
		case row.Status != keys.Active:
			ended = append(ended, row)
		case key.Kind == keys.Calendar:
			shared = append(shared, row)
		default:
			active = append(active, row)
		}
	}
	section := func(title page.Text, rows []keyRow) g.Node {
		return g.If(len(rows) > 0, g.Group{h.H2(title), keyTable(rows)})
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Keys and calendars")}, g.Group{
		page.Done(confirmation(v.r)),
		page.ZoneHint(),
		h.Div(h.Class("toolbar"), page.MainButton(keysPath+"/new", newKeyTitle), page.Button(keysPath+"/new-calendar", newCalendarTitle)),
		g.If(len(active) == 0, h.P(page.Text("No key is in use. Every app needs one: create it here, and enter it in the app."))),
		section("Keys", active),
		section("Calendars", shared),
		g.If(len(ended) > 0, h.Details(h.Summary(page.Textf("Revoked and expired (%s)", len(ended))), keyTable(ended))),
		h.P(h.Class("hint"), page.Text("A calendar is a secret address at which Google Calendar, Apple Calendar or Outlook reads the bookings of an agent or a location."), g.Text(" "), page.Text("The last use is recorded at most once a minute.")),
	})
	return nil
}

// confirmation describes the action that the list's address says was just done; nil for none.
func confirmation(r *http.Request) page.Phrase {
	id, err := strconv.ParseInt(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		return nil
	}
	switch r.URL.Query().Get("done") {
	case "changed":
		return page.Textf("Key %d was changed. The change is in effect.", id)
	case "revoked":
		return page.Textf("Key %d was revoked. It is rejected from now on.", id)
	default:
		return nil
	}
}

// redirectDone redirects to the list, which confirms the action.
func redirectDone(v *visit, what string, id int64) error {
	return redirect(v, keysPath+"?done="+what+"&id="+number(id))
}

func keyTable(rows []keyRow) g.Node {
	return page.Table([]page.Text{"Name", "Permissions", "Networks", "Requests", "Last use", "Made", "Status", ""}, g.Map(rows, keyRow.view))
}

func (r keyRow) view() g.Node {
	hidden := page.ScreenReaderText(page.Name(" " + r.Name))
	active, calendar := r.Status == keys.Active, r.Kind == keys.Calendar
	return page.Row(
		g.Group{h.Span(h.Class("name"), g.Text(r.Name)), g.Text(" "), h.Span(h.Class("hint"), g.Text(number(r.ID)+" · "), page.Text(r.Kind), r.secretView(" · ", ""))},
		page.Cell("Permissions", r.permissions(), r.limits()),
		page.Cell("Networks", r.networks()),
		page.Cell("Requests", r.requests()),
		page.Cell("Last use", r.lastUse()),
		page.Cell("Made", page.Stamp(r.CreatedAt, "never"), g.If(r.CreatedBy != "", g.Group{h.Br(), h.Span(h.Class("hint word"), g.Text(r.CreatedBy))})),
		page.Cell("Status", r.status()),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(r.Status != keys.Revoked, g.Group{ // empty for a revoked key: the style sheet hides it
			g.If(!calendar, g.Group{page.Button(keyPath(r.ID), page.Text("Change"), hidden), g.Text(" ")}),
			g.If(!calendar && active, g.Group{page.Button(keyPath(r.ID)+"/roll", page.Text("Roll"), hidden), g.Text(" ")}),
			page.Button(keyPath(r.ID)+"/revoke", page.Text("Revoke"), hidden),
		})),
	)
}

// secretView shows the first and the last characters of the secret between two texts, if they are known.
func (r keyRow) secretView(before, after string) g.Node {
	return g.If(r.Start != "", g.Group{g.Text(before), h.Code(g.Text(r.Start + "…" + r.LastFour)), g.Text(after)})
}

// permissions lists what a key may do, or what a calendar shows of whose bookings.
func (r keyRow) permissions() page.Phrase {
	if r.Kind == keys.Calendar {
		resource, id := r.Subject()
		return page.Textf("bookings of %s %s: %s", page.Text(resource), r.Labels.Text(resource, []int64{id}), page.Text(r.Details))
	}
	texts := make([]page.Phrase, len(r.Permissions))
	for i, permission := range r.Permissions {
		verb, resource, _ := strings.Cut(permission, "_")
		texts[i] = words.Permission(verb, cmp.Or(resource, everything))
	}
	return page.List(texts...)
}

// limits describes what narrows the key's permissions: its scope and the mask. Most keys have neither, and what a calendar
// shows is among its permissions.
func (r keyRow) limits() g.Node {
	if r.Kind == keys.Calendar {
		return nil
	}
	var lines g.Group
	for _, part := range words.Scope(r.Scope, r.Labels) {
		lines = append(lines, h.Br(), h.Span(h.Class("hint"), page.Textf("only %s", part)))
	}
	if r.MaskPersonal {
		lines = append(lines, h.Br(), h.Span(h.Class("hint"), page.Text("personal data masked")))
	}
	return lines
}

// lastUse shows a relative time, with the exact one as its title.
func (r keyRow) lastUse() g.Node {
	used, ok := r.LastUsedAt.Time()
	if !ok {
		return page.Text("never")
	}
	return page.TimeAs(used, page.Ago(r.Unused))
}

// useText describes the last use of the key.
func (r keyRow) useText() g.Node {
	if r.LastUsedAt == "" {
		return page.Text("It was never used.")
	}
	return page.Textf("It was last used %s, on %s.", page.Ago(r.Unused), page.Stamp(r.LastUsedAt, ""))
}

func (r keyRow) networks() g.Node {
	if len(r.Networks) == 0 {
		return page.Text("any")
	}
	var lines g.Group
	for i, network := range r.Networks {
		lines = append(lines, g.If(i > 0, h.Br()), words.Network(network))
	}
	return lines
}

func (r keyRow) requests() g.Node {
	recent := page.A(requestsOf("key", number(r.ID)), h.Class("rate"), page.Textf("%s in 24 hours", h.Strong(g.Text(number(r.LastDay)))), page.ScreenReaderText(page.Phrases{page.Name(", "), page.Textf("of %s", r.Name)}))
	if !r.Limited {
		return g.Group{recent, h.Br(), h.Span(h.Class("hint"), page.Text("no limit"))}
	}
	rate := func(format page.Text, requests int64) g.Node {
		return h.Span(h.Class("rate hint"), page.Textf(format, requests))
	}
	return g.Group{recent, h.Br(), rate("%s a minute", r.PerMinute), h.Br(), rate("%s an hour", r.PerHour)}
}

func (r keyRow) status() g.Node {
	class, end := "status good", page.Text("until %s")
	if r.Status != keys.Active {
		class, end = "status broken", "since %s"
	}
	return g.Group{
		h.Span(h.Class(class), page.Text(r.Status)),
		g.If(r.ExpiresAt != "", g.Group{h.Br(), h.Span(h.Class("hint"), page.Textf(end, page.Stamp(r.ExpiresAt, "")))}),
	}
}

// nameView shows the name of the key, and the visible characters of its secret.
func (r keyRow) nameView() g.Node { return g.Group{h.Strong(g.Text(r.Name)), r.secretView(" (", ")")} }

func (c *Console) notFound(v *visit) error {
	c.showMessage(v, http.StatusNotFound, "There is no such key", "Look for it in the list of keys.")
	return nil
}

// withKey calls serve with the key in the path.
func (c *Console) withKey(v *visit, serve func(keys.Key) error) error {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return c.notFound(v)
	}
	key, found, err := v.Keys.Find(v.ctx(), id)
	switch {
	case err != nil && !errors.Is(err, wpdb.ErrSchema):
		return err
	case !found:
		return c.notFound(v)
	case key.Revoked:
		c.showMessage(v, http.StatusConflict, "This key is revoked", "It is rejected, and it can no longer be changed. Create another key.")
		return nil
	default:
		return serve(key)
	}
}

// withCalendar calls serve with the calendar in the path, or else withKey with the key.
func (c *Console) withCalendar(v *visit, serve func(keys.Key) error) error {
	calendars, err := v.Keys.Calendars(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	for _, key := range calendars {
		if number(key.ID) == v.r.PathValue("id") && !key.Revoked {
			return serve(key)
		}
	}
	return c.withKey(v, serve)
}

func (c *Console) showRevoke(v *visit) error { return c.redisplayRevoke(v, http.StatusOK, "") }

func (c *Console) redisplayRevoke(v *visit, status int, problem page.Text) error {
	return c.withCalendar(v, func(key keys.Key) error {
		row := c.row(v, key)
		c.show(v, status, page.Layout{Title: page.Textf("Revoke key %d?", key.ID), Invalid: problem != ""}, g.Group{
			page.Alert(problem),
			h.P(page.Textf("Clients that use the key %s will be rejected immediately. This cannot be undone.", row.nameView())),
			h.P(row.useText()),
			page.PostForm(keyPath(key.ID)+"/revoke", h.P(h.Class("actions"), h.Button(h.Class("danger"), page.Text("Revoke the key")), page.Button(keysPath, page.Text("Keep it")))),
		})
		return nil
	})
}

func (c *Console) revoke(v *visit) error {
	return c.withCalendar(v, func(key keys.Key) error {
		revoke := v.Keys.Revoke
		if key.Kind == keys.Calendar {
			revoke = v.Keys.RevokeCalendar
		}
		if _, err := revoke(v.ctx(), key.ID); err != nil {
			problem, status := c.explain(v, err)
			return c.redisplayRevoke(v, status, problem)
		}
		c.log.InfoContext(v.ctx(), "console: key revoked", "key_id", key.ID)
		return redirectDone(v, "revoked", key.ID)
	})
}
