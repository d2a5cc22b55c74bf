package adapter

import (
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// How holds keep slots free
//
// A row of {prefix}bookside_holds keeps a slot for a customer who has yet to book. Until it
// expires, it blocks what a booking with the same columns would block, if that booking's
// status blocked its time. From then on it means nothing.
//
//	SELECT agent_id, service_id, location_id, start_date, start_time, end_date, end_time,
//	       buffer_before, buffer_after, total_attendees
//	FROM wp_bookside_holds
//	WHERE expires_at > UTC_TIMESTAMP()
//	  AND start_date BETWEEN '2026-11-30' AND '2026-12-07'
//
//	agent_id, service_id,      ids of rows of the plugin's tables, never 0
//	location_id
//	start_date, start_time     the start: a date, and minutes since midnight, both by the
//	                           site's clock
//	end_date, end_time         the end, as the plugin stores it in a booking: an end at
//	                           midnight is minute 1440 of the next date
//	duration                   from the start to the end, in minutes
//	buffer_before,             minutes that must also stay free before and after
//	buffer_after
//	total_attendees            seats that it takes of a service with several
//	expires_at                 in UTC, to the second
//	key_id                     the API key that made it, which alone may use it
//
// The rules for everyone who reads these rows:
//
//   - Only Bookside writes them: it inserts a row under the locks of the slot (see locks.go),
//     and when the customer books, it deletes the row in the transaction that inserts the
//     booking. Whoever reads committed data sees one of the two, never both and never
//     neither.
//   - Rows stay for a while after they have expired. Always compare expires_at.
//   - Read one day more than you show, at its beginning: a hold may run past midnight.
//   - A hold of a service with one seat closes the time of its agent from start_time minus
//     buffer_before to end_time plus buffer_after, at all locations if the setting
//     one_location_at_time is on and at its own otherwise. If one_agent_at_location is on,
//     it also closes its location for all other agents.
//   - A hold of a service with several seats takes total_attendees of them, and closes the
//     time of its agent for other services only. A reader that cannot count seats should
//     leave the service itself open, and let the plugin count the seats that are booked.
//   - Holds count towards daily limits like bookings.

// holdsKept is how long the rows of holds that have expired are kept. Who comes too late
// with one of them then still learns which starts are free on its day.
const holdsKept = time.Hour

// expiredHolds selects the ids of holds that expired long ago. Uses the index on expires_at.
func expiredHolds(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Holds)).
		Where(sq.LtOrEq{"expires_at": domain.Stamp(now.Add(-holdsKept))}).OrderBy("expires_at", "id")
}
