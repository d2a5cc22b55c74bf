package wpdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// Index is an index of one of the plugin's tables.
type Index struct {
	Table   Table
	Name    string
	Columns []string // whole columns that it sorts by, up to the first that it holds only a prefix of
	Ignored bool     // the optimiser was told not to use it
}

// OwnIndex returns our index on columns of a table.
func OwnIndex(t Table, columns ...string) Index {
	return Index{Table: t, Name: "bookside_" + strings.Join(columns, "_"), Columns: columns}
}

// Serves reports whether every use of the other index can be served by this one.
func (i Index) Serves(other Index) bool {
	return i.Table == other.Table && !i.Ignored && len(i.Columns) >= len(other.Columns) &&
		slices.EqualFunc(i.Columns[:len(other.Columns)], other.Columns, strings.EqualFold)
}

// Indexes returns the indexes of the plugin's tables, by table and name.
func (db *DB) Indexes(ctx context.Context) ([]Index, error) {
	ignored, err := db.ignoredIndex(ctx)
	if err != nil {
		return nil, err
	}
	stmt := sq.Select("table_name", "index_name", "column_name", "sub_part IS NOT NULL", ignored).
		From("information_schema.statistics").Where("table_schema = DATABASE()").Where("index_type = 'BTREE'").
		Where(sq.Eq{"table_name": db.FullNames(PluginTables())}).OrderBy("table_name", "index_name", "seq_in_index")
	type part struct {
		table, index, column string
		partial, ignored     bool
	}
	parts, err := All(ctx, db, "read indexes", stmt, func(row Scanner) (p part, err error) {
		err = row.Scan(&p.table, &p.index, OrZero(&p.column), &p.partial, &p.ignored) // an expression has no column
		return p, err
	})
	if err != nil {
		return nil, err
	}
	var found []Index
	ended := false // columns of the last index that are not counted follow
	for _, p := range parts {
		table, _ := db.tableNamed(p.table)
		if last := len(found) - 1; last < 0 || found[last].Table != table || found[last].Name != p.index {
			found, ended = append(found, Index{Table: table, Name: p.index, Ignored: p.ignored}), false
		}
		if ended = ended || p.partial || p.column == ""; !ended {
			index := &found[len(found)-1]
			index.Columns = append(index.Columns, p.column)
		}
	}
	return found, nil
}

// TakesNameOf reports whether the two indexes exclude each other: they have the same name, in any letter
// case, in the same table.
func (i Index) TakesNameOf(other Index) bool {
	return i.Table == other.Table && strings.EqualFold(i.Name, other.Name)
}

// ignoredIndex returns the condition that an index in information_schema.statistics is ignored, whatever
// the server calls that, or a condition that is never true.
func (db *DB) ignoredIndex(ctx context.Context) (string, error) {
	stmt := sq.Select("UPPER(column_name)").From("information_schema.columns").
		Where(sq.Eq{"table_schema": "information_schema", "table_name": []string{"STATISTICS", "statistics"}}).
		Where(sq.Eq{"column_name": []string{"IGNORED", "IS_VISIBLE"}})
	names, err := All(ctx, db, "find how indexes are ignored", stmt, Value[string])
	switch {
	case err != nil:
		return "", err
	case slices.Contains(names, "IGNORED"):
		return "ignored = 'YES'", nil
	case slices.Contains(names, "IS_VISIBLE"):
		return "is_visible = 'NO'", nil
	default:
		return "FALSE", nil
	}
}

// Reaches reports whether the table has at least that many rows. It reads no more than that.
func (db *DB) Reaches(ctx context.Context, t Table, rows int64) (bool, error) {
	first := sq.Select("1").From(db.Name(t)).Limit(uint64(rows))
	counted, _, err := One(ctx, db, "count up to a limit", sq.Select("COUNT(*)").FromSelect(first, "first"), Value[int64])
	return counted >= rows, err
}

// TableSize returns the server's estimate of the rows of a table.
func (db *DB) TableSize(ctx context.Context, t Table) (rows int64, err error) {
	stmt := sq.Select("COALESCE(table_rows, 0)").From("information_schema.tables").Where("table_schema = DATABASE()").Where(sq.Eq{"table_name": db.FullName(t)})
	rows, _, err = One(ctx, db, "read size of table", stmt, Value[int64])
	return rows, err
}

// CreateIndexStatement returns the statement that creates an index while others read and write the table. A
// server that cannot do that refuses it.
func (db *DB) CreateIndexStatement(i Index) string {
	columns := make([]string, len(i.Columns))
	for n, column := range i.Columns {
		columns[n] = quoteName(column)
	}
	return fmt.Sprintf("CREATE INDEX %s ON %s (%s) ALGORITHM=INPLACE LOCK=NONE", quoteName(i.Name), db.Name(i.Table), strings.Join(columns, ", "))
}

// longest is a time limit that nothing reaches.
const longest = 7 * 24 * time.Hour

// WithoutTimeouts returns the configuration for one connection whose statements may
// take as long as they need.
func (c Config) WithoutTimeouts() Config {
	c.MaxOpen, c.StatementTimeout, c.IOTimeout = 1, longest, longest
	return c
}
