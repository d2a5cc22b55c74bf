package catalog

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// ServiceCategory is a category of services. The plugin's categories have no
// status: all are active.
type ServiceCategory struct {
	ID                     int64
	Name, ShortDescription string
	ParentID               int64 // 0 at the top level
	SelectionImageID       int64
	OrderNumber            int64
	ServicesCount          int64 // active services directly in this category
}

// ListServiceCategories returns one page of the categories, by order number.
func ListServiceCategories(ctx context.Context, s *session.Session, p session.Paging) (records.Page[ServiceCategory], error) {
	l := records.List{Op: "list categories", Filter: sq.Select().From(s.DB.As(wpdb.ServiceCategories, "sc"))}
	return records.ReadSmallPage(ctx, s, l, p, categoryColumns(s), categoryOrder, scanCategory)
}

// LoadServiceCategories returns all categories, by order number.
func LoadServiceCategories(ctx context.Context, s *session.Session) ([]ServiceCategory, error) {
	return wpdb.All(ctx, s.DB, "read categories", categoryColumns(s).OrderBy(categoryOrder.Terms()...), scanCategory)
}

var categoryOrder = records.SortOrder{Columns: []string{"sc.order_number", "sc.id"}}

// categoryColumns selects what scanCategory reads of categories, sc.
func categoryColumns(s *session.Session) sq.SelectBuilder {
	return sq.Select("sc.id", "sc.name", "sc.short_description", "sc.parent_id", "sc.selection_image_id", "sc.order_number",
		"(SELECT COUNT(*) FROM "+s.DB.As(wpdb.Services, "s")+" WHERE s.category_id = sc.id AND s.status = 'active')").
		From(s.DB.As(wpdb.ServiceCategories, "sc"))
}

var scanCategory = wpdb.Into(func(c *ServiceCategory) []any {
	return []any{&c.ID, &c.Name, wpdb.OrZero(&c.ShortDescription), wpdb.OrZero(&c.ParentID),
		wpdb.OrZero(&c.SelectionImageID), wpdb.OrZero(&c.OrderNumber), &c.ServicesCount}
})
