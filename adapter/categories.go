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
	stmt, err := s.onPage(ctx, l, s.categoryColumns(), p, categoryOrder)
	if err != nil {
		return emptyIfUnmatchable(Page[ServiceCategory]{Paging: p}, err)
	}
	return smallPage(ctx, s, l, p, stmt, scanCategory)
}

// AllServiceCategories returns all categories, by order number.
func (s *Site) AllServiceCategories(ctx context.Context) ([]ServiceCategory, error) {
	stmt := s.categoryColumns().Column("NULL").OrderBy(categoryOrder.terms()...)
	return wpdb.All(ctx, s.db, "read categories", stmt, func(row wpdb.Scanner) (ServiceCategory, error) {
		return scanCategory(row, new(any))
	})
}

var categoryOrder = sortOrder{columns: []string{"sc.order_number", "sc.id"}}

// categoryColumns selects what scanCategory reads of categories, sc.
func (s *Site) categoryColumns() sq.SelectBuilder {
	return sq.Select("sc.id", "sc.name", "sc.short_description", "sc.parent_id", "sc.selection_image_id", "sc.order_number",
		"(SELECT COUNT(*) FROM "+s.db.As(wpdb.Services, "s")+" WHERE s.category_id = sc.id AND s.status = 'active')").
		From(s.db.As(wpdb.ServiceCategories, "sc"))
}

func scanCategory(row wpdb.Scanner, last any) (c ServiceCategory, err error) {
	err = row.Scan(&c.ID, &c.Name, wpdb.OrZero(&c.ShortDescription), wpdb.OrZero(&c.ParentID),
		wpdb.OrZero(&c.SelectionImageID), wpdb.OrZero(&c.OrderNumber), &c.ServicesCount, last)
	return c, err
}
