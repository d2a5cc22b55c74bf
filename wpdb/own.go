package wpdb

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	sq "github.com/Masterminds/squirrel"
)

// ownTables are the definitions of our own tables, by name. Instants are UTC.
var ownTables = map[Table]string{
	// Who may use the page for keys, and which of its forms were sent.
	AdminTokens: `(
		token_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		purpose VARCHAR(10) NOT NULL,
		expires_at DATETIME NOT NULL,
		PRIMARY KEY (token_hash),
		KEY expires_at (expires_at)
	)`,
	APIKeys: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		key_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		key_start VARCHAR(16) NOT NULL,
		last_four VARCHAR(4) NOT NULL,
		name VARCHAR(190) NOT NULL,
		kind VARCHAR(10) NOT NULL,
		permissions VARCHAR(1000) NOT NULL,
		networks VARCHAR(2200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		status VARCHAR(10) NOT NULL,
		expires_at DATETIME NULL,
		requests_per_minute INT UNSIGNED NULL,
		requests_per_hour INT UNSIGNED NULL,
		last_used_at DATETIME NULL,
		created_at DATETIME NOT NULL,
		PRIMARY KEY (id),
		UNIQUE KEY key_hash (key_hash)
	)`,
	// Binary, so that keys compare with the site's, whatever its collation.
	CustomerFields: `(
		meta_key VARBINARY(440) NOT NULL,
		PRIMARY KEY (meta_key)
	)`,
	// The answers to a request, one row per item. The row of item 0 is also the
	// claim of the server that works on the request: its status is 0 until there
	// is an answer, its owner is empty once nobody works on it, and every
	// transaction of the owner raises n.
	Idempotency: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		scope CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		item SMALLINT UNSIGNED NOT NULL,
		body_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		status SMALLINT UNSIGNED NOT NULL,
		answer MEDIUMBLOB NOT NULL,
		owner VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		claimed_until DATETIME NULL,
		n INT UNSIGNED NOT NULL DEFAULT 0,
		created_at DATETIME NOT NULL,
		PRIMARY KEY (id),
		UNIQUE KEY scope_item (scope, item),
		KEY created_at (created_at)
	)`,
	// What a transaction holds while it checks and writes, see adapter/locks.go.
	// A companion in PHP takes the same rows: kinds and ids must not change.
	Locks: `(
		kind TINYINT UNSIGNED NOT NULL,
		id BIGINT UNSIGNED NOT NULL,
		n BIGINT UNSIGNED NOT NULL DEFAULT 0,
		PRIMARY KEY (kind, id)
	)`,
	// The texts have room for whatever a site's templates make: a booking must
	// not fail because its notification is long.
	Outbox: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		name MEDIUMTEXT NOT NULL,
		address VARCHAR(254) NOT NULL,
		subject MEDIUMTEXT NOT NULL,
		content MEDIUMTEXT NOT NULL,
		status VARCHAR(10) NOT NULL,
		tries INT UNSIGNED NOT NULL,
		due_at DATETIME NOT NULL,
		failure VARCHAR(190) NOT NULL,
		created_at DATETIME NOT NULL,
		finished_at DATETIME NULL,
		PRIMARY KEY (id),
		KEY due (status, due_at)
	)`,
}

// OwnTables are our own tables.
func OwnTables() []Table { return slices.Sorted(maps.Keys(ownTables)) }

// ownColumn is a line of a definition that is a column's: its name, and the rest.
var ownColumn = regexp.MustCompile(`(?m)^\s*([a-z_]+) (.+?),?$`)

// CompleteOwnTables are the statements that add the columns which tables of
// ours lack. Tables made by an earlier version do; those that are not there at
// all are for CreateOwnTables.
func (db *DB) CompleteOwnTables(s *Schema) []string {
	var statements []string
	for _, table := range OwnTables() {
		for _, column := range ownColumn.FindAllStringSubmatch(ownTables[table], -1) {
			if _, ok := s.Column(table, column[1]); !ok && s.Has(table) {
				statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", db.Name(table), column[1], column[2]))
			}
		}
	}
	return statements
}

// CreateOwnTables creates the tables of ours that do not exist yet. It alters
// none. The schema is probed anew afterwards.
func (db *DB) CreateOwnTables(ctx context.Context) error {
	defer db.ForgetSchema()
	for _, table := range OwnTables() {
		// A table definition has no parameters, and squirrel builds none.
		statement := "CREATE TABLE IF NOT EXISTS " + db.Name(table) + " " + ownTables[table] +
			" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
		if _, err := Exec(ctx, db, "create table", sq.Expr(statement)); err != nil {
			return fmt.Errorf("create table %s: %w", db.FullName(table), err)
		}
	}
	return nil
}
