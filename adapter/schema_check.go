package adapter

import (
	"context"
	"slices"
	"strings"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// CheckColumns returns nil where the site's tables have every column that reads name.
// Else it is a CodeUnavailable that names those they lack: what needs one of
// them fails, and all the rest is served. It asks the database for nothing.
func (s *Site) CheckColumns() error {
	missing := s.schema.MissingColumns()
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(missing))
	for i, column := range missing {
		names[i] = s.db.Prefix() + column.String()
	}
	return domain.Unavailable("LatePoint columns are missing: "+strings.Join(names, ", "), nil)
}

// CheckReadable returns nil where every table can be read that has to be, those of ours
// among them. Else it is a CodeUnavailable that names the others: what needs one
// fails, and all the rest is served. One statement, where nothing is wrong.
func (s *Site) CheckReadable(ctx context.Context) error {
	expected := slices.DeleteFunc(wpdb.Tables(), func(t wpdb.Table) bool { return !s.schema.Expects(t) })
	refused, missing, err := s.db.Unreadable(ctx, expected)
	switch {
	case err != nil:
		return err
	case len(missing) > 0:
		return domain.TablesMissing(nil, s.db.FullNames(missing)...)
	case len(refused) > 0:
		return domain.Unavailable("The database user may not read "+strings.Join(s.db.FullNames(refused), ", "), nil)
	default:
		return nil
	}
}
