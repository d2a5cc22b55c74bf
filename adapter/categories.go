package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// ServiceCategory is a category of services. Categories have no status in the
// platform: all are active.
type ServiceCategory struct {
	ID                     int64
	Name, ShortDescription string
	ParentID               int64 // 0 at the top level
	SelectionImageID       int64
	OrderNumber            int64
	ServicesCount          int64 // active services whose own category this is
}

// ServiceCategories returns one page of the categories, by order number.
func (s *Site) ServiceCategories(ctx context.Context, p Paging) (Page[ServiceCategory], error) {
	l := list{id: "sc.id", filter: sq.Select().From(s.db.As(wpdb.ServiceCategories, "sc"))}
	ids, total, err := s.pageIDs(ctx, "list categories", l, p, "sc.order_number", "sc.id")
	if err != nil || len(ids) == 0 {
		return Page[ServiceCategory]{Paging: p, Total: total}, err
	}
	records, err := s.categories(ctx, s.categoryQuery().Where(sq.Eq{"sc.id": ids}))
	return Page[ServiceCategory]{Paging: p, Records: records, Total: total}, err
}

// AllServiceCategories returns all categories, by order number.
func (s *Site) AllServiceCategories(ctx context.Context) ([]ServiceCategory, error) {
	return s.categories(ctx, s.categoryQuery())
}

func (s *Site) categoryQuery() sq.SelectBuilder {
	return sq.Select("sc.id", "sc.name", "sc.short_description", "sc.parent_id", "sc.selection_image_id", "sc.order_number",
		"(SELECT COUNT(*) FROM "+s.db.As(wpdb.Services, "s")+" WHERE s.category_id = sc.id AND s.status = 'active')").
		From(s.db.As(wpdb.ServiceCategories, "sc")).OrderBy("sc.order_number", "sc.id")
}

func (s *Site) categories(ctx context.Context, stmt sq.Sqlizer) ([]ServiceCategory, error) {
	return wpdb.All(ctx, s.db, "read categories", stmt, func(row wpdb.Scanner) (c ServiceCategory, err error) {
		err = row.Scan(&c.ID, &c.Name, wpdb.OrZero(&c.ShortDescription), wpdb.OrZero(&c.ParentID),
			wpdb.OrZero(&c.SelectionImageID), wpdb.OrZero(&c.OrderNumber), &c.ServicesCount)
		return c, err
	})
}
