package compat

import (
	"time"

	"github.com/shopspring/decimal"

	"bookside/adapter/bookings"
	"bookside/adapter/domain"
	"bookside/adapter/journal"
)

// Change is an entry of the journal. It is not part of the contract, so ids are numbers and
// times are RFC 3339.
type Change struct {
	Number     int64  `json:"number"`
	Resource   string `json:"resource"`
	ResourceID int64  `json:"resource_id"`
	Kind       string `json:"kind"`
	Left       bool   `json:"left,omitzero"` // deleted only for those who followed it: it moved
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

func (ChangeList) envelope() {}

// ChangeListOf is a sample of a part of the journal.
func ChangeListOf() ChangeList { return ChangeList{Success: true} }

// ChangeFilter says what to read of the journal.
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

// ChangeParameters are those of the journal.
var ChangeParameters = parameters(domain.InvalidParameters,
	optional("cursor", cursor(), func(f *ChangeFilter) **journal.Cursor { return &f.Cursor }),
	custom("resources", words(resourceWords()...), func(f *ChangeFilter, words map[string]bool) {
		for _, r := range journal.Resources {
			if words[string(r)] {
				f.Resources = append(f.Resources, r)
			}
		}
	}),
	defaulted("limit", integer(1, maxChanges), maxChanges, func(f *ChangeFilter) *int64 { return &f.Limit }).about("The most changes to return", "50"),
	defaulted("wait", integer(0, maxChangeWait), 0, func(f *ChangeFilter) *int64 { return &f.Wait }),
	custom(IncludeParameter, words("record"), func(f *ChangeFilter, words map[string]bool) { f.Record = words["record"] }),
)

// cursor is a place in the journal. Numbers are those of the first epoch, when cursors were
// integers, and are read as such.
func cursor() valueType[journal.Cursor] {
	notACursor := invalid("Must be a cursor of an earlier response")
	schema := func() *Schema { return &Schema{Type: typeString, Pattern: journal.CursorPattern} }
	return fromText(description{schema: schema, invalid: notACursor.message}, func(text string) (journal.Cursor, *problem) {
		if c, ok := journal.ParseCursor(text); ok {
			return c, nil
		}
		n, ok := parseInteger(text)
		if !ok || n.Sign() < 0 || n.Cmp(decimal.NewFromInt(maxPage)) > 0 {
			return journal.Cursor{}, &notACursor
		}
		return journal.Cursor{Number: n.IntPart()}, nil
	})
}

func resourceWords() []string {
	words := make([]string, len(journal.Resources))
	for i, r := range journal.Resources {
		words[i] = string(r)
	}
	return words
}

// ChangeList is a part of the journal, with the present records that are given.
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

// ChangeOf is an entry without its record.
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
		c.OldStatus, c.NewStatus = wordOrNil(e.Booking.OldStatus), wordOrNil(e.Booking.NewStatus)
	}
	return c
}

func wordOrNil(word string) *string {
	if word == "" {
		return nil
	}
	return &word
}

// ChangedRecord identifies a record of the journal.
type ChangedRecord struct {
	Resource journal.Resource
	ID       int64
}

// ChangedRecords are records as their lists show them.
func (v View) ChangedRecords(r bookings.Records) map[ChangedRecord]any {
	shaped := map[ChangedRecord]any{}
	for _, b := range r.Bookings {
		shaped[ChangedRecord{journal.Bookings, b.ID}] = v.booking(b)
	}
	for _, c := range r.Customers {
		shaped[ChangedRecord{journal.Customers, c.ID}] = v.customer(c)
	}
	for _, o := range r.Orders {
		shaped[ChangedRecord{journal.Orders, o.ID}] = v.orderRow(o)
	}
	for _, p := range r.Payments {
		shaped[ChangedRecord{journal.Payments, p.ID}] = v.payment(p)
	}
	for _, i := range r.Invoices {
		shaped[ChangedRecord{journal.Invoices, i.ID}] = v.invoice(i)
	}
	for _, s := range r.Services {
		shaped[ChangedRecord{journal.Services, s.ID}] = v.service(s, ServiceIncludes{})
	}
	for _, a := range r.Agents {
		shaped[ChangedRecord{journal.Agents, a.ID}] = v.agent(a)
	}
	for _, l := range r.Locations {
		shaped[ChangedRecord{journal.Locations, l.ID}] = v.location(l)
	}
	for _, c := range r.Coupons {
		shaped[ChangedRecord{journal.Coupons, c.ID}] = v.coupon(c, r.Currency)
	}
	return shaped
}

// changedRecordSamples are samples of the record of a change, of every resource.
var changedRecordSamples = []any{Booking{}, Customer{}, OrderRow{}, Payment{}, Invoice{}, Service{}, Agent{}, Location{}, Coupon{}}
