package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/wpdb"
)

// Customer is a customer with what is counted about them.
type Customer struct {
	ID              int64
	FirstName       string
	LastName        string
	Email           string
	Phone           string
	Status          string
	IsGuest         bool
	Notes           string
	AdminNotes      string
	WordPressUserID *int64
	AvatarImageID   *int64
	CreatedAt       Timestamp
	UpdatedAt       Timestamp
	Stats           CustomerStats
	CustomFields    map[string]string
	// Profile holds what has no column: address, city, state, zipcode, country,
	// date_of_birth, gender. Absent keys are unset.
	Profile map[string]string
}

// CustomerStats counts a customer's bookings and money. Cancelled bookings are
// in no count but Total and Cancelled.
type CustomerStats struct {
	Total, Completed, Cancelled, Future int64
	// Spent is what was paid less what was refunded, over the customer's orders.
	Spent decimal.Decimal
	// Last is the date of the latest booking that has begun, Next of the first
	// that has not; "" where there is none.
	Last, Next Date
}

// CustomerFilter narrows a list of customers. A nil field narrows nothing.
type CustomerFilter struct {
	Paging
	Status                            *string
	CreatedFrom, CreatedBefore        *time.Time
	CreatedWithin, UpdatedWithin      *Span
	HasBookings                       *bool
	FirstName, LastName, Email, Phone *string // partial
	IsGuest                           *bool
	WordPressUserID                   *int64
	Search                            *string // name or e-mail
}

// Span is a half-open range of instants.
type Span struct{ From, Before time.Time }

// Customers is one page of the customers that pass the filter, newest first.
func (s *Site) Customers(ctx context.Context, f CustomerFilter) (Page[Customer], error) {
	q := sq.Select().From(s.db.As(wpdb.Customers, "c"))
	q = equal(q, "c.status", f.Status)
	q = equal(q, "c.wordpress_user_id", f.WordPressUserID)
	q = created(q, "c.created_at", f.CreatedFrom, f.CreatedBefore)
	q = within(q, "c.created_at", f.CreatedWithin)
	q = within(q, "c.updated_at", f.UpdatedWithin)
	q = contains(q, f.FirstName, "c.first_name")
	q = contains(q, f.LastName, "c.last_name")
	q = contains(q, f.Email, "c.email")
	q = contains(q, f.Phone, "c.phone")
	q = contains(q, f.Search, "c.first_name", "c.last_name", fullName("c"), "c.email")
	if f.IsGuest != nil {
		q = q.Where(sq.Expr("COALESCE(c.is_guest, 0) = ?", *f.IsGuest))
	}
	if f.HasBookings != nil {
		exists := "EXISTS (SELECT 1 FROM " + s.db.As(wpdb.Bookings, "b") + " WHERE b.customer_id = c.id)"
		if !*f.HasBookings {
			exists = "NOT " + exists
		}
		q = q.Where(exists)
	}
	l := list{id: "c.id", filter: q}
	ids, total, err := s.pageIDs(ctx, "list customers", l, f.Paging, "c.created_at DESC", "c.id DESC")
	if err != nil {
		return Page[Customer]{}, err
	}
	records, err := s.customersByID(ctx, ids)
	return Page[Customer]{Paging: f.Paging, Records: records, Total: total}, err
}

func within(q sq.SelectBuilder, column string, span *Span) sq.SelectBuilder {
	if span == nil {
		return q
	}
	return created(q, column, &span.From, &span.Before)
}

// Customer is one customer; a CodeNotFound where it does not exist.
func (s *Site) Customer(ctx context.Context, id int64) (Customer, error) {
	records, err := s.customersByID(ctx, []int64{id})
	if err != nil {
		return Customer{}, err
	}
	if len(records) == 0 {
		return Customer{}, notFound(CustomerResource, id)
	}
	return records[0], nil
}

// customersByID reads customers in the order of the ids. The columns that hold
// passwords and session keys are never read.
func (s *Site) customersByID(ctx context.Context, ids []int64) ([]Customer, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stmt := sq.Select("id", "first_name", "last_name", "email", "phone", "status", "is_guest", "notes", "admin_notes",
		"wordpress_user_id", "avatar_image_id", "created_at", "updated_at").
		From(s.db.Name(wpdb.Customers)).Where(sq.Eq{"id": ids})
	records, err := wpdb.All(ctx, s.db, "read customers", stmt, func(row wpdb.Scanner) (c Customer, err error) {
		err = row.Scan(&c.ID, wpdb.OrZero(&c.FirstName), wpdb.OrZero(&c.LastName), wpdb.OrZero(&c.Email), wpdb.OrZero(&c.Phone),
			&c.Status, wpdb.OrZero(&c.IsGuest), wpdb.OrZero(&c.Notes), wpdb.OrZero(&c.AdminNotes),
			&c.WordPressUserID, &c.AvatarImageID, wpdb.OrZero((*string)(&c.CreatedAt)), wpdb.OrZero((*string)(&c.UpdatedAt)))
		return c, err
	})
	if err != nil {
		return nil, err
	}
	records = inOrder(ids, records, func(c Customer) int64 { return c.ID })
	if err := s.addCustomerStats(ctx, ids, records); err != nil {
		return nil, err
	}
	if err := s.addCustomerMeta(ctx, ids, records); err != nil {
		return nil, err
	}
	return records, nil
}

func (s *Site) addCustomerStats(ctx context.Context, ids []int64, records []Customer) error {
	stats, err := s.bookingStats(ctx, ids)
	if err != nil {
		return err
	}
	paid, err := s.customerTotals(ctx, "read payments of customers", sq.
		Select("o.customer_id", paidSum("t")).From(s.db.As(wpdb.Orders, "o")).
		Join(s.db.As(wpdb.Transactions, "t")+" ON t.order_id = o.id").
		Where(sq.Eq{"o.customer_id": ids}).GroupBy("o.customer_id"))
	if err != nil {
		return err
	}
	var refunded map[int64]decimal.Decimal
	if s.schema.Has(wpdb.TransactionRefunds) {
		refunded, err = s.customerTotals(ctx, "read refunds of customers", sq.
			Select("o.customer_id", "SUM(r.amount)").From(s.db.As(wpdb.TransactionRefunds, "r")).
			Join(s.db.As(wpdb.Transactions, "t")+" ON t.id = r.transaction_id").
			Join(s.db.As(wpdb.Orders, "o")+" ON o.id = t.order_id").
			Where(sq.Eq{"o.customer_id": ids}).GroupBy("o.customer_id"))
		if err != nil {
			return err
		}
	}
	for i := range records {
		id := records[i].ID
		records[i].Stats = stats[id]
		records[i].Stats.Spent = paid[id].Sub(refunded[id])
	}
	return nil
}

// bookingStats counts bookings by customer in one pass over the index on
// customer_id.
func (s *Site) bookingStats(ctx context.Context, ids []int64) (map[int64]CustomerStats, error) {
	future := s.startsAfterNow("b", true)
	condition, now, err := future.ToSql()
	if err != nil {
		return nil, err
	}
	stmt := sq.Select("b.customer_id", "COUNT(*)", "SUM(b.status = 'completed')", "SUM(b.status = 'cancelled')").
		Column("SUM(b.status <> 'cancelled' AND "+condition+")", now...).
		Column("MAX(CASE WHEN b.status <> 'cancelled' AND NOT "+condition+" THEN b.start_date END)", now...).
		Column("MIN(CASE WHEN b.status <> 'cancelled' AND "+condition+" THEN b.start_date END)", now...).
		From(s.db.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.customer_id": ids}).GroupBy("b.customer_id")
	groups, err := grouped(ctx, s, "count bookings of customers", stmt, func(row wpdb.Scanner, owner *int64) (c CustomerStats, err error) {
		err = row.Scan(owner, &c.Total, &c.Completed, &c.Cancelled, wpdb.OrZero(&c.Future),
			wpdb.OrZero((*string)(&c.Last)), wpdb.OrZero((*string)(&c.Next)))
		return c, err
	})
	if err != nil {
		return nil, err
	}
	stats := make(map[int64]CustomerStats, len(groups))
	for id, group := range groups {
		stats[id] = group[0]
	}
	return stats, nil
}

func (s *Site) customerTotals(ctx context.Context, op string, stmt sq.Sqlizer) (map[int64]decimal.Decimal, error) {
	groups, err := grouped(ctx, s, op, stmt, func(row wpdb.Scanner, owner *int64) (decimal.Decimal, error) {
		var sum decimal.NullDecimal
		err := row.Scan(owner, &sum)
		return sum.Decimal, err
	})
	if err != nil {
		return nil, err
	}
	totals := make(map[int64]decimal.Decimal, len(groups))
	for id, sums := range groups {
		totals[id] = sums[0]
	}
	return totals, nil
}

// profileKeys are the fields of a customer that live in customer_meta under
// their own name.
var profileKeys = []string{"address", "city", "state", "zipcode", "country", "date_of_birth", "gender"}

func (s *Site) addCustomerMeta(ctx context.Context, ids []int64, records []Customer) error {
	defined, err := s.customFieldNames(ctx)
	if err != nil {
		return err
	}
	metas, err := s.metas(ctx, wpdb.CustomerMeta, ids)
	if err != nil {
		return err
	}
	for i := range records {
		meta := metas[records[i].ID]
		records[i].CustomFields = map[string]string{}
		records[i].Profile = map[string]string{}
		for _, key := range profileKeys {
			if value, ok := meta[key]; ok {
				records[i].Profile[key] = value
			}
		}
		for key, value := range meta {
			if defined[key] || strings.HasPrefix(key, "cf_") {
				records[i].CustomFields[key] = value
			}
		}
	}
	return nil
}

// customFieldNames are the metas of customers that are custom fields: those
// defined in the plugin's settings and those once written through the API.
func (s *Site) customFieldNames(ctx context.Context) (map[string]bool, error) {
	settings, err := s.db.SettingValues(ctx, "custom_fields_for_customer")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var definitions map[string]json.RawMessage
	if json.Unmarshal([]byte(settings["custom_fields_for_customer"]), &definitions) == nil {
		for name := range definitions {
			names[name] = true
		}
	}
	written, err := wpdb.All(ctx, s.db, "read custom field names",
		sq.Select("meta_key").From(s.db.Name(wpdb.CustomerFields)), wpdb.Value[string])
	if errors.Is(err, wpdb.ErrSchema) {
		return names, nil // our table does not exist before the first write
	}
	if err != nil {
		return nil, err
	}
	for _, name := range written {
		names[name] = true
	}
	for _, name := range profileKeys {
		delete(names, name)
	}
	return names, nil
}
