package notify

import (
	"context"
	"encoding/json"
	"fmt"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// bundle is what a customer bought with an item of several bookings.
type bundle struct {
	name     string
	services []string // each with its number if more than one
}

// itemBundle returns the id of an order item's bundle, or 0 for none.
func itemBundle(item records.OrderItem) int64 {
	var data struct {
		BundleID json.Number `json:"bundle_id"`
	}
	if item.Variant != records.BundleItem || json.Unmarshal([]byte(item.ItemData), &data) != nil {
		return 0
	}
	id, err := data.BundleID.Int64()
	if err != nil {
		return 0
	}
	return id
}

// loadBundles reads the bundles of order items, by id.
func loadBundles(ctx context.Context, s *session.Session, items []records.OrderItem) (map[int64]bundle, error) {
	var ids []int64
	for _, item := range items {
		if id := itemBundle(item); id > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || !s.Schema.Has(wpdb.Bundles) || !s.Schema.Has(wpdb.BundlesServices) {
		return nil, nil
	}
	type member struct {
		id            int64
		name, service string
		quantity      int64
	}
	stmt := sq.Select("b.id", "b.name", "s.name", "bs.quantity").From(s.DB.As(wpdb.Bundles, "b")).
		LeftJoin(s.DB.As(wpdb.BundlesServices, "bs")+" ON bs.bundle_id = b.id").
		LeftJoin(s.DB.As(wpdb.Services, "s")+" ON s.id = bs.service_id").
		Where(sq.Eq{"b.id": ids}).OrderBy("b.id", "bs.id")
	members, err := wpdb.All(ctx, s.DB, "read bundles", stmt, wpdb.Into(func(m *member) []any {
		return []any{&m.id, wpdb.OrZero(&m.name), wpdb.OrZero(&m.service), wpdb.OrZero(&m.quantity)}
	}))
	found := map[int64]bundle{}
	for _, m := range members {
		if m.quantity > 1 {
			m.service = fmt.Sprintf("%s (%d)", m.service, m.quantity)
		}
		found[m.id] = bundle{m.name, append(found[m.id].services, m.service)}
	}
	return found, err
}
