package session

import (
	"context"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// CheckColumns returns a CodeUnavailable that names the columns missing from the site's tables, or nil.
// Requests that need one of them fail; all others are served. It makes no query.
func CheckColumns(s *Session) error {
	missing := s.Schema.MissingColumns()
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(missing))
	for i, column := range missing {
		names[i] = s.DB.Prefix() + column.String()
	}
	return domain.SiteDown(domain.NoColumns, "LatePoint columns are missing: "+strings.Join(names, ", "), nil)
}

// CheckWrites returns a CodeUnavailable if the database server refuses everything that is written, or nil. It makes no
// query.
func CheckWrites(s *Session) error {
	if !s.DB.RefusesWrites() {
		return nil
	}
	return domain.SiteDown(domain.AllWritesRefused, "The database server refuses every write, because its binlog_format is STATEMENT", nil)
}

// CheckReadable returns a CodeUnavailable that names the tables, ours included, that cannot be read, and
// the columns that ours lack, or nil. Requests that need one of them fail; all others are served. It takes
// one statement if nothing is wrong.
func CheckReadable(ctx context.Context, s *Session) error {
	expected := slices.DeleteFunc(wpdb.Tables(), func(t wpdb.Table) bool { return !s.Schema.Expects(t) })
	u, err := s.DB.Unreadable(ctx, expected)
	switch {
	case err != nil:
		return err
	case len(u.Missing) > 0:
		return domain.TablesMissing(nil, s.DB.FullNames(u.Missing)...)
	case len(u.Denied) > 0:
		return domain.SiteDown(domain.TablesUnreadable, "The database user may not read "+strings.Join(s.DB.FullNames(u.Denied), ", "), nil)
	case len(u.Lacking) > 0:
		names := make([]string, len(u.Lacking))
		for i, column := range u.Lacking {
			names[i] = s.DB.Prefix() + column.String()
		}
		return domain.OwnColumnsMissing(nil, names...)
	default:
		return nil
	}
}
