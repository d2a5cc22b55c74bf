package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// addReports adds the tools that report bookings and changes.
func (s *server) addReports() {
	add(s, tool{
		name: "customer_bookings", title: "Bookings of a customer", uses: []string{bookingsOperation},
		about:     "The bookings of a customer, the latest first, or with upcoming those from today on, the next first.",
		arguments: map[string]string{"date_from": "upcoming", "per_page": "limit"},
	}, (*call).customerBookings)
	add(s, tool{
		name: "agenda", title: "Agenda", uses: []string{bookingsOperation},
		about:     "The bookings of a day or a range of days in order, of the whole site or of an agent, a service or a location. Cancelled ones are left out unless status asks for them.",
		arguments: map[string]string{"date_from": "from", "date_to": "to", "per_page": "limit"},
	}, (*call).agenda)
	add(s, tool{
		name: "recent_changes", title: "Recent changes", uses: []string{changesOperation},
		about: "What was created, changed or deleted on the site, by anybody, in order. Without a cursor: what the key may see of the last changes. " +
			"With the cursor of an earlier result: what came after it.",
	}, (*call).recentChanges)
}

type customerBookingsInput struct {
	CustomerID id    `json:"customer_id"`
	Upcoming   bool  `json:"upcoming,omitempty" jsonschema:"Only from today on"`
	Limit      limit `json:"limit,omitempty" jsonschema:"20 unless sent, at most 100"`
	Page       count `json:"page,omitempty"`
}

type bookingsOutput struct {
	now
	Bookings []booking `json:"bookings"`
	Total    int64     `json:"total" jsonschema:"Number of all matching bookings, cancelled ones included"`
	More     bool      `json:"more" jsonschema:"There are more on the next page"`
}

func (c *call) customerBookings(in customerBookingsInput) (out bookingsOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	query := []any{"customer_id", in.CustomerID, "per_page", in.Limit.or(20), "page", in.Page, "order", "desc"}
	if in.Upcoming {
		query = append(query, "date_from", out.orToday(""), "order", "asc")
	}
	found, err := read[page[sentBooking]](c, Call{Operation: bookingsOperation, Query: parameters(query...)})
	if err != nil {
		return out, "", err
	}
	out.Bookings, out.Total, out.More = briefly(found.Data), found.Pagination.Total, found.Pagination.More
	return out, fmt.Sprintf("%d of %s.", len(out.Bookings), counted(int(out.Total), "booking")), nil
}

type agendaInput struct {
	From       date   `json:"from,omitempty" jsonschema:"First day, YYYY-MM-DD; today unless sent"`
	To         date   `json:"to,omitempty" jsonschema:"Last day; the first one unless sent"`
	AgentID    id     `json:"agent_id,omitempty"`
	ServiceID  id     `json:"service_id,omitempty"`
	LocationID id     `json:"location_id,omitempty"`
	Status     string `json:"status,omitempty" jsonschema:"pending, approved, cancelled, completed, no_show or a status of the site's own"`
	Limit      limit  `json:"limit,omitempty" jsonschema:"50 unless sent, at most 100"`
	Page       count  `json:"page,omitempty"`
}

func (c *call) agenda(in agendaInput) (out bookingsOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	from := out.orToday(in.From)
	to := in.To
	if to == "" {
		to = from
	}
	found, err := read[page[sentBooking]](c, Call{Operation: bookingsOperation, Query: parameters(
		"date_from", from, "date_to", to, "agent_id", in.AgentID, "service_id", in.ServiceID, "location_id", in.LocationID, "status", in.Status,
		"order", "asc", "per_page", in.Limit.or(50), "page", in.Page)})
	if err != nil {
		return out, "", err
	}
	out.Bookings, out.Total, out.More = []booking{}, found.Pagination.Total, found.Pagination.More
	for _, b := range found.Data {
		if in.Status != "" || b.Status != "cancelled" {
			out.Bookings = append(out.Bookings, b.short())
		}
	}
	return out, fmt.Sprintf("%s from %s to %s.", counted(len(out.Bookings), "booking"), from, to), nil
}

type changesInput struct {
	Cursor    string   `json:"cursor,omitempty" jsonschema:"From an earlier result"`
	Resources []string `json:"resources,omitempty" jsonschema:"bookings, customers, orders, payments, invoices, services, agents, locations, coupons; all that the key may read unless sent"`
	Limit     limit    `json:"limit,omitempty" jsonschema:"20 unless sent, at most 100"`
}

type changesOutput struct {
	now
	Changes []change `json:"changes"`
	Cursor  string   `json:"cursor" jsonschema:"For the next call"`
	More    bool     `json:"more" jsonschema:"There are more after the cursor"`
}

type change struct {
	Resource  string   `json:"resource"`
	ID        int64    `json:"id"`
	Kind      string   `json:"kind" jsonschema:"created, updated or deleted"`
	Left      bool     `json:"left,omitempty" jsonschema:"The booking exists, but is not the key's any more"`
	At        string   `json:"at"`
	Origin    string   `json:"origin" jsonschema:"api, console, site or found (noticed in the database)"`
	OldStatus string   `json:"old_status,omitempty"`
	NewStatus string   `json:"new_status,omitempty"`
	Booking   *booking `json:"booking,omitzero" jsonschema:"The booking as it is now"`
}

// sentChanges is the part of a page of the journal that is read.
type sentChanges struct {
	Cursor string `json:"cursor"`
	More   bool   `json:"has_more"`
	Data   []struct {
		Resource  string          `json:"resource"`
		ID        number          `json:"resource_id"`
		Kind      string          `json:"kind"`
		Left      bool            `json:"left"`
		At        time.Time       `json:"at"`
		Origin    string          `json:"origin"`
		OldStatus string          `json:"old_status"`
		NewStatus string          `json:"new_status"`
		Record    json.RawMessage `json:"record"`
	} `json:"data"`
}

func (c *call) recentChanges(in changesInput) (out changesOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	found, err := c.changes(in)
	if err != nil {
		return out, "", err
	}
	out.Changes, out.Cursor, out.More = make([]change, len(found.Data)), found.Cursor, found.More
	for i, f := range found.Data {
		made := change{f.Resource, int64(f.ID), f.Kind, f.Left, f.At.In(out.today.Location()).Format(time.RFC3339), f.Origin, f.OldStatus, f.NewStatus, nil}
		if f.Resource == "bookings" && len(f.Record) > 0 {
			var record sentBooking
			if err := json.Unmarshal(f.Record, &record); err != nil {
				return out, "", fmt.Errorf("read a changed booking: %w", err)
			}
			short := record.short()
			made.Booking = &short
		}
		out.Changes[i] = made
	}
	return out, counted(len(out.Changes), "change") + ".", nil
}

// changes reads the changes after a cursor; without a cursor, the latest ones.
func (c *call) changes(in changesInput) (found sentChanges, err error) {
	most := in.Limit.or(20)
	after := func(cursor string) (sentChanges, error) {
		return read[sentChanges](c, Call{Operation: changesOperation, Query: parameters("cursor", cursor, "limit", int64(most), "include", "record", "resources", strings.Join(in.Resources, ","))})
	}
	if in.Cursor != "" {
		return after(in.Cursor)
	}
	if found, err = after(""); err != nil {
		return found, err
	}
	// A cursor is a number, optionally after an epoch and a hyphen.
	split := strings.LastIndex(found.Cursor, "-") + 1
	epoch, number := found.Cursor[:split], found.Cursor[split:]
	end, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return found, fmt.Errorf("read a cursor: %w", err)
	}
	// Few changes may remain, because old ones are deleted.
	for back := min(int64(most), end); back > 0; back /= 2 {
		last, err := after(epoch + strconv.FormatInt(end-back, 10))
		var f *CallError
		if !errors.As(err, &f) || f.Code != "cursor_expired" {
			return last, err
		}
	}
	return found, nil
}

// or returns the limit, or a default for none.
func (l limit) or(standard limit) limit {
	if l == 0 {
		return standard
	}
	return l
}
