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
func WholeCustomers(ctx context.Context, s *session.Session, records []Customer, size *Total) ([]Customer, error) {
	if err := addCustomerMeta(ctx, s, records); err != nil {
		return nil, err
	}
	stats, err := LoadCustomerStats(ctx, s, customerIDs(records), size)
	if err != nil {
		return nil, err
	}
	for i, c := range records {
		records[i].Stats = stats[c.ID]
	}
	return records, nil
}

// LoadCustomer returns one customer, or a CodeNotFound.
func LoadCustomer(ctx context.Context, s *session.Session, id int64) (Customer, error) {
	c, err := LoadStoredCustomer(ctx, s, id)
	if err != nil {
		return Customer{}, err
	}
	stats, err := LoadCustomerStats(ctx, s, []int64{id}, new(Total))
	c.Stats = stats[id]
	return c, err
}

func customerIDs(records []Customer) []int64 {
	return IDsOf(records, func(c Customer) int64 { return c.ID })
}

// LoadStoredCustomer returns a Customer without Stats, which would cost a scan.
func LoadStoredCustomer(ctx context.Context, s *session.Session, id int64) (Customer, error) {
	stmt := sq.Select(CustomerColumns...).From(s.DB.As(wpdb.Customers, "c")).Where(sq.Eq{"c.id": id})
	records, err := wpdb.All(ctx, s.DB, "read customer", stmt, ScanCustomer)
	if err == nil {
		err = addCustomerMeta(ctx, s, records)
	}
	return Only(records, err, domain.CustomerResource, id)
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

// LoadCustomerStats counts bookings and sums up payments in one statement. Each customer has several rows,
// one per part, in which the columns of the other parts are empty. The statement counts the list if size
// asks for it, in a row that belongs to no customer.
func LoadCustomerStats(ctx context.Context, s *session.Session, ids []int64, size *Total) (map[int64]CustomerStats, error) {
	if len(ids) == 0 && size.Count == nil {
		return nil, nil
	}
	bookings, err := bookingCounts(s, ids)
	if err != nil {
		return nil, err
	}
	stmt := bookings.SuffixExpr(sq.ConcatExpr("UNION ALL ", paidSums(s, ids)))
	if size.Count != nil {
		stmt = stmt.SuffixExpr(sq.ConcatExpr("UNION ALL SELECT 0, (", size.Count, "), 0, 0, NULL, NULL, NULL, NULL"))
	}
	parts, err := session.Grouped(ctx, s, "sum up customers", stmt, func(row wpdb.Scanner, customer *int64) (c CustomerStats, err error) {
		err = row.Scan(customer, &c.Total, &c.Completed, &c.Cancelled, wpdb.OrZero(&c.Future),
			wpdb.OrZero((*string)(&c.Last)), wpdb.OrZero((*string)(&c.Next)), wpdb.OrZero(&c.Spent))
		c.Last, c.Next = c.Last.Day(), c.Next.Day()
		return c, err
	})
	for _, counted := range parts[0] {
		size.Size = counted.Total
	}
	stats := make(map[int64]CustomerStats, len(ids))
	for _, id := range ids {
		var sum CustomerStats
		for _, part := range parts[id] {
			sum.add(part)
		}
		stats[id] = sum
	}
	return stats, err
}

func (c *CustomerStats) add(part CustomerStats) {
	c.Total += part.Total
	c.Completed += part.Completed
	c.Cancelled += part.Cancelled
	c.Future += part.Future
	c.Spent = c.Spent.Add(part.Spent)
	c.Last, c.Next = c.Last+part.Last, c.Next+part.Next // one operand of each is empty
}

// bookingCounts counts bookings by customer in one pass over the index on customer_id.
func bookingCounts(s *session.Session, customers []int64) (sq.SelectBuilder, error) {
	condition, now, err := StartsAfterNow(s).ToSql()
	return sq.Select("b.customer_id", "COUNT(*)", "SUM(b.status = 'completed')", "SUM(b.status = 'cancelled')").
		Column("SUM(b.status <> 'cancelled' AND "+condition+")", now...).
		Column("MAX(CASE WHEN b.status <> 'cancelled' AND NOT "+condition+" THEN b.start_date END)", now...).
		Column("MIN(CASE WHEN b.status <> 'cancelled' AND "+condition+" THEN b.start_date END)", now...).
		Column("NULL").
		From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.customer_id": customers}).GroupBy("b.customer_id"), err
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
func addCustomerMeta(ctx context.Context, s *session.Session, records []Customer) error {
	if len(records) == 0 {
		return nil
	}
	metas, err := customerMetas(ctx, s, customerIDs(records))
	if err != nil {
		return err
	}
	var defined map[string]json.RawMessage
	for i := range records {
		records[i].CustomFields, records[i].Profile = map[string]string{}, map[string]string{}
		for _, m := range metas[records[i].ID] {
			into := records[i].CustomFields
			switch {
			case slices.Contains(ProfileKeys, m.key):
				into = records[i].Profile
			case m.fromAPI || strings.HasPrefix(m.key, "cf_"):
			case slices.Contains(PlatformKeys, m.key):
				continue
			default:
				if defined == nil {
					defined, err = session.DefinedFields(ctx, s, session.SettingCustomerFields)
					if err != nil {
						return err
					}
				}
				if _, ok := defined[m.key]; !ok {
					continue
				}
			}
			if _, seen := into[m.key]; !seen { // the first of several rows with one key counts
				into[m.key] = m.value
			}
		}
	}
	return nil
}

// customerMeta is a meta row of a customer; fromAPI reports whether its key was ever written through the
// API.
type customerMeta struct {
	key, value string
	fromAPI    bool
}

func customerMetas(ctx context.Context, s *session.Session, ids []int64) (map[int64][]customerMeta, error) {
	stmt := sq.Select("m.object_id", "m.meta_key", "m.meta_value").From(s.DB.As(wpdb.CustomerMeta, "m")).
		Where(sq.Eq{"m.object_id": ids}).OrderBy("m.id")
	if s.Schema.Has(wpdb.CustomerFields) {
		stmt = stmt.Column("f.meta_key IS NOT NULL").LeftJoin(s.DB.As(wpdb.CustomerFields, "f") + " ON f.meta_key = m.meta_key")
	} else {
		stmt = stmt.Column("FALSE")
	}
	return session.Grouped(ctx, s, "read meta of customers", stmt, func(row wpdb.Scanner, owner *int64) (m customerMeta, err error) {
		err = row.Scan(owner, &m.key, wpdb.OrZero(&m.value), &m.fromAPI)
		return m, err
	})
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
