package keys

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// columns are the columns of the table except its id.
var columns = []string{
	"at", "request_id", "key_id", "user_id", "from_console", "method", "route", "record_id", "tool",
	"status", "code", "took_us", "statements", "fields", "refused",
}

// stamp is the layout of a time in the table.
const stamp = "2006-01-02 15:04:05.000"

// store writes entries.
func (l *RequestLog) store(ctx context.Context, entries []LogEntry) error {
	stmt := sq.Insert(l.db.Name(wpdb.Requests)).Columns(columns...)
	for i := range entries {
		e := &entries[i]
		stmt = stmt.Values(e.At.UTC().Format(stamp), cut(e.RequestID, requestIDSize), e.KeyID, e.UserID, e.FromConsole, cut(e.Method, methodSize), cut(e.Route, routeSize), e.RecordID, cut(e.Tool, toolSize),
			e.Status, cut(e.Code, codeSize), min(max(e.Took.Microseconds(), 0), math.MaxUint32), e.Statements, cut(strings.Join(e.Fields, ", "), fieldsSize), e.Refused)
	}
	_, err := l.db.Change(ctx, "write requests", stmt)
	return err
}

// trimSize limits how many entries one statement deletes.
const trimSize = 5000

// trim deletes the oldest entries beyond those kept. Entries about requests without a valid key are counted
// separately: a tenth as many.
func (l *RequestLog) trim(ctx context.Context) error {
	for _, part := range []struct {
		which sq.Sqlizer
		keep  int
	}{{sq.Eq{"refused": 0}, l.keep}, {sq.Gt{"refused": 0}, l.keep / 10}} {
		oldest := sq.Select("id").From(l.db.Name(wpdb.Requests)).Where(part.which).OrderBy("id DESC").Offset(uint64(part.keep)).Limit(1)
		last, found, err := wpdb.One(ctx, l.db, "find old requests", oldest, wpdb.Value[int64])
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		stmt := sq.Delete(l.db.Name(wpdb.Requests)).Where(part.which).Where(sq.LtOrEq{"id": last}).OrderBy("id").Limit(trimSize)
		if _, err := l.db.Change(ctx, "delete old requests", stmt); err != nil {
			return err
		}
	}
	return nil
}

// RequestsKept is how long entries are kept at most.
const RequestsKept = 7 * 24 * time.Hour

// OldRequests selects the ids of entries that are too old. It reads the whole table, which is small.
func OldRequests(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Requests)).Where(sq.Lt{"at": now.Add(-RequestsKept).UTC().Format(stamp)}).OrderBy("id")
}

// RequestFilter selects entries. Its zero value selects all.
type RequestFilter struct {
	KeyID     int64
	Status    int    // one digit stands for all that begin with it
	Route     string // with its method, such as GET /bookings/:id
	RequestID string
	// Resource and RecordID select the requests whose path names a record, such as bookings and 17, and
	// those that changed it.
	Resource string
	RecordID int64
	Before   int64 // the id of an entry; 0 for the newest entries
}

// maxChanging limits how many requests are found by their changes of one record.
const maxChanging = 500

// ListRequests returns the newest entries that match a filter, the newest first. It examines the whole table, whose
// size is limited.
func ListRequests(ctx context.Context, db *wpdb.DB, f RequestFilter, limit uint64) ([]LogEntry, error) {
	if !isASCII(f.RequestID) || !isASCII(f.Route) {
		return nil, nil // their columns are ASCII, and the database compares them to nothing else
	}
	which := sq.And{}
	if f.Before > 0 {
		which = append(which, sq.Lt{"id": f.Before})
	}
	if f.KeyID > 0 {
		which = append(which, sq.Eq{"key_id": f.KeyID})
	}
	switch {
	case f.Status >= 1 && f.Status <= 9:
		which = append(which, sq.GtOrEq{"status": f.Status * 100}, sq.Lt{"status": (f.Status + 1) * 100})
	case f.Status > 0:
		which = append(which, sq.Eq{"status": f.Status})
	}
	if method, route, ok := strings.Cut(f.Route, " "); ok {
		which = append(which, sq.Eq{"method": method, "route": route})
	}
	if f.RequestID != "" {
		which = append(which, sq.Eq{"request_id": f.RequestID})
	}
	if f.Resource != "" {
		changing, err := changing(ctx, db, f.Resource, f.RecordID)
		if err != nil {
			return nil, err
		}
		record := "/" + f.Resource + "/:id"
		which = append(which, sq.Or{
			sq.And{sq.Eq{"record_id": f.RecordID}, sq.Or{sq.Eq{"route": record}, sq.Like{"route": record + "/%"}}},
			sq.And{sq.Eq{"request_id": changing}, sq.NotEq{"method": "GET"}}, // clients may give several requests one id
		})
	}
	stmt := selectEntries(db).OrderBy("id DESC").Limit(limit)
	if len(which) > 0 {
		stmt = stmt.Where(which)
	}
	return wpdb.All(ctx, db, "read requests", stmt, scanEntry)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// changing returns the ids of the requests that changed a record, the latest first. It uses the journal's
// index record.
func changing(ctx context.Context, db *wpdb.DB, resource string, id int64) ([]string, error) {
	stmt := sq.Select("request_id").From(db.Name(wpdb.Changes)).
		Where(sq.Eq{"resource": resource, "resource_id": id}).Where(sq.NotEq{"request_id": ""}).OrderBy("number DESC").Limit(maxChanging)
	ids, err := wpdb.All(ctx, db, "read requests that changed a record", stmt, wpdb.Value[string])
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// Hour counts the requests of an hour.
type Hour struct{ Done, Refused, Failed int }

// maxHours is more than the log has.
const maxHours = 200

// RequestHours counts the requests of each hour since a full one, by its beginning, as far as the log has them.
func RequestHours(ctx context.Context, db *wpdb.DB, since time.Time) (map[time.Time]Hour, error) {
	const hour = "DATE_FORMAT(at, '%Y-%m-%d %H')"
	const some = "SUM(CASE WHEN status %s THEN GREATEST(refused, 1) ELSE 0 END)"
	stmt := sq.Select(hour, fmt.Sprintf(some, "< 400"), fmt.Sprintf(some, "BETWEEN 400 AND 499"), fmt.Sprintf(some, ">= 500")).
		From(db.Name(wpdb.Requests)).Where(sq.GtOrEq{"at": since.UTC().Format(stamp)}).GroupBy(hour).Limit(maxHours)
	return wpdb.MapBy(ctx, db, "count requests of hours", stmt, func(row wpdb.Scanner) (at time.Time, count Hour, err error) {
		var text string
		if err = row.Scan(&text, &count.Done, &count.Refused, &count.Failed); err == nil {
			at, err = time.Parse("2006-01-02 15", text)
		}
		return at, count, err
	})
}

// maxKeys is more than the log has.
const maxKeys = 100_000

// RequestCounts returns how many requests each key sent since a time, by its id, as far as the log has them.
func RequestCounts(ctx context.Context, db *wpdb.DB, since time.Time) (map[int64]int64, error) {
	stmt := sq.Select("key_id", "COUNT(*)").From(db.Name(wpdb.Requests)).
		Where(sq.GtOrEq{"at": since.UTC().Format(stamp)}).Where(sq.Gt{"key_id": 0}).GroupBy("key_id").Limit(maxKeys)
	return wpdb.MapBy(ctx, db, "count requests of keys", stmt, func(row wpdb.Scanner) (id, requests int64, err error) {
		return id, requests, row.Scan(&id, &requests)
	})
}

// RequestRoutes returns the routes of the entries with their methods, as Filter.Route takes them, in alphabetical
// order.
func RequestRoutes(ctx context.Context, db *wpdb.DB) ([]string, error) {
	stmt := sq.Select("DISTINCT CONCAT(method, ' ', route)").From(db.Name(wpdb.Requests)).Limit(maxRoutes)
	routes, err := wpdb.All(ctx, db, "read routes of requests", stmt, wpdb.Value[string])
	slices.Sort(routes)
	return routes, err
}

// maxRoutes is more than the API has.
const maxRoutes = 500

func selectEntries(db *wpdb.DB) sq.SelectBuilder {
	return sq.Select("id").Columns(columns...).From(db.Name(wpdb.Requests))
}

func scanEntry(row wpdb.Scanner) (e LogEntry, err error) {
	var at, fields string
	var took int64
	err = row.Scan(&e.ID, &at, &e.RequestID, &e.KeyID, &e.UserID, &e.FromConsole, &e.Method, &e.Route, &e.RecordID, &e.Tool,
		&e.Status, &e.Code, &took, &e.Statements, &fields, &e.Refused)
	if err != nil {
		return e, err
	}
	e.Took = time.Duration(took) * time.Microsecond
	if fields != "" {
		e.Fields = strings.Split(fields, ", ")
	}
	if e.At, err = time.Parse(time.DateTime, at); err != nil {
		return e, fmt.Errorf("time of request %d: %w", e.ID, err)
	}
	return e, nil
}
