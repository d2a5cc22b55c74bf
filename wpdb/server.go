package wpdb

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// ServerSettings are the server's defaults. Our sessions override them; WordPress overrides only some.
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

// Durability says what a server has on disk when it acknowledges a COMMIT.
type Durability struct {
	FlushLog   string // innodb_flush_log_at_trx_commit: 1 if the transaction is
	SyncBinlog string // sync_binlog: 1 if the binary log is; empty if the server writes none
}

// Durable reports whether no acknowledged transaction is lost if the machine fails.
func (d Durability) Durable() bool {
	return d.FlushLog == "1" && (d.SyncBinlog == "" || d.SyncBinlog == "1")
}

// Durability queries the settings; ok is false if the server does not report them.
func (db *DB) Durability(ctx context.Context) (d Durability, ok bool, err error) {
	stmt := showStatement("VARIABLES", []string{"innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog"})
	found, err := Map[string, string](ctx, db, "read settings of durability", stmt)
	if err != nil {
		return d, false, err
	}
	found = lowerNames(found)
	d.FlushLog = found["innodb_flush_log_at_trx_commit"]
	if isOn(found["log_bin"]) {
		d.SyncBinlog = found["sync_binlog"]
	}
	return d, d.FlushLog != "", nil
}
