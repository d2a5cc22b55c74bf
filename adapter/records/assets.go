package records

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Asset is a room or a device of Pro Features that is connected to a service.
type Asset struct {
	availability.Asset
	Active bool // a disabled one closes no time, but is stored with bookings
}

// UsesAssets reports whether bookings take assets: Pro Features is active, has its tables, and assets are switched on.
func UsesAssets(ctx context.Context, s *session.Session, settings map[string]string) (bool, error) {
	if settings[session.SettingAssets] != session.On || !s.Extension(extensions.ProFeatures, settings) {
		return false, nil
	}
	for _, table := range session.AssetTables {
		if exists, err := session.HasTable(ctx, s, table); err != nil || !exists {
			return false, err
		}
	}
	return true, nil
}

// LoadAssets returns the assets of services, in the order in which they were connected.
func LoadAssets(ctx context.Context, s *session.Session, services ...int64) (map[int64][]Asset, error) {
	stmt := sq.Select("x.service_id", "a.id", "a.quantity", "a.status = 'active'", "g.agent_id").From(s.DB.As(wpdb.ServicesAssets, "x")).
		Join(s.DB.As(wpdb.Assets, "a")+" ON a.id = x.asset_id").LeftJoin(s.DB.As(wpdb.AgentsAssets, "g")+" ON g.asset_id = a.id").
		Where(sq.Eq{"x.service_id": services}).OrderBy("x.id", "g.id")
	return session.ReadStatement(ctx, s, stmt, func(ctx context.Context, stmt sq.Sqlizer) (map[int64][]Asset, error) {
		rows, err := session.Grouped(ctx, s, "read assets of services", stmt, func(row wpdb.Scanner, service *int64) (a Asset, err error) {
			var agent int64
			err = row.Scan(service, &a.ID, wpdb.OrZero(&a.Quantity), &a.Active, wpdb.OrZero(&agent))
			if agent != 0 {
				a.Agents = []int64{agent}
			}
			return a, err
		})
		for service, found := range rows { // a row for each agent
			var assets []Asset
			for _, a := range found {
				if i := slices.IndexFunc(assets, func(known Asset) bool { return known.ID == a.ID }); i >= 0 {
					assets[i].Agents = append(assets[i].Agents, a.Agents...)
				} else {
					assets = append(assets, a)
				}
			}
			rows[service] = assets
		}
		return rows, err
	})
}

// AssetRows returns the rows of the assets that a booking takes with an agent.
func AssetRows(s *session.Session, booking, agent int64, assets []Asset) (rows []session.Row) {
	for _, a := range assets {
		if a.TakenBy(agent) {
			rows = append(rows, append(session.Row{{Name: "booking_id", Value: booking}, {Name: "asset_id", Value: a.ID}}, s.NewTimestamps()...))
		}
	}
	return rows
}

// RewriteAssets stores anew what bookings take, as Pro Features does whenever a booking is changed. known has the assets of their
// services; nil to read them.
func RewriteAssets(ctx context.Context, tx *session.Tx, w session.WriteSettings, known map[int64][]Asset, bookings ...Booking) error {
	if len(bookings) == 0 {
		return nil
	}
	if uses, err := UsesAssets(ctx, tx.Session, w.Settings); err != nil || !uses {
		return err
	}
	if known == nil {
		var err error
		if known, err = LoadAssets(ctx, tx.Session, IDsOf(bookings, Booking.ServiceID)...); err != nil {
			return err
		}
	}
	if err := tx.DeleteWhere(ctx, wpdb.BookingsAssets, sq.Eq{"booking_id": IDsOf(bookings, func(b Booking) int64 { return b.ID })}); err != nil {
		return err
	}
	var rows []session.Row
	for _, b := range bookings {
		rows = append(rows, AssetRows(tx.Session, b.ID, b.Agent.ID, known[b.ServiceID()])...)
	}
	_, err := tx.InsertLater(ctx, wpdb.BookingsAssets, rows...)
	return err
}
