package wpdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// Column is a column as the server describes it.
type Column struct {
	Name       string
	Type       string // data type without length, such as mediumint; json also if MariaDB stores it as a longtext with a CHECK
	Nullable   bool
	HasDefault bool  // an INSERT may omit it: it has a default, possibly NULL, or the server fills it
	MaxLength  int64 // characters of a varchar, bytes of a text; 0 for other types
	Charset    string
}

// Schema is the actual schema of the plugin's tables, our own, and WordPress's
// Users and Usermeta. Sites upgraded over the years have columns that newer
// versions dropped, and lack some.
type Schema struct {
	// Version is the option latepoint_db_version at the time of the probe. The
	// columns are not derived from it, because upgrades have stopped half-way.
	Version string
	columns map[Table]map[string]Column
	engines map[Table]string
	missing []Table
}

// Has reports whether the table exists.
func (s *Schema) Has(t Table) bool { return s.columns[t] != nil }

// Expects reports whether a site that can be served has the table: it exists,
// or it is required.
func (s *Schema) Expects(t Table) bool {
	return s.Has(t) || t.Required() || t.Own() || t == Options || t == Users || t == Usermeta
}

// Column returns a column; ok is false if it does not exist.
func (s *Schema) Column(t Table, name string) (c Column, ok bool) {
	c, ok = s.columns[t][name]
	return c, ok
}

// ColumnNames returns the names of a table's columns in alphabetical order.
func (s *Schema) ColumnNames(t Table) []string { return slices.Sorted(maps.Keys(s.columns[t])) }

// Engine returns the table's storage engine, such as InnoDB.
func (s *Schema) Engine(t Table) string { return s.engines[t] }

// InnoDB reports whether the table has the engine with transactions, which also changes
// indexes without a copy of the table.
func (s *Schema) InnoDB(t Table) bool { return strings.EqualFold(s.Engine(t), "InnoDB") }

// Missing returns the required tables that do not exist.
func (s *Schema) Missing() []Table { return s.missing }

// TableColumn names a column of a table.
type TableColumn struct {
	Table  Table
	Column string
}

// String returns the name without the site's prefix.
func (c TableColumn) String() string { return string(c.Table) + "." + c.Column }

// MissingColumns returns the columns that reads use and that existing tables
// lack. Requests that use none of them can still be served.
func (s *Schema) MissingColumns() []TableColumn {
	var missing []TableColumn
	for _, tables := range []map[Table][]string{required, optional} {
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			for _, name := range tables[table] {
				if _, ok := s.Column(table, name); !ok && s.Has(table) {
					missing = append(missing, TableColumn{table, name})
				}
			}
		}
	}
	return missing
}

// Columns returns columns of a table, qualified with an alias, for a SELECT
// list. A column that this site lacks is NULL.
func (s *Schema) Columns(t Table, alias string, names ...string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = s.Expr(t, alias, name)
	}
	return list
}

// Expr returns a column qualified with an alias, or NULL if this site lacks it.
func (s *Schema) Expr(t Table, alias, name string) string {
	if _, ok := s.Column(t, name); !ok {
		return "NULL"
	}
	return alias + "." + name
}

// Schema returns the schema of a site whose option latepoint_db_version is
// version. It is probed at the first call, when the version differs from the
// cached one, and after ForgetSchema. A schema is not cached if required tables
// or columns are missing or tables cannot be written, so that a repair is
// noticed at once.
func (db *DB) Schema(ctx context.Context, version string) (*Schema, error) {
	if s := db.schema.Load(); s != nil && s.Version == version {
		return s, nil
	}
	s, err := db.probe(ctx, version)
	if err != nil {
		return nil, err
	}
	if len(s.Missing()) == 0 && len(s.MissingColumns()) == 0 && len(s.Unwritables()) == 0 {
		db.schema.Store(s)
	}
	return s, nil
}

// ForgetSchema drops the cached schema.
func (db *DB) ForgetSchema() { db.schema.Store(nil) }

func (db *DB) probe(ctx context.Context, version string) (*Schema, error) {
	s := &Schema{Version: version, columns: map[Table]map[string]Column{}, engines: map[Table]string{}}
	where := sq.And{sq.Expr("table_schema = DATABASE()"), sq.Or{
		// The prefix alone is not enough: every site's prefix in a network
		// starts with that of the first site.
		sq.Like{"table_name": likeEscaper.Replace(db.prefix+"latepoint_") + "%"},
		sq.Like{"table_name": likeEscaper.Replace(db.prefix+"bookside_") + "%"},
		sq.Eq{"table_name": []string{db.FullName(Users), db.FullName(Usermeta)}},
	}}
	stmt := sq.Select("table_name", "column_name", "data_type", "is_nullable", "column_default", "extra",
		"character_maximum_length", "character_set_name").
		From("information_schema.columns").Where(where)
	type tableColumn struct {
		table string
		Column
	}
	found, err := All(ctx, db, "probe schema", stmt, func(row Scanner) (tableColumn, error) {
		var c tableColumn
		var nullable, extra string
		var fallback *string
		err := row.Scan(&c.table, &c.Name, &c.Type, &nullable, &fallback, &extra, OrZero(&c.MaxLength), OrZero(&c.Charset))
		c.Nullable = strings.EqualFold(nullable, "YES")
		// Servers differ in whether a default of NULL counts as one.
		c.HasDefault = c.Nullable || fallback != nil || strings.Contains(strings.ToLower(extra), "auto_increment")
		return c, err
	})
	if err != nil {
		return nil, err
	}
	// On MariaDB a join of the two views would take twenty times as long.
	stmt = sq.Select("table_name", "engine").From("information_schema.tables").Where(where)
	engines, err := Map[string, string](ctx, db, "probe engines", stmt)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		table, ours := db.tableNamed(c.table)
		if !ours {
			continue
		}
		if s.columns[table] == nil {
			s.columns[table] = map[string]Column{}
		}
		s.columns[table][c.Name] = c.Column
		s.engines[table] = engines[c.table]
	}
	s.missing = slices.DeleteFunc(slices.Sorted(maps.Keys(required)), s.Has)
	return s, db.probeJSON(ctx, s)
}

// probeJSON finds the columns that MariaDB reports as longtext although they
// accept only JSON. information_schema hides CHECK constraints from an account
// with privileges on single tables, but the definition of the table shows them.
// It is read only for tables with such a column that we may have to fill with a
// zero value, so most sites need no additional statement. Views have no
// constraints.
func (db *DB) probeJSON(ctx context.Context, s *Schema) error {
	for _, table := range slices.Sorted(maps.Keys(s.columns)) {
		columns := slices.Collect(maps.Values(s.columns[table]))
		if s.Engine(table) == "" || !slices.Contains(table.WritePrivileges(), Insert) || !slices.ContainsFunc(columns, Column.maybeJSON) {
			continue
		}
		definition, err := db.definition(ctx, table)
		if err != nil {
			return err
		}
		definition = strings.ToLower(quotedText.ReplaceAllString(definition, "''"))
		for _, c := range columns {
			if c.maybeJSON() && strings.Contains(definition, "check (json_valid("+strings.ToLower(quoteName(c.Name))+"))") {
				c.Type = "json"
				s.columns[table][c.Name] = c
			}
		}
	}
	return nil
}

// quotedText matches the texts in a definition, such as a comment, which may look like a rule.
var quotedText = regexp.MustCompile(`'(?:[^'\\]|''|\\.)*'`)

// definition returns the output of SHOW CREATE TABLE, or an empty text if the
// account may not see the table or it was just dropped.
func (db *DB) definition(ctx context.Context, t Table) (string, error) {
	op := "probe definition of " + db.FullName(t)
	definition, _, err := One(ctx, db, op, sq.Expr("SHOW CREATE TABLE "+db.Name(t)), func(row Scanner) (text string, err error) {
		var name string
		err = row.Scan(&name, &text)
		return text, err
	})
	if errors.Is(err, ErrAccessDenied) || errors.Is(err, ErrSchema) {
		return "", nil
	}
	return definition, err
}

// maybeJSON reports whether the column may be a required json column, judging
// by how MariaDB reports those.
func (c Column) maybeJSON() bool { return c.Type == "longtext" && !c.HasDefault }

// tableNamed returns the site's table with the given full name.
func (db *DB) tableNamed(full string) (t Table, ok bool) {
	prefix := full[:min(len(db.prefix), len(full))]
	for _, shared := range []Table{Users, Usermeta} {
		if db.SameName(full, db.FullName(shared)) {
			return shared, true
		}
	}
	return Table(full[len(prefix):]), db.SameName(prefix, db.prefix)
}

// SameName reports whether the server takes two names for those of the same table: some have all names in lower case.
func (db *DB) SameName(a, b string) bool {
	return a == b || db.server.foldsNames.Load() && strings.EqualFold(a, b)
}

// SitePrefixes returns the prefixes in this database that have LatePoint
// tables, to help a user who configured another one.
func (db *DB) SitePrefixes(ctx context.Context) ([]string, error) {
	stmt := sq.Select("table_name").From("information_schema.tables").
		Where("table_schema = DATABASE()").
		Where(sq.Like{"table_name": "%" + likeEscaper.Replace(string(Bookings))}).
		OrderBy("table_name").Limit(100)
	names, err := All(ctx, db, "find table prefixes", stmt, Value[string])
	if err != nil {
		return nil, fmt.Errorf("list sites: %w", err)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, string(Bookings))
	}
	return names, nil
}
