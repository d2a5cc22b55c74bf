package wpdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// ownIndexPrefix starts the names of all our indexes and of no others.
const ownIndexPrefix = "bookside_"

// Index is an index of one of the plugin's tables.
type Index struct {
	Table   Table
	Name    string
	Columns []string // whole columns that it sorts by, up to the first that it holds only a prefix of
	Ignored bool     // the optimiser was told not to use it
}

// OwnIndex returns our index on columns of a table.
func OwnIndex(t Table, columns ...string) Index {
	return Index{Table: t, Name: ownIndexPrefix + strings.Join(columns, "_"), Columns: columns}
}

// Own reports whether the index is one of ours.
func (i Index) Own() bool { return strings.HasPrefix(i.Name, ownIndexPrefix) }

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

// DataSize returns the server's estimate of how many bytes the rows of a table take, without indexes.
func (db *DB) DataSize(ctx context.Context, t Table) (int64, error) {
	stmt := sq.Select("COALESCE(data_length, 0)").From("information_schema.tables").
		Where("table_schema = DATABASE()").Where(sq.Eq{"table_name": db.FullName(t)})
	size, _, err := One(ctx, db, "read size of table", stmt, Value[int64])
	return size, err
}

// Plan is what EXPLAIN says about a SELECT from one table.
type Plan struct {
	Index string // empty for none
	Rows  int64  // to be examined, as the optimiser estimates
}

// Explain asks the server for its plan, without running the statement.
func (db *DB) Explain(ctx context.Context, op string, stmt sq.SelectBuilder) (Plan, error) {
	plan, _, err := One(ctx, db, op, stmt.Prefix("EXPLAIN FORMAT=TRADITIONAL"), func(row Scanner) (p Plan, err error) {
		err = db.scanExplained(row, map[string]any{"key": OrZero(&p.Index), "rows": (*estimate)(&p.Rows)})
		return p, err
	})
	return plan, err
}

// Ignoring returns the table for FROM, with one of its indexes ignored.
func (db *DB) Ignoring(t Table, index string) string {
	return db.Name(t) + " IGNORE INDEX (" + quoteName(index) + ")"
}

func (db *DB) mariaDB() bool { return strings.Contains(db.version, "MariaDB") }

// indexLockWait is how many seconds a new index waits for others to leave the table. Everything that
// arrives meanwhile waits with it.
const indexLockWait = 2

// AddIndex creates an index while others read and write the table. It returns an ErrCopies if the server
// cannot do that, and an ErrConflict if others used the table for too long; after either, or an
// interruption, there is no index. The statement's time grows with the table: see Config.WithoutTimeouts.
// It needs the privilege INDEX on the table.
func (db *DB) AddIndex(ctx context.Context, i Index) error {
	columns := make([]string, len(i.Columns))
	for n, column := range i.Columns {
		columns[n] = quoteName(column)
	}
	// Squirrel has no builder for definitions, which take no parameters. ALTER TABLE would do the same but
	// need more privileges.
	statement := fmt.Sprintf("CREATE INDEX %s ON %s (%s) ALGORITHM=INPLACE LOCK=NONE", quoteName(i.Name), db.Name(i.Table), strings.Join(columns, ", "))
	return db.changeIndex(ctx, "add index to "+db.FullName(i.Table), statement)
}

// DropIndex removes an index under the same conditions as AddIndex creates one.
func (db *DB) DropIndex(ctx context.Context, i Index) error {
	op := "drop index of " + db.FullName(i.Table)
	statement := fmt.Sprintf("DROP INDEX %s ON %s", quoteName(i.Name), db.Name(i.Table))
	if !db.mariaDB() {
		return db.changeIndex(ctx, op, statement+" ALGORITHM=INPLACE LOCK=NONE")
	}
	// MariaDB has no syntax for this, but InnoDB never copies the table.
	schema, err := db.Schema(ctx, "")
	switch {
	case err != nil:
		return err
	case !schema.InnoDB(i.Table):
		return &Error{Op: op, Kind: ErrCopies}
	default:
		return db.changeIndex(ctx, op, statement)
	}
}

func (db *DB) changeIndex(ctx context.Context, op, statement string) error {
	return db.Session(ctx, op, func(session *DB) error {
		if _, err := Exec(ctx, session, op, sq.Expr("SET SESSION lock_wait_timeout = ?", indexLockWait)); err != nil {
			return err
		}
		_, err := Exec(ctx, session, op, sq.Expr(statement))
		session.session.discard() // its lock_wait_timeout is for this statement alone
		return err
	})
}

// progressStatus is the progress of InnoDB's current change of a table, in hundredths of a percent. MySQL
// lacks it.
const progressStatus = "Innodb_onlineddl_pct_progress"

// Progress returns how much of an index the server has built, in percent. ok is false if the server does
// not report it.
func (db *DB) Progress(ctx context.Context) (percent float64, ok bool, err error) {
	values, err := Map[string, float64](ctx, db, "read progress", showStatement("STATUS", []string{progressStatus}))
	hundredths, ok := values[progressStatus]
	return hundredths / 100, ok, err
}

// InTurn calls work while no other process holds its turn under the same name on this site. It calls
// waiting once if another does. The turn ends with the process.
func (db *DB) InTurn(ctx context.Context, name string, waiting func(), work func() error) error {
	const op = "take turns"
	return db.Session(ctx, op, func(session *DB) error {
		defer session.session.discard() // and the lock with it
		for seconds := 0; ; seconds = 1 {
			// A lock name has at most 64 characters and is global to the server.
			lock := sq.Expr("SELECT COALESCE(GET_LOCK(CONCAT(?, LEFT(SHA2(CONCAT(DATABASE(), ' ', ?), 256), 32)), ?), 0)", "bookside "+name+" ", db.prefix, seconds)
			got, _, err := One(ctx, session, op, lock, Value[int64])
			switch {
			case err != nil:
				return err
			case got == 1:
				return work()
			case seconds == 0:
				waiting()
			}
		}
	})
}

// longest is a time limit that nothing reaches.
const longest = 7 * 24 * time.Hour

// WithoutTimeouts returns the configuration for one connection whose statements may
// take as long as they need.
func (c Config) WithoutTimeouts() Config {
	c.MaxOpen, c.StatementTimeout, c.IOTimeout = 1, longest, longest
	return c
}

// IndexGrant returns the statement that lets an account add and drop indexes on a table.
func (db *DB) IndexGrant(database, account string, t Table) string {
	return fmt.Sprintf("GRANT INDEX ON %s.%s TO %s", quoteName(database), db.Name(t), account)
}
