package catalog

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Location is a location.
type Location struct {
	ID                   int64
	Name, FullAddress    string
	Status               string // as stored: active or disabled
	CategoryID           int64  // 0 for none
	OrderNumber          *int64
	SelectionImageID     int64
	CreatedAt, UpdatedAt domain.Timestamp
}

// LocationFilter filters a list of locations. A nil field does not filter.
type LocationFilter struct {
	session.Paging
	Search *string // name or full address
	Active *bool
}

// ListLocations returns one page of the locations that match the filter, newest first.
func ListLocations(ctx context.Context, s *session.Session, f LocationFilter) (records.Page[Location], error) {
	q := sq.Select().From(s.DB.As(wpdb.Locations, "l"))
	q = records.FilterSearch(q, f.Search, "l.name", "l.full_address")
	q = records.FilterActive(q, "l.status", f.Active)
	l := records.List{Op: "list locations", Filter: q}
	return records.ReadSmallPage(ctx, s, l, f.Paging, locationColumns(q), records.SortOrder{Columns: []string{"l.id"}, Descending: true}, scanLocation)
}

// LoadLocations returns locations by their ids.
func LoadLocations(ctx context.Context, s *session.Session, ids []int64) ([]Location, error) {
	stmt := locationColumns(sq.Select().From(s.DB.As(wpdb.Locations, "l")).Where(sq.Eq{"l.id": ids}))
	return wpdb.All(ctx, s.DB, "read locations", stmt, scanLocation)
}

// locationColumns selects what scanLocation reads of locations, l.
func locationColumns(stmt sq.SelectBuilder) sq.SelectBuilder {
	return stmt.Columns("l.id", "l.name", "l.full_address", "l.status", "l.category_id", "l.order_number", "l.selection_image_id",
		"l.created_at", "l.updated_at")
}

var scanLocation = wpdb.Into(func(l *Location) []any {
	return []any{&l.ID, &l.Name, wpdb.OrZero(&l.FullAddress), &l.Status, wpdb.OrZero(&l.CategoryID), &l.OrderNumber,
		wpdb.OrZero(&l.SelectionImageID), wpdb.OrZero((*string)(&l.CreatedAt)), wpdb.OrZero((*string)(&l.UpdatedAt))}
})
