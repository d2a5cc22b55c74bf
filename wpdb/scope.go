package wpdb

import (
	"fmt"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// View is the part of a table that a SELECT sees: the rows that a condition on its own
// columns holds for. The condition sees all rows of all tables.
type View struct {
	Table Table
	Rows  sq.Sqlizer
}

// view is a View as SQL.
type view struct {
	name string // of the table, quoted
	text string
	args []any
}

// WithViews returns the same database, in which every SELECT sees only the views of their
// tables, however it names them; its transactions likewise. Statements that write, and those
// that lock rows by their ids, are as before.
func (db *DB) WithViews(views []View) (*DB, error) {
	limited := *db
	limited.views = nil
	for _, v := range views {
		text, args, err := sq.Select("*").From(db.Name(v.Table)).Where(v.Rows).ToSql()
		if err != nil {
			return nil, fmt.Errorf("build the view of %s: %w", db.FullName(v.Table), err)
		}
		limited.views = append(limited.views, view{db.Name(v.Table), text, args})
	}
	return &limited, nil
}

// Whole returns the same database without views.
func (db *DB) Whole() *DB {
	whole := *db
	whole.views = nil
	return &whole
}

// limit puts the views of the tables that a SELECT names before it, as common table
// expressions. Each has the name of its table and hides it. A view must not see another one
// that comes before it, so those whose conditions name other tables come first; inside of an
// expression its own name means the table.
func (db *DB) limit(text string, args []any) (string, []any) {
	if len(db.views) == 0 || strings.HasSuffix(text, " FOR UPDATE") {
		return text, args
	}
	var with []string
	var all []any
	for _, v := range db.views {
		if strings.Contains(text, v.name) {
			with, all = append(with, v.name+" AS ("+v.text+")"), append(all, v.args...)
		}
	}
	if len(with) == 0 {
		return text, args
	}
	return "WITH " + strings.Join(with, ", ") + " " + text, append(all, args...)
}
