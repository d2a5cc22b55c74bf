package adapter

import "strings"

// Complete is nil where the site's tables have every column that reads name.
// Else it is a CodeUnavailable that names those they lack: what needs one of
// them fails, and all the rest is served. It asks the database for nothing.
func (s *Site) Complete() error {
	missing := s.schema.MissingColumns()
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(missing))
	for i, column := range missing {
		names[i] = s.db.Prefix() + column.String()
	}
	return unavailable("LatePoint columns are missing: "+strings.Join(names, ", "), nil)
}
