package customers

import (
	"context"
	"errors"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Find returns at most limit customers whom each word of a text describes, see records.DescribesCustomer, the newest
// first and without Stats. It reads no more customers than it needs, and counts nothing, unlike List.
func Find(ctx context.Context, s *session.Session, text string, limit uint64) ([]records.Customer, error) {
	customers := sq.Select().From(s.DB.As(wpdb.Customers, "c")).OrderBy("c.id DESC")
	// Whole rows take half as long again to search.
	ids, err := wpdb.All(ctx, s.DB, "find customers", customers.Column("c.id").Where(records.DescribesCustomer("c", text)).Limit(limit), wpdb.Value[int64])
	if errors.Is(err, wpdb.ErrBadValue) { // no customer has such a text
		return nil, nil
	}
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return wpdb.All(ctx, s.DB, "read customers", customers.Columns(records.CustomerColumns...).Where(sq.Eq{"c.id": ids}), records.ScanCustomer)
}
