package wpdb

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	sq "github.com/Masterminds/squirrel"
)

// ownTables are the definitions of our own tables. All DATETIME values are UTC.
var ownTables = map[Table]string{
	// Login tokens and sessions of the console, and its submitted forms.
	AdminTokens: `(
		token_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		purpose VARCHAR(10) NOT NULL,
		expires_at DATETIME NOT NULL,
		person VARCHAR(150) NOT NULL DEFAULT '',
		PRIMARY KEY (token_hash),
		KEY expires_at (expires_at)
	)`,
	// API keys, and the secret addresses of calendars, with the number of requests each has made.
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
		agents VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		services VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		locations VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		mask_personal TINYINT UNSIGNED NOT NULL DEFAULT 0,
		details VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		requests BIGINT UNSIGNED NOT NULL DEFAULT 0,
		last_used_at DATETIME NULL,
		created_at DATETIME NOT NULL,
		created_by VARCHAR(190) NOT NULL DEFAULT '',
		PRIMARY KEY (id),
		UNIQUE KEY key_hash (key_hash)
	)`,
	// Changes that have been or are about to be committed and have no number yet. The companion inserts
	// rows too, see adapter/journal/inbox.go.
	ChangeInbox: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		resource_id BIGINT UNSIGNED NOT NULL,
		kind VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		origin VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		actor_id BIGINT UNSIGNED NULL,
		status VARCHAR(190) NULL,
		at DATETIME NOT NULL,
		agent_id BIGINT UNSIGNED NULL,
		service_id BIGINT UNSIGNED NULL,
		location_id BIGINT UNSIGNED NULL,
		customer_id BIGINT UNSIGNED NULL,
		old_agent_id BIGINT UNSIGNED NULL,
		old_service_id BIGINT UNSIGNED NULL,
		old_location_id BIGINT UNSIGNED NULL,
		old_customer_id BIGINT UNSIGNED NULL,
		request_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		PRIMARY KEY (id),
		KEY record (resource, resource_id)
	)`,
	// How far the journal and the search for changes have come. The journal's row has the last number, and
	// as floor the last one that was deleted. The search's row has the server that is searching. Rows of
	// resources have the largest id of the start as floor, the id that the first pass has reached, and what
	// is compared. The site's row has a random id as signature, which its fingerprint is made from.
	ChangePositions: `(
		name VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		position BIGINT UNSIGNED NOT NULL DEFAULT 0,
		floor BIGINT UNSIGNED NOT NULL DEFAULT 0,
		signature CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		owner VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		expires_at DATETIME NULL,
		n BIGINT UNSIGNED NOT NULL DEFAULT 0,
		PRIMARY KEY (name)
	)`,
	// The rows of the site as they were last seen: hashes of 256 consecutive ids per
	// row, see adapter/journal/snapshot.go.
	ChangeSnapshots: `(
		resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		span BIGINT UNSIGNED NOT NULL,
		records SMALLINT UNSIGNED NOT NULL,
		checksum BIGINT UNSIGNED NOT NULL,
		content BLOB NOT NULL,
		PRIMARY KEY (resource, span)
	)`,
	// The journal. Entries of bookings have the agent, service, location and customer, for filters; those
	// of moved bookings have the old ones too. Those of requests to the API have the id of the request.
	Changes: `(
		number BIGINT UNSIGNED NOT NULL,
		resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		resource_id BIGINT UNSIGNED NOT NULL,
		kind VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		origin VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		actor_id BIGINT UNSIGNED NULL,
		at DATETIME NOT NULL,
		old_status VARCHAR(190) NULL,
		new_status VARCHAR(190) NULL,
		agent_id BIGINT UNSIGNED NULL,
		service_id BIGINT UNSIGNED NULL,
		location_id BIGINT UNSIGNED NULL,
		customer_id BIGINT UNSIGNED NULL,
		old_agent_id BIGINT UNSIGNED NULL,
		old_service_id BIGINT UNSIGNED NULL,
		old_location_id BIGINT UNSIGNED NULL,
		old_customer_id BIGINT UNSIGNED NULL,
		request_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		PRIMARY KEY (number),
		KEY record (resource, resource_id, number),
		KEY request (request_id, number)
	)`,
	// Binary, so that keys compare with the site's in any collation.
	CustomerFields: `(
		meta_key VARBINARY(440) NOT NULL,
		PRIMARY KEY (meta_key)
	)`,
	// What listens to the plugin's hooks, in one row, as the companion found it. The list is JSON, see
	// adapter/extensions.Report.
	Extensions: `(
		id TINYINT UNSIGNED NOT NULL,
		reported_at DATETIME NOT NULL,
		plugins MEDIUMTEXT NOT NULL,
		PRIMARY KEY (id)
	)`,
	// What is told to the extensions of the site, see adapter/extensions. The companion reads and changes the
	// rows, so columns and states must keep their meaning.
	Events: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		event VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		record_id BIGINT UNSIGNED NOT NULL,
		old MEDIUMTEXT NULL,
		messages VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		sender VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		rendered MEDIUMTEXT NULL,
		rendered_due DATETIME NULL,
		status VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		tries SMALLINT UNSIGNED NOT NULL,
		due_at DATETIME NOT NULL,
		failure VARCHAR(190) NOT NULL,
		created_at DATETIME NOT NULL,
		finished_at DATETIME NULL,
		PRIMARY KEY (id),
		KEY due (status, due_at)
	)`,
	// Slots that are held for customers, see adapter/bookings/holds.go. The companion reads them, so the
	// columns must keep their meaning.
	Holds: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		key_id BIGINT UNSIGNED NOT NULL,
		agent_id BIGINT UNSIGNED NOT NULL,
		service_id BIGINT UNSIGNED NOT NULL,
		location_id BIGINT UNSIGNED NOT NULL,
		start_date DATE NOT NULL,
		end_date DATE NOT NULL,
		start_time SMALLINT UNSIGNED NOT NULL,
		end_time SMALLINT UNSIGNED NOT NULL,
		duration SMALLINT UNSIGNED NOT NULL,
		buffer_before INT NOT NULL,
		buffer_after INT NOT NULL,
		total_attendees INT UNSIGNED NOT NULL,
		expires_at DATETIME NOT NULL,
		created_at DATETIME NOT NULL,
		extras VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		PRIMARY KEY (id),
		KEY start_date (start_date, expires_at),
		KEY key_id (key_id, expires_at),
		KEY expires_at (expires_at)
	)`,
	// The responses to a request, one row per item. The row of item 0 is also the claim of the server that
	// processes the request: its status is 0 until there is a response, its owner is empty while no server
	// processes it, and every transaction of the owner increments n.
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
	// The customers of bookings that limited keys made, as these described them, by the id of the booking: see
	// adapter/records/booking_customer.go.
	BookingCustomers: `(
		id BIGINT UNSIGNED NOT NULL,
		first_name VARCHAR(255) NOT NULL,
		last_name VARCHAR(255) NOT NULL,
		email VARCHAR(255) NOT NULL,
		phone VARCHAR(255) NOT NULL,
		PRIMARY KEY (id)
	)`,
	// The rows that a transaction locks while it checks and writes, see adapter/session/locks.go. The
	// companion locks the same rows, so kinds and ids must not change.
	Locks: `(
		kind TINYINT UNSIGNED NOT NULL,
		id BIGINT UNSIGNED NOT NULL,
		n BIGINT UNSIGNED NOT NULL DEFAULT 0,
		PRIMARY KEY (kind, id)
	)`,
	// The latest requests to the API, see adapter/keys. An entry about requests without a valid key
	// stands for all of a minute with its status; refused is their number, and 0 in other entries.
	Requests: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		at DATETIME(3) NOT NULL,
		request_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		key_id BIGINT UNSIGNED NOT NULL,
		user_id BIGINT UNSIGNED NOT NULL,
		from_console TINYINT UNSIGNED NOT NULL DEFAULT 0,
		method VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		route VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		record_id BIGINT UNSIGNED NOT NULL,
		tool VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		status SMALLINT UNSIGNED NOT NULL,
		code VARCHAR(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		took_us INT UNSIGNED NOT NULL,
		statements INT UNSIGNED NOT NULL,
		fields VARCHAR(1000) NOT NULL,
		refused INT UNSIGNED NOT NULL,
		PRIMARY KEY (id)
	)`,
	// The secret with which the server and WordPress sign their requests to each other, see adapter/extensions.
	// Whichever needs it first creates the row.
	Secrets: `(
		name VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		secret CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		created_at DATETIME NOT NULL,
		PRIMARY KEY (name)
	)`,
	// Secrets are stored in plain text unless there is a webhooks.secret_key. Entries of the journal up to
	// position have become deliveries.
	Webhooks: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		name VARCHAR(190) NOT NULL,
		url VARCHAR(2000) NOT NULL,
		events VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		agents VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		services VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		locations VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		include_record TINYINT UNSIGNED NOT NULL,
		allow_private TINYINT UNSIGNED NOT NULL,
		key_id BIGINT UNSIGNED NOT NULL,
		secret VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		old_secret VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		old_secret_until DATETIME NULL,
		status VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		reason VARCHAR(190) NOT NULL DEFAULT '',
		failing_since DATETIME NULL,
		position BIGINT UNSIGNED NOT NULL,
		created_at DATETIME NOT NULL,
		PRIMARY KEY (id)
	)`,
	// What is sent to webhooks. The number is that of the entry in the journal, or NULL for a test. While
	// the status is sending, the columns due_at and owner are the claim of the server that is sending.
	WebhookDeliveries: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		webhook_id BIGINT UNSIGNED NOT NULL,
		number BIGINT UNSIGNED NULL,
		event VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		resource VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		resource_id BIGINT UNSIGNED NOT NULL,
		at DATETIME NOT NULL,
		data TEXT NOT NULL,
		status VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
		tries SMALLINT UNSIGNED NOT NULL,
		due_at DATETIME NOT NULL,
		owner CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
		failure VARCHAR(190) NOT NULL DEFAULT '',
		created_at DATETIME NOT NULL,
		finished_at DATETIME NULL,
		PRIMARY KEY (id),
		UNIQUE KEY entry (webhook_id, number),
		KEY due (webhook_id, status, due_at, number),
		KEY record (webhook_id, resource, resource_id, status, number),
		KEY claim (status, due_at),
		KEY finished (finished_at)
	)`,
	// Each request that was sent to a webhook, and the start of the response.
	WebhookTries: `(
		id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
		webhook_id BIGINT UNSIGNED NOT NULL,
		delivery_id BIGINT UNSIGNED NOT NULL,
		at DATETIME NOT NULL,
		status SMALLINT UNSIGNED NOT NULL,
		took_ms INT UNSIGNED NOT NULL,
		failure VARCHAR(190) NOT NULL,
		answer VARCHAR(500) NOT NULL,
		PRIMARY KEY (id),
		KEY delivery (delivery_id),
		KEY webhook (webhook_id, id),
		KEY at (at)
	)`,
}

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
