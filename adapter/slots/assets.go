package slots

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// loadAssets reads the assets of a service, disabled ones too: none for any service.
func loadAssets(ctx context.Context, s *session.Session, service int64, settings map[string]string) ([]records.Asset, error) {
	if service == 0 {
		return nil, nil
	}
	if uses, err := records.UsesAssets(ctx, s, settings); err != nil || !uses {
		return nil, err
	}
	assets, err := records.LoadAssets(ctx, s, service)
	return assets[service], err
}

// activeAssets returns the assets that close times once they are taken.
func (v Service) activeAssets() (active []availability.Asset) {
	for _, a := range v.Assets {
		if a.Active {
			active = append(active, a.Asset)
		}
	}
	return active
}

// assetLocks returns the locks of the assets that bookings with any of some agents take.
func (v Service) assetLocks(agents []int64) (locks []session.Lock) {
	for _, a := range v.activeAssets() {
		if slices.ContainsFunc(agents, a.TakenBy) {
			locks = append(locks, session.LockOf(session.AssetLock, a.ID))
		}
	}
	return locks
}

// assetUses reads the bookings and the holds that take assets on the days of a part, of whatever service and agent.
// What a booking takes is stored with it, and a hold takes what a booking would.
func assetUses(ctx context.Context, s *session.Session, rules blockingRules, part calendarPart) ([]assetUse, error) {
	if len(rules.assets) == 0 {
		return nil, nil
	}
	ids := records.IDsOf(rules.assets, func(a availability.Asset) int64 { return a.ID })
	days := func(column string) sq.And {
		return sq.And{sq.GtOrEq{column: part.from.String()}, sq.LtOrEq{column: min(part.to, availability.LastDay).String()}}
	}
	stmt := sq.Select("x.asset_id", "0", "b.id", "b.agent_id", "b.service_id", "b.location_id", "b.start_date", "b.start_time", "b.end_date", "b.end_time", "b.duration", "u.duration",
		"b.buffer_before", "b.buffer_after", "1").Distinct().
		From(s.DB.As(wpdb.Bookings, "b")).Join(s.DB.As(wpdb.BookingsAssets, "x") + " ON x.booking_id = b.id").LeftJoin(s.DB.As(wpdb.Services, "u") + " ON u.id = b.service_id").
		Where(days("b.start_date")).Where(sq.Eq{"b.status": rules.statuses, "x.asset_id": ids})
	if s.Schema.Has(wpdb.Holds) {
		stmt = records.UnionAll(stmt, sq.Select("x.asset_id", "h.id", "0", "h.agent_id", "h.service_id", "h.location_id", "h.start_date", "h.start_time", "h.end_date", "h.end_time", "h.duration", "NULL",
			"h.buffer_before", "h.buffer_after", "1").Distinct().
			From(s.DB.As(wpdb.Holds, "h")).Join(s.DB.As(wpdb.ServicesAssets, "x")+" ON x.service_id = h.service_id").
			Where(days("h.start_date")).Where(sq.Gt{"h.expires_at": domain.Stamp(s.Now)}).Where(sq.NotEq{"h.id": rules.except}).Where(sq.Eq{"x.asset_id": ids}))
	}
	// What is hidden from the caller takes assets, too.
	uses, err := wpdb.All(ctx, s.DB.Unfiltered(), "read uses of assets", stmt, func(row wpdb.Scanner) (u assetUse, err error) {
		var r blockingRow
		if err := row.Scan(append([]any{&u.Asset, &u.hold}, r.dests()...)...); err != nil {
			return u, err
		}
		u.agent, u.service, u.location = r.agent, r.service, r.location
		b := r.booking()
		u.Booking, u.Day, u.Start, u.BufferBefore, u.BufferAfter = b.ID, b.Start.Day, b.Start.Minutes, b.BufferBefore, b.BufferAfter
		if end := s.Zone.Clock().StoredEnd(b.Start, b.End, b.Duration); end.Day == b.Start.Day {
			u.End = end.Minutes
		}
		return u, nil
	})
	return slices.DeleteFunc(uses, func(u assetUse) bool {
		return u.hold != 0 && !slices.ContainsFunc(rules.assets, func(a availability.Asset) bool { return a.ID == u.Asset && a.TakenBy(u.agent) })
	}), err
}

// assetUse is what a row says that takes an asset.
type assetUse struct {
	availability.AssetUse
	hold                     int64 // 0 for a booking
	agent, service, location int64
}

// shownUses returns the uses without the ids of bookings that are hidden from the caller.
func shownUses(s *session.Session, uses []assetUse) []availability.AssetUse {
	shown := make([]availability.AssetUse, len(uses))
	for i, u := range uses {
		if shown[i] = u.AssetUse; !s.Scope().Covers(u.agent, u.service, u.location) {
			shown[i].Booking = 0
		}
	}
	return shown
}
