package records

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Customer is a customer with their statistics.
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
	CreatedAt       domain.Timestamp
	UpdatedAt       domain.Timestamp
	Stats           CustomerStats
	CustomFields    map[string]string
	// Profile has the fields without a column: address, city, state, zipcode, country, date_of_birth,
	// gender. Unset fields are absent.
	Profile map[string]string
}

// FullName is both names of the customer; "" if they have none.
func (c Customer) FullName() string { return strings.TrimSpace(c.FirstName + " " + c.LastName) }

// CustomerStats counts a customer's bookings and money. Cancelled bookings count only in Total and
// Cancelled.
type CustomerStats struct {
	Total, Completed, Cancelled, Future int64
	// Spent is payments less refunds over the customer's orders.
	Spent decimal.Decimal
	// Last is the date of the latest booking that has begun, Next that of the first one that has not, "" if
	// there is none.
	Last, Next session.Date
}

// WholeCustomers adds meta and Stats to customers. It counts the list if size asks for it.
func WholeCustomers(ctx context.Context, s *session.Session, found []Customer, size *Total) ([]Customer, error) {
	if len(found) == 0 {
		return nil, nil
	}
	err := readWhole(ctx, s, &found, IDsOf(found, func(c Customer) int64 { return c.ID }), size)
	return found, err
}

// LoadCustomer returns one customer, or a CodeNotFound.
func LoadCustomer(ctx context.Context, s *session.Session, id int64) (Customer, error) {
	var found []Customer
	err := readWhole(ctx, s, &found, []int64{id}, new(Total), queryCustomer(s, &found, id))
	return Only(found, err, domain.CustomerResource, id)
}

// readWhole reads the meta and Stats of customers, together with queries that may read these themselves.
func readWhole(ctx context.Context, s *session.Session, found *[]Customer, ids []int64, size *Total, more ...wpdb.Query) error {
	var metas []customerMeta
	var stats []customerStats
	if err := wpdb.Together(ctx, s.DB, append(more, queryCustomerMeta(s, &metas, ids), queryCustomerStats(s, &stats, ids, size))...); err != nil {
		return err
	}
	addStats(*found, stats, size)
	return addCustomerMeta(ctx, s, *found, metas)
}

// LoadStoredCustomer returns a Customer without Stats, which would cost a scan.
func LoadStoredCustomer(ctx context.Context, s *session.Session, id int64) (Customer, error) {
	var found []Customer
	var metas []customerMeta
	err := wpdb.Together(ctx, s.DB, queryCustomer(s, &found, id), queryCustomerMeta(s, &metas, []int64{id}))
	if err == nil {
		err = addCustomerMeta(ctx, s, found, metas)
	}
	return Only(found, err, domain.CustomerResource, id)
}

func queryCustomer(s *session.Session, into *[]Customer, id int64) wpdb.Query {
	return wpdb.Rows(into, "read customer", sq.Select(CustomerColumns...).From(s.DB.As(wpdb.Customers, "c")).Where(sq.Eq{"c.id": id}), ScanCustomer)
}

// CustomerColumns are what ScanCustomer reads of customers, c. Columns with passwords and session keys are
// never read.
var CustomerColumns = []string{
	"c.id", "c.first_name", "c.last_name", "c.email", "c.phone", "c.status", "c.is_guest", "c.notes", "c.admin_notes",
	"c.wordpress_user_id", "c.avatar_image_id", "c.created_at", "c.updated_at",
}

// ScanCustomer reads a customer without Stats and meta.
func ScanCustomer(row wpdb.Scanner) (c Customer, err error) {
	var guest int64 // a number in the plugin; anything but 0 is true
	err = row.Scan(&c.ID, wpdb.OrZero(&c.FirstName), wpdb.OrZero(&c.LastName), wpdb.OrZero(&c.Email), wpdb.OrZero(&c.Phone),
		&c.Status, wpdb.OrZero(&guest), wpdb.OrZero(&c.Notes), wpdb.OrZero(&c.AdminNotes),
		&c.WordPressUserID, &c.AvatarImageID, wpdb.OrZero((*string)(&c.CreatedAt)), wpdb.OrZero((*string)(&c.UpdatedAt)))
	c.IsGuest = guest != 0
	return c, err
}

// customerStats is a part of a customer's statistics, in which the other parts are zero.
type customerStats struct {
	customer int64
	CustomerStats
}

// queryCustomerStats counts bookings and sums up payments of customers, in a row for each part. It counts the list if
// size asks for it, in a row that belongs to no customer.
func queryCustomerStats(s *session.Session, into *[]customerStats, ids []int64, size *Total) wpdb.Query {
	stmt := bookingCounts(s, ids).SuffixExpr(sq.ConcatExpr("UNION ALL ", paidSums(s, ids)))
	if size.Count != nil {
		stmt = stmt.SuffixExpr(sq.ConcatExpr("UNION ALL SELECT 0, (", size.Count, "), 0, 0, NULL, NULL, NULL, NULL"))
	}
	return wpdb.Rows(into, "sum up customers", stmt, func(row wpdb.Scanner) (c customerStats, err error) {
		err = row.Scan(&c.customer, &c.Total, &c.Completed, &c.Cancelled, wpdb.OrZero(&c.Future),
			wpdb.OrZero((*string)(&c.Last)), wpdb.OrZero((*string)(&c.Next)), wpdb.OrZero(&c.Spent))
		c.Last, c.Next = c.Last.Day(), c.Next.Day()
		return c, err
	})
}

// addStats adds the parts that queryCustomerStats read to the customers, and the size of the list.
func addStats(found []Customer, parts []customerStats, size *Total) {
	sums := map[int64]CustomerStats{}
	for _, part := range parts {
		sums[part.customer] = sums[part.customer].with(part.CustomerStats)
	}
	for i, c := range found {
		found[i].Stats = sums[c.ID]
	}
	if size.Count != nil {
		size.Size = sums[0].Total
	}
}

func (c CustomerStats) with(part CustomerStats) CustomerStats {
	c.Total += part.Total
	c.Completed += part.Completed
	c.Cancelled += part.Cancelled
	c.Future += part.Future
	c.Spent = c.Spent.Add(part.Spent)
	c.Last, c.Next = c.Last+part.Last, c.Next+part.Next // one operand of each is empty
	return c
}

// bookingCounts counts bookings by customer in one pass over the index on customer_id.
func bookingCounts(s *session.Session, customers []int64) sq.SelectBuilder {
	future := StartsAfterNow(s)
	return sq.Select("b.customer_id", "COUNT(*)", "SUM(b.status = 'completed')", "SUM(b.status = 'cancelled')").
		Column(sq.ConcatExpr("SUM(b.status <> 'cancelled' AND ", future, ")")).
		Column(sq.ConcatExpr("MAX(CASE WHEN b.status <> 'cancelled' AND NOT ", future, " THEN b.start_date END)")).
		Column(sq.ConcatExpr("MIN(CASE WHEN b.status <> 'cancelled' AND ", future, " THEN b.start_date END)")).
		Column("NULL").
		From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.customer_id": customers}).GroupBy("b.customer_id")
}

// noCounts fills the columns of bookingCounts in the other rows.
var noCounts = []string{"0", "0", "0", "0", "NULL", "NULL"}

// paidSums returns the net of customers' successful transactions over their orders. The LIMIT turns the few
// orders into a derived table; in a direct join, each transaction of the site would look up its order.
// DISTINCT would do that too, but makes the server expect two orders and compare each order with each
// transaction.
func paidSums(s *session.Session, customers []int64) sq.SelectBuilder {
	orders := sq.Select("id", "customer_id").From(s.DB.Name(wpdb.Orders)).Where(sq.Eq{"customer_id": customers}).Limit(math.MaxInt64)
	stmt, refunded := joinRefundRows(s, sq.Select().From(s.DB.As(wpdb.Transactions, "t")).JoinClause(sq.ConcatExpr("JOIN (", orders, ") AS o ON o.id = t.order_id")))
	nets := stmt.Columns("o.customer_id", "SUM("+paidAmount+") - SUM("+refunded+") AS net").GroupBy("o.id", "o.customer_id")
	return sq.Select("n.customer_id").Columns(noCounts...).Column("SUM(CASE WHEN n.net > 0 THEN n.net ELSE 0 END)").FromSelect(nets, "n").GroupBy("n.customer_id")
}

// ProfileKeys are the fields of a customer that are stored in customer_meta under their
// own name.
var ProfileKeys = []string{"address", "city", "state", "zipcode", "country", "date_of_birth", "gender"}

// PlatformKeys are the plugin's own meta, which custom fields must not overwrite.
var PlatformKeys = []string{"timezone_name", "verified_contact_values", "password_reset_token_created_at"}

// addCustomerMeta sorts the meta of customers into profile and custom fields. Custom fields are those of
// the plugin's own form (cf_…), those once written through the API, and those defined in the plugin's
// settings. The settings are read only if a key is neither of the others.
func addCustomerMeta(ctx context.Context, s *session.Session, records []Customer, metas []customerMeta) (err error) {
	var defined map[string]json.RawMessage
	byID := map[int64]Customer{}
	for i := range records {
		records[i].CustomFields, records[i].Profile = map[string]string{}, map[string]string{}
		byID[records[i].ID] = records[i]
	}
	for _, m := range metas {
		customer, exists := byID[m.Record]
		into := customer.CustomFields
		switch {
		case !exists: // its meta was left behind
			continue
		case slices.Contains(ProfileKeys, m.Key):
			into = customer.Profile
		case m.fromAPI || strings.HasPrefix(m.Key, "cf_"):
		case slices.Contains(PlatformKeys, m.Key):
			continue
		default:
			if defined == nil {
				if defined, err = session.DefinedFields(ctx, s, session.SettingCustomerFields); err != nil {
					return err
				}
			}
			if _, ok := defined[m.Key]; !ok {
				continue
			}
		}
		if _, seen := into[m.Key]; !seen { // the first of several rows with one key counts
			into[m.Key] = m.Value
		}
	}
	return nil
}

// customerMeta is a meta row of a customer; fromAPI reports whether its key was ever written through the
// API.
type customerMeta struct {
	session.MetaRow
	fromAPI bool
}

func queryCustomerMeta(s *session.Session, into *[]customerMeta, ids []int64) wpdb.Query {
	stmt := sq.Select("m.object_id", "m.meta_key", "m.meta_value").From(s.DB.As(wpdb.CustomerMeta, "m")).
		Where(sq.Eq{"m.object_id": ids}).OrderBy("m.id")
	if s.Schema.Has(wpdb.CustomerFields) {
		stmt = stmt.Column("f.meta_key IS NOT NULL").LeftJoin(s.DB.As(wpdb.CustomerFields, "f") + " ON f.meta_key = m.meta_key")
	} else {
		stmt = stmt.Column("FALSE")
	}
	return wpdb.Rows(into, "read meta of customers", stmt, wpdb.Into(func(m *customerMeta) []any {
		return []any{&m.Record, &m.Key, wpdb.OrZero(&m.Value), &m.fromAPI}
	}))
}

// CustomerFields describe a customer. A nil field was not sent.
type CustomerFields struct {
	FirstName, LastName, Email, Phone *string
}

// BookableCustomer is the part of a customer's row that a booking needs.
type BookableCustomer struct {
	BookingCustomer
	Status  string
	HasUser bool // of WordPress
}

// CustomerRow finds one customer, the oldest if there are several.
func CustomerRow(ctx context.Context, s *session.Session, which sq.Sqlizer) (c BookableCustomer, ok bool, err error) {
	stmt := sq.Select("id", "first_name", "last_name", "email", "phone", "status", "COALESCE(wordpress_user_id, 0) <> 0").From(s.DB.Name(wpdb.Customers)).
		Where(which).OrderBy("id").Limit(1)
	return wpdb.One(ctx, s.DB, "find customer", stmt, wpdb.Into(func(c *BookableCustomer) []any {
		return []any{&c.ID, wpdb.OrZero(&c.FirstName), wpdb.OrZero(&c.LastName), wpdb.OrZero(&c.Email), wpdb.OrZero(&c.Phone), wpdb.OrZero(&c.Status), &c.HasUser}
	}))
}
