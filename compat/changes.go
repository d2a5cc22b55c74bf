package compat

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat/jsonschema"
	"github.com/bookside/bookside/compat/numbers"
)

// Change is an entry of the journal. It is not part of the contract, so ids are numbers and
// times are RFC 3339.
type Change struct {
	Number     int64  `json:"number"`
	Resource   string `json:"resource"`
	ResourceID int64  `json:"resource_id"`
	Kind       string `json:"kind"`
	Left       bool   `json:"left,omitzero"` // deleted for this reader only: it moved out of the scope
	At         string `json:"at"`
	Origin     string `json:"origin"`
	KeyID      *int64 `json:"key_id,omitzero"`
	UserID     *int64 `json:"user_id,omitzero"`
	// The statuses of a booking: nil before it was created and after it was deleted.
	OldStatus *string `json:"old_status,omitzero"`
	NewStatus *string `json:"new_status,omitzero"`
	Record    any     `json:"record,omitzero"`
}

// ChangeList is a part of the journal.
type ChangeList struct {
	Success bool     `json:"success"`
	Data    []Change `json:"data"`
	Cursor  string   `json:"cursor"`
	HasMore bool     `json:"has_more"`
}

// Envelope says that it surrounds a record.
func (ChangeList) Envelope() {}

// ChangeFilter says what to read from the journal.
type ChangeFilter struct {
	Cursor    *journal.Cursor // nil for the present end
	Resources []journal.Resource
	Limit     int64
	Wait      int64 // seconds
	Record    bool
}

const (
	maxChanges    = 100
	maxChangeWait = 60 // seconds
)

// ChangeParameters are the parameters of the journal.
var ChangeParameters = parameters("GET /changes", domain.InvalidParameters, func(f *ChangeFilter) Fields {
	return Fields{
		optional("cursor", cursor, &f.Cursor),
		custom("resources", words(resourceWords()...), func(words map[string]bool) {
			for _, r := range journal.Resources {
				if words[string(r)] {
					f.Resources = append(f.Resources, r)
				}
			}
		}),
		defaulted("limit", integer(1, maxChanges), maxChanges, &f.Limit),
		defaulted("wait", integer(0, maxChangeWait), 0, &f.Wait),
		custom(IncludeParameter, words("record"), func(words map[string]bool) { f.Record = words["record"] }),
	}
})

// cursor is a place in the journal. A plain number belongs to the first epoch, when cursors were integers,
// and is read as such.
var cursor = parsed(plain(jsonschema.Schema{Type: jsonschema.String, Pattern: journal.CursorPattern}), "Must be a cursor of an earlier response", func(text string) (journal.Cursor, bool) {
	if c, ok := journal.ParseCursor(text); ok {
		return c, true
	}
	n, ok := numbers.Integer(text)
	return journal.Cursor{Number: n.IntPart()}, ok && n.Sign() >= 0 && n.Cmp(decimal.NewFromInt(maxPage)) <= 0
})

func resourceWords() []string {
	words := make([]string, len(journal.Resources))
	for i, r := range journal.Resources {
		words[i] = string(r)
	}
	return words
}

// ChangeList returns a part of the journal, with the given present records.
func (v View) ChangeList(page journal.Page, records map[ChangedRecord]any) ChangeList {
	list := ChangeList{Success: true, Data: make([]Change, len(page.Entries)), Cursor: page.Cursor.String(), HasMore: page.More}
	for i, e := range page.Entries {
		list.Data[i] = ChangeOf(e)
		if !e.Left { // it may have come back since
			list.Data[i].Record = records[ChangedRecord{e.Resource, e.ID}]
		}
	}
	return list
}

// ChangeOf returns an entry without its record.
func ChangeOf(e journal.Entry) Change {
	c := Change{
		Number: e.Number, Resource: string(e.Resource), ResourceID: e.ID, Kind: string(e.Kind), Left: e.Left, At: e.At.UTC().Format(time.RFC3339), Origin: string(e.Origin),
	}
	if e.ActorID != 0 && e.Origin == journal.FromAPI {
		c.KeyID = &e.ActorID
	}
	if e.ActorID != 0 && e.Origin == journal.FromSite {
		c.UserID = &e.ActorID
	}
	if e.Booking != nil {
		c.OldStatus, c.NewStatus = orNil(e.Booking.OldStatus), orNil(e.Booking.NewStatus)
	}
	return c
}

// ChangedRecord identifies a record of the journal.
type ChangedRecord struct {
	Resource journal.Resource
	ID       int64
}

// ChangedRecords returns records as lists show them.
func (v View) ChangedRecords(r bookings.Records) map[ChangedRecord]any {
	shaped := map[ChangedRecord]any{}
	shape(shaped, journal.Bookings, r.Bookings, func(b records.Booking) (int64, any) { return b.ID, v.booking(b) })
	shape(shaped, journal.Customers, r.Customers, func(c records.Customer) (int64, any) { return c.ID, v.customer(c) })
	shape(shaped, journal.Orders, r.Orders, func(o records.Order) (int64, any) { return o.ID, v.orderRow(o) })
	shape(shaped, journal.Payments, r.Payments, func(p records.Payment) (int64, any) { return p.ID, v.payment(p) })
	shape(shaped, journal.Invoices, r.Invoices, func(i payments.Invoice) (int64, any) { return i.ID, v.invoice(i) })
	shape(shaped, journal.Services, r.Services, func(s catalog.Service) (int64, any) { return s.ID, v.service(s, ServiceIncludes{}) })
	shape(shaped, journal.Agents, r.Agents, func(a catalog.Agent) (int64, any) { return a.ID, v.agent(a) })
	shape(shaped, journal.Locations, r.Locations, func(l catalog.Location) (int64, any) { return l.ID, v.location(l) })
	shape(shaped, journal.Coupons, r.Coupons, func(c payments.Coupon) (int64, any) { return c.ID, v.coupon(c, r.Currency) })
	return shaped
}

// shape adds the records of a resource, by id.
func shape[T any](into map[ChangedRecord]any, resource journal.Resource, records []T, one func(T) (id int64, shown any)) {
	for _, record := range records {
		id, shown := one(record)
		into[ChangedRecord{resource, id}] = shown
	}
}

// changedRecordSamples are samples of the record in a change, one per resource.
var changedRecordSamples = []any{Booking{}, Customer{}, OrderRow{}, Payment{}, Invoice{}, Service{}, Agent{}, Location{}, Coupon{}}
