package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
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
	Paging
	Search *string // name or full address
	Active *bool
}

// Locations returns one page of the locations that match the filter, newest first.
func (s *Site) Locations(ctx context.Context, f LocationFilter) (Page[Location], error) {
	q := sq.Select().From(s.db.As(wpdb.Locations, "l"))
	q = filterSearch(q, f.Search, "l.name", "l.full_address")
	q = filterActive(q, "l.status", f.Active)
	ids, total, err := s.pageIDs(ctx, "list locations", list{id: "l.id", filter: q}, f.Paging, "l.id DESC")
	if err != nil || len(ids) == 0 {
		return Page[Location]{Paging: f.Paging, Total: total}, err
	}
	stmt := sq.Select("id", "name", "full_address", "status", "category_id", "order_number", "selection_image_id", "created_at", "updated_at").
		From(s.db.Name(wpdb.Locations)).Where(sq.Eq{"id": ids}).OrderBy("id DESC")
	records, err := wpdb.All(ctx, s.db, "read locations", stmt, func(row wpdb.Scanner) (l Location, err error) {
		err = row.Scan(&l.ID, &l.Name, wpdb.OrZero(&l.FullAddress), &l.Status, wpdb.OrZero(&l.CategoryID), &l.OrderNumber,
			wpdb.OrZero(&l.SelectionImageID), wpdb.OrZero((*string)(&l.CreatedAt)), wpdb.OrZero((*string)(&l.UpdatedAt)))
		return l, err
	})
	return Page[Location]{Paging: f.Paging, Records: records, Total: total}, err
}
