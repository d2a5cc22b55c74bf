package adapter

import (
	"context"
	"slices"
	"strings"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// CheckColumns returns a CodeUnavailable that names the columns missing from the site's
// tables, or nil. Requests that need one of them fail, all others are served. It makes no
// query.
func (s *Site) CheckColumns() error {
	missing := s.schema.MissingColumns()
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(missing))
	for i, column := range missing {
		names[i] = s.db.Prefix() + column.String()
	}
	return domain.SiteDown(domain.NoColumns, "LatePoint columns are missing: "+strings.Join(names, ", "), nil)
}

// CheckReadable returns a CodeUnavailable that names the tables, ours included, that
// cannot be read, and columns that ours lack, or nil. Requests that need one of them fail, all
// others are served. One statement, unless something is wrong.
func (s *Site) CheckReadable(ctx context.Context) error {
	expected := slices.DeleteFunc(wpdb.Tables(), func(t wpdb.Table) bool { return !s.schema.Expects(t) })
	u, err := s.db.Unreadable(ctx, expected)
	switch {
	case err != nil:
		return err
	case len(u.Missing) > 0:
		return domain.TablesMissing(nil, s.db.FullNames(u.Missing)...)
	case len(u.Denied) > 0:
		return domain.SiteDown(domain.TablesUnreadable, "The database user may not read "+strings.Join(s.db.FullNames(u.Denied), ", "), nil)
	case len(u.Lacking) > 0:
		names := make([]string, len(u.Lacking))
		for i, column := range u.Lacking {
			names[i] = s.db.Prefix() + column.String()
		}
		return domain.OwnColumnsMissing(nil, names...)
	default:
		return nil
	}
}
