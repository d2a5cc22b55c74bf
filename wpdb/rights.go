package wpdb

import (
	"context"
	"errors"
	"fmt"

	sq "github.com/Masterminds/squirrel"
)

// Right is something that a database user may be allowed to do with a table,
// in the word that GRANT has for it.
type Right string

// The rights that are ever needed on a table.
const (
	Select Right = "SELECT"
	Insert Right = "INSERT"
	Update Right = "UPDATE"
	Delete Right = "DELETE"
	Create Right = "CREATE" // only of our own tables
)

// trials are statements that the server refuses to whom a right is lacking, and
// that change nothing: to explain a statement takes the rights to run it, and a
// table made from an unknown column is not made. Unlike a list of grants they
// know of roles and patterns. The first operand is a table, the second a column
// of it.
var trials = map[Right]string{
	Select: "SELECT 1 FROM %[1]s LIMIT 0",
	Insert: "EXPLAIN INSERT INTO %[1]s () VALUES ()",
	Update: "EXPLAIN UPDATE %[1]s SET %[2]s = %[2]s WHERE FALSE",
	Delete: "EXPLAIN DELETE FROM %[1]s WHERE FALSE",
	Create: "CREATE TABLE %[1]s (%[2]s INT PRIMARY KEY, twin INT AS (nothing))", // some servers make none without a key
}

// May tries whether the database user has a right on a table. Where there is no
// such table, who has the right gets an ErrSchema, and others are not told that
// it is missing. So does who may Create it.
func (db *DB) May(ctx context.Context, right Right, t Table) (bool, error) {
	op := fmt.Sprintf("try %s on %s", right, db.FullName(t))
	stmt := sq.Expr(fmt.Sprintf(trials[right], db.Name(t), identity(t)))
	_, err := All(ctx, db, op, stmt, func(Scanner) (struct{}, error) { return struct{}{}, nil })
	if errors.Is(err, ErrAccessDenied) {
		return false, nil
	}
	return err == nil, err
}

// Unreadable are those of some tables of which the database user may not read
// anything, and those that are not there. Where there are none of both that
// costs one statement.
func (db *DB) Unreadable(ctx context.Context, tables []Table) (refused, missing []Table, err error) {
	all := sq.Select()
	for _, t := range tables {
		all = all.Column("(SELECT 1 FROM " + db.Name(t) + " LIMIT 0)")
	}
	_, err = All(ctx, db, "try to read all tables", all, func(Scanner) (struct{}, error) { return struct{}{}, nil })
	if !errors.Is(err, ErrAccessDenied) && !errors.Is(err, ErrSchema) {
		return nil, nil, err
	}
	for _, t := range tables {
		readable, err := db.May(ctx, Select, t)
		switch {
		case errors.Is(err, ErrSchema):
			missing = append(missing, t)
		case err != nil:
			return nil, nil, err
		case !readable:
			refused = append(refused, t)
		}
	}
	return refused, missing, nil
}

// identity is the column by which a table knows its rows.
func identity(t Table) string {
	switch t {
	case Options:
		return "option_id"
	case Usermeta:
		return "umeta_id"
	case Sitemeta:
		return "meta_id"
	case CustomerFields:
		return "meta_key"
	case AdminTokens:
		return "token_hash"
	default:
		return "id"
	}
}
