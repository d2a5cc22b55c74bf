package journal

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Before returns the position before the first entry about a change at the given time or later; the end if
// there is none.
func (j *Journal) Before(ctx context.Context, at time.Time) (int64, error) {
	p, err := bounds(ctx, j.db)
	if err != nil {
		return 0, err
	}
	stmt := sq.Select("MIN(number)").From(j.db.Name(wpdb.Changes)).Where(sq.GtOrEq{"at": domain.Stamp(at)}).Where(sq.LtOrEq{"number": p.last})
	first, _, err := wpdb.One(ctx, j.db, "find first change since a time", stmt, func(row wpdb.Scanner) (n int64, err error) {
		err = row.Scan(wpdb.OrZero(&n))
		return n, err
	})
	switch {
	case err != nil:
		return 0, err
	case first == 0:
		return p.last, nil
	default:
		return max(first-1, p.floor), nil
	}
}
