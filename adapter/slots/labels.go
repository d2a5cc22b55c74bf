package slots

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Labels are the names that people know records by, by id.
type Labels map[domain.Resource]map[int64]Choice

// LoadLabels returns the names of all agents, services and locations.
func LoadLabels(ctx context.Context, s *session.Session) (Labels, error) {
	labels := Labels{}
	for _, resource := range []domain.Resource{domain.AgentResource, domain.ServiceResource, domain.LocationResource} {
		all, err := Choices(ctx, s, resource)
		if err != nil {
			return nil, err
		}
		labels.put(resource, all)
	}
	return labels, nil
}

// Add adds the names of other records: that of the customer for customers, orders, payments and invoices, the code for
// coupons. Records that do not exist get none.
func (l Labels) Add(ctx context.Context, s *session.Session, ids map[domain.Resource][]int64) error {
	for resource, of := range ids {
		stmt := sq.Select("r.id", "c.first_name", "c.last_name")
		switch customers := s.DB.As(wpdb.Customers, "c"); resource {
		case domain.CustomerResource:
			stmt = sq.Select("r.id", "r.first_name", "r.last_name").From(s.DB.As(wpdb.Customers, "r"))
		case domain.OrderResource:
			stmt = stmt.From(s.DB.As(wpdb.Orders, "r")).Join(customers + " ON c.id = r.customer_id")
		case domain.PaymentResource:
			stmt = stmt.From(s.DB.As(wpdb.Transactions, "r")).Join(customers + " ON c.id = r.customer_id")
		case domain.InvoiceResource:
			stmt = stmt.From(s.DB.As(wpdb.OrderInvoices, "r")).Join(s.DB.As(wpdb.Orders, "o") + " ON o.id = r.order_id").Join(customers + " ON c.id = o.customer_id")
		case domain.CouponResource:
			stmt = sq.Select("r.id", "r.code", "NULL").From(s.DB.As(wpdb.Coupons, "r"))
		default:
			continue
		}
		found, err := wpdb.All(ctx, s.DB, "list names", stmt.Where(sq.Eq{"r.id": of}), scanChoice)
		if err != nil {
			return err
		}
		l.put(resource, found)
	}
	return nil
}

func (l Labels) put(resource domain.Resource, choices []Choice) {
	l[resource] = make(map[int64]Choice, len(choices))
	for _, c := range choices {
		l[resource][c.ID] = c
	}
}

// Choices returns all agents, services or locations, by id.
func (l Labels) Choices(resource domain.Resource) []Choice {
	return slices.SortedFunc(maps.Values(l[resource]), func(a, b Choice) int { return cmp.Compare(a.ID, b.ID) })
}

// Text formats ids with their names, if they have one.
func (l Labels) Text(resource domain.Resource, ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
		if c, known := l[resource][id]; known {
			texts[i] = c.String()
		}
	}
	return strings.Join(texts, ", ")
}
