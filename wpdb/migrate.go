package wpdb

import (
	"context"
	_ "embed" // for the definitions of tables
	"fmt"
	"maps"
	"regexp"
	"slices"

	sq "github.com/Masterminds/squirrel"
)

//go:embed tables.sql
var tablesSQL string

// ownTables are the definitions of our own tables.
var ownTables = func() map[Table]string {
	definitions := map[Table]string{}
	for _, found := range regexp.MustCompile(`(?ms)^CREATE TABLE (\w+) (\(\n.*?^\));$`).FindAllStringSubmatch(tablesSQL, -1) {
		definitions[Table(found[1])] = found[2]
	}
	return definitions
}()

// OwnTables returns our own tables.
func OwnTables() []Table { return slices.Sorted(maps.Keys(ownTables)) }

// Own reports whether the table is one of our own.
func (t Table) Own() bool {
	_, own := ownTables[t]
	return own
}

// ownColumn matches the line of a column in a definition: its name, and the rest.
var ownColumn = regexp.MustCompile(`(?m)^\s*([a-z_]+) (.+?),?$`)

// ownKey matches the line of an index that is not the primary key: all of it, and its name.
var ownKey = regexp.MustCompile(`(?m)^\s*((?:UNIQUE )?KEY ([a-z_]+) \(.+\)),?$`)

// ownColumns returns the quoted column names of one of our tables.
func ownColumns(t Table) (names []string) {
	for _, column := range ownColumn.FindAllStringSubmatch(ownTables[t], -1) {
		names = append(names, "`"+column[1]+"`")
	}
	return names
}

// missingOwnColumns returns the columns that our existing tables lack.
func (s *Schema) missingOwnColumns() (missing []TableColumn) {
	for _, table := range OwnTables() {
		for _, column := range ownColumn.FindAllStringSubmatch(ownTables[table], -1) {
			if _, ok := s.Column(table, column[1]); !ok && s.Has(table) {
				missing = append(missing, TableColumn{table, column[1]})
			}
		}
	}
	return missing
}

// MissingOwnTables returns those of our own tables that do not exist or that the
// database user cannot see.
func (db *DB) MissingOwnTables(ctx context.Context) ([]Table, error) {
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(OwnTables(), schema.Has), nil
}

// MigrationStatements returns the statements that add columns and indexes to our tables that an earlier
// version created: to the given ones, or to all. It leaves missing tables to CreateOwnTables.
func (db *DB) MigrationStatements(ctx context.Context, tables ...Table) ([]string, error) {
	if len(tables) == 0 {
		tables = OwnTables()
	}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return nil, err
	}
	present, err := db.ownIndexes(ctx)
	if err != nil {
		return nil, err
	}
	var statements []string
	for _, table := range tables {
		if !schema.Has(table) {
			continue
		}
		for _, column := range ownColumn.FindAllStringSubmatch(ownTables[table], -1) {
			if _, ok := schema.Column(table, column[1]); !ok {
				statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", db.Name(table), column[1], column[2]))
			}
		}
		for _, index := range ownKey.FindAllStringSubmatch(ownTables[table], -1) {
			if !present[ownIndex{table, index[2]}] {
				statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD %s", db.Name(table), index[1]))
			}
		}
	}
	return statements, nil
}

// ownIndex is the name of an index of one of our tables.
type ownIndex struct {
	table Table
	name  string
}

func (db *DB) ownIndexes(ctx context.Context) (map[ownIndex]bool, error) {
	stmt := sq.Select("table_name", "index_name").Distinct().From("information_schema.statistics").
		Where("table_schema = DATABASE()").Where(sq.Eq{"table_name": db.FullNames(OwnTables())})
	names, err := All(ctx, db, "read indexes of own tables", stmt, func(row Scanner) (i ownIndex, err error) {
		var table string
		err = row.Scan(&table, &i.name)
		i.table, _ = db.tableNamed(table)
		return i, err
	})
	found := map[ownIndex]bool{}
	for _, name := range names {
		found[name] = true
	}
	return found, err
}

// MigrateOwnTables adds the columns and indexes that our tables lack, and returns the statements that it
// ran. Other processes may do the same at the same time. It returns an ErrAccessDenied if the database user
// lacks ALTER; serve works without that as long as nothing is missing.
func (db *DB) MigrateOwnTables(ctx context.Context) (done []string, err error) {
	statements, err := db.MigrationStatements(ctx)
	if err != nil || len(statements) == 0 {
		return nil, err
	}
	defer db.ForgetSchema()
	for _, statement := range statements {
		// The server chooses the fastest way, which for our columns rewrites no row.
		_, err := Exec(ctx, db, "migrate own tables", sq.Expr(statement))
		switch {
		case hasNumber(err, redefinedColumn, redefinedIndex): // another process was faster
		case err != nil:
			return done, fmt.Errorf("%s: %w", statement, err)
		default:
			done = append(done, statement)
		}
	}
	return done, nil
}

// CreateStatements returns the statements that create those of our own tables that are missing.
func (db *DB) CreateStatements(ctx context.Context) ([]string, error) {
	missing, err := db.MissingOwnTables(ctx)
	statements := make([]string, len(missing))
	for i, table := range missing {
		statements[i] = db.createStatement(table)
	}
	return statements, err
}

func (db *DB) createStatement(t Table) string {
	return "CREATE TABLE IF NOT EXISTS " + db.Name(t) + " " + ownTables[t] + " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
}

// CreateOwnTables creates those of our own tables that do not exist yet. It alters none, and it drops the
// cached schema.
func (db *DB) CreateOwnTables(ctx context.Context) error {
	defer db.ForgetSchema()
	for _, table := range OwnTables() {
		// Squirrel has no builder for table definitions, which take no parameters.
		if _, err := Exec(ctx, db, "create table", sq.Expr(db.createStatement(table))); err != nil {
			return fmt.Errorf("create table %s: %w", db.FullName(table), err)
		}
	}
	return nil
}
