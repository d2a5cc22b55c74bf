package handlers_test

import (
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestListsByTheDayOfTheLastChange filters lists by days, both included: in UTC, and in the site's time
// zone if timestamps are shown in it.
func TestListsByTheDayOfTheLastChange(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	inUTC, inSiteTime := newServer(t, database), newServer(t, database, siteTimestamps)
	for table, list := range map[string]*listing{"bookings": &bookingList, "customers": &customerList, "orders": &orderList, "transactions": &paymentList} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			database.Execute(t,
				"UPDATE wp_latepoint_"+table+" SET created_at = '2026-01-01 00:00:00', updated_at = TIMESTAMPADD(DAY, id MOD 5, '2026-03-01 23:30:00')",
				"UPDATE wp_latepoint_"+table+" SET updated_at = NULL WHERE id MOD 7 = 0") // no bound includes these
			column := table[:1] + ".updated_at"
			list.finds(t, inUTC, []find{
				{query: "updated_from=2026-03-03", where: column + " >= '2026-03-03 00:00:00'"},
				{query: "updated_to=2026-03-03", where: column + " <= '2026-03-03 23:59:59'"},
				{query: "updated_from=2026-03-02&updated_to=2026-03-02", where: "DATE(" + column + ") = '2026-03-02'"},
				{query: "updated_from=2026-03-06", none: true},
				{query: "updated_from=2026-03-04&updated_to=2026-03-02", none: true},
				{query: "updated_to=9999-12-31", where: column + " IS NOT NULL"},
			})
			list.finds(t, inSiteTime, []find{
				{query: "updated_from=2026-03-03&updated_to=2026-03-03", where: "DATE(" + column + ") = '2026-03-02'"},
				{query: "updated_from=2026-03-06", where: "DATE(" + column + ") = '2026-03-05'"},
			})
		})
	}
}

// TestListsByTheLastChangeWhereItIsNotStored: tables of older versions lack the column, so no record is
// known to have changed.
func TestListsByTheLastChangeWhereItIsNotStored(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	database.Execute(t, "ALTER TABLE wp_latepoint_bookings DROP COLUMN updated_at", "ALTER TABLE wp_latepoint_transactions DROP COLUMN updated_at")
	s := newServer(t, database)
	for _, list := range []*listing{&bookingList, &paymentList} {
		list.finds(t, s, []find{{query: "updated_from=2026-01-01", none: true}, {query: "updated_to=2026-12-31", none: true}})
	}
}
