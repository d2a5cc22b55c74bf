package console

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

const requestsPath = Path + "/requests"

func (c *Console) addRequests(mux *http.ServeMux) {
	mux.Handle("GET "+requestsPath, c.withSession(c.listRequests))
	mux.Handle("GET "+requestsPath+"/{id}", c.withSession(c.showRequest))
}

// shownRequests is the number of requests on a page.
const shownRequests = 100

// requestFilter is the form above the list of requests, as it was sent.
type requestFilter struct {
	Key, Status, Route, Record, Request string
	before                              string
}

// recordText matches a record, such as bookings/17 or bookings 17.
var recordText = regexp.MustCompile(`^([a-z-]+)[ /]([0-9]{1,18})$`)

// parse returns the filter of the list. A wrong id or status finds nothing; ok is false for a record that
// cannot be read.
func (f requestFilter) parse() (filter requestlog.Filter, ok bool) {
	filter = requestlog.Filter{Route: f.Route, RequestID: f.Request}
	filter.KeyID, _ = strconv.ParseInt(f.Key, 10, 64)
	filter.Status, _ = strconv.Atoi(f.Status)
	filter.Before, _ = strconv.ParseInt(f.before, 10, 64)
	if f.Record == "" {
		return filter, true
	}
	parts := recordText.FindStringSubmatch(f.Record)
	if parts == nil {
		return filter, false
	}
	filter.Resource = parts[1]
	filter.RecordID, _ = strconv.ParseInt(parts[2], 10, 64) // always fits
	return filter, true
}

// requestList is what the list of requests shows.
type requestList struct {
	Filter  requestFilter
	Problem page.Text // with the record in the filter; "" for none
	Entries []requestlog.Entry
	Keys    map[int64]string // names
	Routes  []string
	Off     bool  // this server keeps no requests
	Dropped int64 // requests that this server could not keep
}

func (c *Console) listRequests(v *visit) error {
	q := v.r.URL.Query()
	list := requestList{
		Filter: requestFilter{Key: q.Get("key"), Status: q.Get("status"), Route: q.Get("route"), Record: q.Get("record"), Request: q.Get("request"), before: q.Get("before")},
		Off:    v.Requests == nil,
	}
	if v.Requests != nil {
		list.Dropped = v.Requests.Dropped()
	}
	filter, ok := list.Filter.parse()
	status := http.StatusOK
	var err error
	if v.wordpress {
		filter.Since, err = v.midnight()
	}
	if ok && err == nil {
		list.Entries, err = requestlog.List(v.ctx(), v.Platform.DB, filter, shownRequests)
	}
	if !ok {
		list.Problem, status = "Write a record as bookings/17.", http.StatusUnprocessableEntity
	}
	if err == nil && !v.wordpress { // whose form has no routes
		list.Routes, err = requestlog.Routes(v.ctx(), v.Platform.DB)
	}
	if err == nil {
		list.Keys, err = v.keyNames()
	}
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the tables there are no requests
		return err
	}
	if v.wordpress {
		return v.send(http.StatusOK, list.facts())
	}
	c.show(v, status, page.Layout{Title: page.Text("Requests"), Invalid: !ok}, list.view())
	return nil
}

// keyNames returns the names of all keys and calendars, by id.
func (v *visit) keyNames() (map[int64]string, error) {
	names := map[int64]string{}
	all, err := v.Keys.List(v.ctx())
	if err != nil {
		return names, err
	}
	calendars, err := v.Keys.Calendars(v.ctx())
	for _, key := range append(all, calendars...) {
		names[key.ID] = key.Name
	}
	return names, err
}

// shownRequestChanges is the number of changes that the page of a request shows.
const shownRequestChanges = 100

func (c *Console) showRequest(v *visit) error {
	id, _ := strconv.ParseInt(v.r.PathValue("id"), 10, 64) // 0 if it is none
	e, found, err := requestlog.Find(v.ctx(), v.Platform.DB, id)
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	if !found {
		c.showMessage(v, http.StatusNotFound, "There is no such request", "Only the latest requests are kept. Look for it in the list of requests.")
		return nil
	}
	names, err := v.keyNames()
	if err != nil {
		return err
	}
	if v.wordpress {
		return v.send(http.StatusOK, facts.RequestOf(e, names))
	}
	p := requestPage{Entry: e, keyNames: names}
	if e.Method != http.MethodGet && e.Refused == 0 && !e.DryRun {
		if err := p.loadEffects(v); err != nil && !errors.Is(err, wpdb.ErrSchema) {
			return err
		}
		p.labels = c.changeLabels(v, p.changes)
	}
	c.show(v, http.StatusOK, page.Layout{Title: words.Request(e)}, p.view())
	return nil
}

// requestPage is a request with what came of it.
type requestPage struct {
	requestlog.Entry
	keyNames   map[int64]string
	changes    []journal.Entry
	labels     slots.Labels        // of what is booked in the changes
	deliveries []webhooks.Delivery // of the changes
	hookNames  map[int64]string    // by the id of the webhook
}

// loadEffects loads the changes that the request made, and what webhooks sent about them.
func (p *requestPage) loadEffects(v *visit) (err error) {
	// Changes have the time of the request's start, in seconds.
	p.changes, err = v.Platform.Journal.OfRequest(v.ctx(), p.RequestID, p.At.Add(-time.Second), p.At.Add(p.Took+time.Second), shownRequestChanges)
	if err != nil || len(p.changes) == 0 {
		return err
	}
	numbers := make([]int64, len(p.changes))
	for i, change := range p.changes {
		numbers[i] = change.Number
	}
	if p.deliveries, err = v.Platform.Webhooks.OfChanges(v.ctx(), numbers); err != nil || len(p.deliveries) == 0 {
		return err
	}
	hooks, err := v.Platform.Webhooks.List(v.ctx())
	p.hookNames = make(map[int64]string, len(hooks))
	for _, hook := range hooks {
		p.hookNames[hook.ID] = hook.Name
	}
	return err
}
