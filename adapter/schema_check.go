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
// cannot be read, or nil. Requests that need one of them fail, all others are served. One
// statement, unless something is wrong.
func (s *Site) CheckReadable(ctx context.Context) error {
	expected := slices.DeleteFunc(wpdb.Tables(), func(t wpdb.Table) bool { return !s.schema.Expects(t) })
	rejected, missing, err := s.db.Unreadable(ctx, expected)
	switch {
	case err != nil:
		return err
	case len(missing) > 0:
		return domain.TablesMissing(nil, s.db.FullNames(missing)...)
	case len(rejected) > 0:
		return domain.SiteDown(domain.TablesUnreadable, "The database user may not read "+strings.Join(s.db.FullNames(rejected), ", "), nil)
	default:
		return nil
	}
}
