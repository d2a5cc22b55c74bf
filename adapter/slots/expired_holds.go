package slots

import (
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// holdsKept is how long the rows of expired holds are kept. Until then, a booking with an expired hold
// still gets the free starts of its day.
const holdsKept = time.Hour

// ExpiredHolds selects the ids of holds that expired more than holdsKept ago. Uses the index on expires_at.
func ExpiredHolds(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Holds)).
		Where(sq.LtOrEq{"expires_at": domain.Stamp(now.Add(-holdsKept))}).OrderBy("expires_at", "id")
}
