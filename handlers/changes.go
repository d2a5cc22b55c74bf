package handlers

import (
	"net/http"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/wpdb"
)

var listChanges = operation{
	id:      "listChanges",
	summary: "Follow changes of records",
	description: "The changes after a cursor, made by anybody, in the order of their numbers, and the cursor for the next request. " +
		"Without a cursor, the response is empty and has the cursor of the present end. With `wait`, a request without new changes is held until there is one. " +
		"With `Accept: text/event-stream`, changes are sent as server-sent events until the client leaves, and `Last-Event-ID` is the cursor. " +
		"Changes are kept for a limited time. Without `resources`, all resources are followed that the key may read.",
	query:            compat.ChangeParameters,
	answers:          []response{ok(compat.ChangeList{Success: true})},
	errors:           failures.Form{List: true, Others: []int{http.StatusGone}},
	extraPermissions: changePermissions(),
	wrap:             waitForChanges,
	serve: func(r *request) (response, error) {
		filter, err := compat.ChangeParameters.Read(r.view, r.query)
		if err != nil {
			return response{}, err
		}
		resources, err := readable(filter.Resources, r.principal.Key)
		if err != nil {
			return response{}, err
		}
		page, err := r.changes(filter, resources)
		if err != nil || !filter.Record {
			return ok(r.view.ChangeList(page, nil)), err
		}
		page, records, err := r.changedRecords(page)
		return ok(r.view.ChangeList(page, records)), err
	},
}

// changedRecords reads the present records of changes. If they take more memory than a request may use, the
// page is cut, because a client must get past every change: the first change is returned without its record
// if that alone takes too much.
func (r *request) changedRecords(page journal.Page) (journal.Page, map[compat.ChangedRecord]any, error) {
	for {
		records, err := r.recordsOf(page.Entries)
		count := len(page.Entries)
		switch {
		case err == nil:
			return page, records, nil
		case !failures.TooLarge(err):
			return page, nil, err
		case count == 1:
			return page, nil, nil
		}
		page = journal.Page{Entries: page.Entries[:count/2], Cursor: page.Cursor.At(page.Entries[count/2-1].Number), More: true}
		wpdb.Allow(r.ctx(), maxRead) // what was read has been freed
	}
}

// recordsOf reads the present records of changes. A record that changed several times counts each time,
// because the response contains it each time.
func (r *request) recordsOf(entries []journal.Entry) (map[compat.ChangedRecord]any, error) {
	ids, changes := map[journal.Resource][]int64{}, map[compat.ChangedRecord]int64{}
	for _, e := range entries {
		changed := compat.ChangedRecord{Resource: e.Resource, ID: e.ID}
		if changes[changed]++; changes[changed] == 1 {
			ids[e.Resource] = append(ids[e.Resource], e.ID)
		}
	}
	read, err := bookings.LoadRecords(r.ctx(), r.session, ids)
	if err != nil {
		return nil, err
	}
	records := r.view.ChangedRecords(read)
	for changed, times := range changes {
		record, found := records[changed]
		if !found || times == 1 {
			continue
		}
		text, err := encodeBody(record)
		if err == nil {
			err = wpdb.Weigh(r.ctx(), (times-1)*int64(len(text)))
		}
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// changes reads a part of the journal.
func (r *request) changes(f compat.ChangeFilter, resources []journal.Resource) (journal.Page, error) {
	if f.Cursor == nil {
		end, err := r.api.platform.Journal.End(r.ctx())
		return journal.Page{Cursor: end}, err
	}
	return r.api.platform.Changes(r.ctx(), &r.principal.Key, *f.Cursor, resources, int(f.Limit))
}

// readPermission returns the permission to read a resource.
func readPermission(r journal.Resource) string {
	if r == journal.Invoices {
		return "read_orders"
	}
	return "read_" + string(r)
}

// readable returns the requested resources or, if there are none, all that a key may read. It returns a
// CodeForbidden if the key may not read one of them.
func readable(asked []journal.Resource, key keys.Key) (resources []journal.Resource, err error) {
	for _, r := range asked {
		if err := key.Require(readPermission(r)); err != nil {
			return nil, err
		}
	}
	if len(asked) > 0 {
		return asked, nil
	}
	for _, r := range journal.Resources {
		if key.Holds(readPermission(r)) {
			resources = append(resources, r)
		}
	}
	if len(resources) == 0 {
		return nil, key.Require(readPermission(journal.Bookings))
	}
	return resources, nil
}

// changePermissions describes the permissions that readable requires.
func changePermissions() []extraPermission {
	var all []extraPermission
	for _, r := range journal.Resources {
		if r != journal.Invoices {
			all = append(all, extraPermission{readPermission(r), "for changes of " + string(r)})
		}
	}
	return all
}

const eventStream = "text/event-stream"
