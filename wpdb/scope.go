package wpdb

import (
	"fmt"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// View is the part of a table that a SELECT sees: the rows for which a condition on its columns holds. The
// condition itself sees all rows of all tables.
type View struct {
	Table Table
	Rows  sq.Sqlizer
}

// Views are views as SQL.
type Views []view

type view struct {
	name, text string // of the table, quoted, and the SELECT that takes its place
	args       []any
}

// BuildViews translates views to SQL. A view whose condition reads another table must come before the view
// of that table; see addViews.
func (db *DB) BuildViews(views []View) (Views, error) {
	var all Views
	for _, v := range views {
		text, args, err := sq.Select("*").From(db.Name(v.Table)).Where(v.Rows).ToSql()
		if err != nil {
			return nil, fmt.Errorf("build the view of %s: %w", db.FullName(v.Table), err)
		}
		all = append(all, view{db.Name(v.Table), text, args})
	}
	return all, nil
}

// WithViews returns the same database, with every SELECT restricted to the views of its tables, however it
// names them; transactions inherit this. Statements that write, or that lock rows by id, are not
// restricted.
func (db *DB) WithViews(views Views) *DB {
	limited := *db
	limited.views = views
	return &limited
}

// HasViews reports whether there are views.
func (db *DB) HasViews() bool { return len(db.views) > 0 }

// Unfiltered returns the same database without views.
func (db *DB) Unfiltered() *DB { return db.WithViews(nil) }

// addViews puts the views of the tables that a SELECT names in front of it, as common table expressions.
// Each has the name of its table and hides it. A view must not see another view before it, so those whose
// conditions name other tables come first; inside an expression, its own name means the table.
func (db *DB) addViews(text string, args []any) (string, []any) {
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
