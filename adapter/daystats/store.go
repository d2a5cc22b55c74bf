package daystats

import (
	"context"
	"errors"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// columns are the columns of the table except its id, with requests in the order of the outcomes.
var columns = []string{
	"minute", "server", "succeeded", "rejected", "failed", "limited", "throttled", "overloaded", "disconnected",
	"connections", "connection_limit", "durations", "keys_used",
}

const minutesPerStatement = 100

// store writes minutes, and returns how many it has written. Writing one again changes nothing, so it does
// not matter whether an earlier attempt succeeded.
func store(ctx context.Context, db *wpdb.DB, minutes []numbered) (written int, err error) {
	for part := range slices.Chunk(minutes, minutesPerStatement) {
		stmt := sq.Insert(db.Name(wpdb.Figures)).Columns(columns...).Suffix("ON DUPLICATE KEY UPDATE server = VALUES(server)")
		for i := range part {
			m := &part[i]
			values := []any{m.number, m.server}
			for _, n := range m.Requests {
				values = append(values, n)
			}
			stmt = stmt.Values(append(values, m.Connections, m.ConnectionLimit, m.Durations.encode(), encodeCounts(m.Keys))...)
		}
		if _, err := db.Change(ctx, "write figures", stmt); err != nil {
			return written, err
		}
		written += len(part)
	}
	return written, nil
}

// read reads the minutes starting at a number, at most the newest maxRows.
func read(ctx context.Context, db *wpdb.DB, from int64) ([]numbered, error) {
	stmt := sq.Select(columns...).From(db.Name(wpdb.Figures)).Where(sq.GtOrEq{"minute": from}).OrderBy(newestFirst...).Limit(maxRows)
	return wpdb.All(ctx, db, "read figures", stmt, func(row wpdb.Scanner) (m numbered, err error) {
		dest := []any{&m.number, &m.server}
		for i := range m.Requests {
			dest = append(dest, &m.Requests[i])
		}
		var durations, keys string
		err = row.Scan(append(dest, &m.Connections, &m.ConnectionLimit, &durations, &keys)...)
		m.Durations, m.Keys = decodeDurations(durations), decodeCounts(keys)
		return m, err
	})
}

// Old selects the ids of rows that are no longer shown.
func Old(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Figures)).Where(sq.LtOrEq{"minute": numberOf(now.Add(-Kept))}).OrderBy("minute", "id")
}

// maxRows is how many rows ten servers write in a day. There are more if a server restarts again and again,
// because each start counts as a server.
const maxRows = 10 * uint64(keptMinutes)

// newestFirst is the order of an index of the table.
var newestFirst = []string{"minute DESC", "server DESC"}

// Excess selects the ids of the oldest rows, if there are more than maxRows.
func Excess(db *wpdb.DB) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Figures)).OrderBy(newestFirst...).Offset(maxRows)
}

// Day holds the figures of the last 24 hours.
type Day struct {
	Slots []Minute // of SlotWidth each, oldest first
	Start time.Time
	Keys  map[int64]int64 // requests of all 24 hours, by the id of the key
	// Alone is set if the table of figures cannot be read, so that the figures are those of this server
	// since its start.
	Alone bool
}

// SlotWidth is the length of a slot of a Day.
const SlotWidth = 15 * time.Minute

// Total returns the figures of the whole day as one Minute.
func (d *Day) Total() Minute {
	var all Minute
	for i := range d.Slots {
		all.addLater(&d.Slots[i])
	}
	return all
}

// Day returns the figures of the last 24 hours of all servers. It reads one row for each
// minute and server, and at most maxRows.
func (r *Recorder) Day(ctx context.Context) (Day, error) {
	last := numberOf(r.now())
	first := last + 1 - int64(keptMinutes)
	minutes := r.unwritten() // read before the rows, so that minutes written meanwhile are not missed
	own := map[int64]bool{}
	for i := range minutes {
		own[minutes[i].number] = true
	}
	rows, err := read(ctx, r.db, first)
	alone := errors.Is(err, wpdb.ErrSchema) || errors.Is(err, wpdb.ErrAccessDenied)
	if err != nil && !alone {
		return Day{}, err
	}
	for i := range rows {
		if rows[i].server != r.server || !own[rows[i].number] {
			minutes = append(minutes, rows[i])
		}
	}
	width := int(SlotWidth / time.Minute)
	day := Day{Slots: slots(minutes, last, keptMinutes/width, width), Start: time.Unix(first*60, 0).UTC(), Alone: alone}
	total := day.Total()
	day.Keys = total.Keys
	return day, nil
}
