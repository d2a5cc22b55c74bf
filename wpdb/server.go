package wpdb

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// ServerSettings are the server's defaults, which our sessions override and
// WordPress's only in part.
type ServerSettings struct {
	SQLMode  string
	TimeZone string
	Now      time.Time // by the server's clock, in UTC
}

// ServerSettings queries the server's settings.
func (db *DB) ServerSettings(ctx context.Context) (ServerSettings, error) {
	stmt := sq.Select("@@GLOBAL.sql_mode", "@@GLOBAL.time_zone", "@@system_time_zone", "UTC_TIMESTAMP()")
	settings, _, err := One(ctx, db, "read server settings", stmt, func(row Scanner) (s ServerSettings, err error) {
		var system, now string
		if err := row.Scan(OrZero(&s.SQLMode), OrZero(&s.TimeZone), OrZero(&system), &now); err != nil {
			return s, err
		}
		if s.TimeZone == "SYSTEM" && system != "" {
			s.TimeZone = system
		}
		s.Now, err = time.Parse(time.DateTime, now[:min(len(now), len(time.DateTime))])
		return s, err
	})
	return settings, err
}
