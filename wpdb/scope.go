package wpdb

import (
	"fmt"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// View is the part of a table that a SELECT sees: the rows for which a condition on its columns holds. The
// condition itself sees all rows of all tables, and comes in two forms.
type View struct {
	Table Table
	Rows  sq.Sqlizer // finds all rows of the view quickly
	Each  sq.Sqlizer // checks a single row quickly; nil if Rows does too
	// Columns are what the view has of each row, from the table and from the tables in Joins; nil means all
	// columns of the table. A join must neither add nor remove rows.
	Columns []sq.Sqlizer
	Joins   []sq.Sqlizer
}

// Views are views as SQL.
type Views struct{ built []view }

type view struct {
	name       string // of the table, quoted
	rows, each tableExpression
}

// tableExpression is a SELECT that takes the place of a table.
type tableExpression struct {
	text string
	args []any
}

// BuildViews translates views to SQL. A view whose condition reads another table must come before the view
// of that table; see addViews.
func (db *DB) BuildViews(views []View) (Views, error) {
	var all Views
	for _, v := range views {
		built := view{name: db.Name(v.Table)}
		var err error
		if built.rows, err = db.only(v, v.Rows); err != nil {
			return Views{}, err
		}
		if built.each = built.rows; v.Each != nil {
			if built.each, err = db.only(v, v.Each); err != nil {
				return Views{}, err
			}
		}
		all.built = append(all.built, built)
	}
	return all, nil
}

// WithViews returns the same database, with every SELECT restricted to the views of its tables, however it
// names them; transactions inherit this. Statements that write, or that lock rows by id, are not
// restricted. By default the condition is checked for each row that a SELECT reads; see FilterSetwise.
func (db *DB) WithViews(views Views) *DB {
	limited := *db
	limited.views, limited.setwise = views.built, false
	return &limited
}

// only selects the rows of a view for which a condition holds.
func (db *DB) only(v View, condition sq.Sqlizer) (tableExpression, error) {
	stmt := sq.Select().From(db.Name(v.Table)).Where(condition)
	if v.Columns == nil {
		stmt = stmt.Column("*")
	}
	for _, column := range v.Columns {
		stmt = stmt.Column(column)
	}
	for _, join := range v.Joins {
		stmt = stmt.JoinClause(join)
	}
	text, args, err := stmt.ToSql()
	if err != nil {
		return tableExpression{}, fmt.Errorf("build the view of %s: %w", db.FullName(v.Table), err)
	}
	return tableExpression{text, args}, nil
}

// FilterSetwise returns the same database for statements that would read many rows but need few of a view:
// they may start from all rows of the view.
func (db *DB) FilterSetwise() *DB {
	setwise := *db
	setwise.setwise = true
	return &setwise
}

// HasViews reports whether there are views.
func (db *DB) HasViews() bool { return len(db.views) > 0 }

// Unfiltered returns the same database without views.
func (db *DB) Unfiltered() *DB {
	unfiltered := *db
	unfiltered.views = nil
	return &unfiltered
}

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
			form := v.each
			if db.setwise {
				form = v.rows
			}
			with, all = append(with, v.name+" AS ("+form.text+")"), append(all, form.args...)
		}
	}
	if len(with) == 0 {
		return text, args
	}
	return "WITH " + strings.Join(with, ", ") + " " + text, append(all, args...)
}
