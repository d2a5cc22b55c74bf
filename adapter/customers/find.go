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
	stmt := sq.Select(records.CustomerColumns(s)...).From(s.DB.As(wpdb.Customers, "c")).
		Where(records.DescribesCustomer("c", text)).OrderBy("c.id DESC").Limit(limit)
	found, err := wpdb.All(ctx, s.DB, "find customers", stmt, records.ScanCustomer)
	if errors.Is(err, wpdb.ErrBadValue) { // no customer has such a text
		return nil, nil
	}
	return found, err
}
