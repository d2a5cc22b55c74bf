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
	l := list{op: "list categories", filter: sq.Select().From(s.db.As(wpdb.ServiceCategories, "sc"))}
	return smallPage(ctx, s, l, p, onPage(s.categoryQuery(), p), scanCategory)
}

// AllServiceCategories returns all categories, by order number.
func (s *Site) AllServiceCategories(ctx context.Context) ([]ServiceCategory, error) {
	return wpdb.All(ctx, s.db, "read categories", s.categoryQuery().Column("NULL"), func(row wpdb.Scanner) (ServiceCategory, error) {
		return scanCategory(row, new(any))
	})
}

func (s *Site) categoryQuery() sq.SelectBuilder {
	return sq.Select("sc.id", "sc.name", "sc.short_description", "sc.parent_id", "sc.selection_image_id", "sc.order_number",
		"(SELECT COUNT(*) FROM "+s.db.As(wpdb.Services, "s")+" WHERE s.category_id = sc.id AND s.status = 'active')").
		From(s.db.As(wpdb.ServiceCategories, "sc")).OrderBy("sc.order_number", "sc.id")
}

func scanCategory(row wpdb.Scanner, last any) (c ServiceCategory, err error) {
	err = row.Scan(&c.ID, &c.Name, wpdb.OrZero(&c.ShortDescription), wpdb.OrZero(&c.ParentID),
		wpdb.OrZero(&c.SelectionImageID), wpdb.OrZero(&c.OrderNumber), &c.ServicesCount, last)
	return c, err
}
