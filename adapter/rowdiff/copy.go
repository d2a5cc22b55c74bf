package rowdiff

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Copy is one of the two copies.
type Copy struct {
	db     *wpdb.DB
	tables []table
	page   uint64 // how many rows' hashes a statement reads
	// Skipped are tables that cannot be compared because their rows have no number.
	Skipped []string
}

// table is a table whose rows are compared.
type table struct {
	name    wpdb.Table
	key     string   // the column of the primary key, a number
	columns []string // all of them, in the order of the table
}

// plainName matches the names of tables and columns that WordPress and its plugins use.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// columnRow is a column as information_schema describes it.
type columnRow struct{ table, column, key, kind string }

// Open finds the tables of a copy: all tables of the plugin, and the users. The options are
// not compared, because PHP changes them all the time.
func Open(ctx context.Context, db *wpdb.DB) (*Copy, error) {
	users := []string{db.FullName(wpdb.Users), db.FullName(wpdb.Usermeta)}
	stmt := sq.Select("table_name", "column_name", "column_key", "data_type").From("information_schema.columns").
		Where("table_schema = DATABASE()").
		Where(sq.Or{sq.Like{"table_name": escapeLike(db.Prefix()) + `latepoint\_%`}, sq.Eq{"table_name": users}}).
		OrderBy("table_name", "ordinal_position")
	rows, err := wpdb.All(ctx, db, "find tables", stmt, func(row wpdb.Scanner) (r columnRow, err error) {
		return r, row.Scan(&r.table, &r.column, &r.key, &r.kind)
	})
	if err != nil {
		return nil, err
	}
	c := &Copy{db: db, page: pageOfRows}
	byName := map[string][]columnRow{}
	for _, r := range rows {
		byName[r.table] = append(byName[r.table], r)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		c.addTable(c.short(name), byName[name])
	}
	if len(c.tables) == 0 {
		return nil, domain.Unavailable("There are no LatePoint tables with the prefix "+db.Prefix(), nil)
	}
	return c, nil
}

func escapeLike(text string) string { return strings.ReplaceAll(text, "_", `\_`) }

// short returns the name of a table without the prefix of the site, or of the network.
func (c *Copy) short(name string) wpdb.Table {
	for _, t := range []wpdb.Table{wpdb.Users, wpdb.Usermeta} {
		if name == c.db.FullName(t) {
			return t
		}
	}
	return wpdb.Table(strings.TrimPrefix(name, c.db.Prefix()))
}

func (c *Copy) addTable(name wpdb.Table, columns []columnRow) {
	t := table{name: name}
	keys := 0
	for _, column := range columns {
		if !plainName.MatchString(column.column) {
			keys = 0
			break
		}
		t.columns = append(t.columns, column.column)
		if column.key != "PRI" {
			continue
		}
		keys++
		if strings.HasSuffix(strings.ToLower(column.kind), "int") {
			t.key = column.column
		}
	}
	if keys != 1 || t.key == "" || !plainName.MatchString(string(name)) {
		c.Skipped = append(c.Skipped, string(name))
		return
	}
	c.tables = append(c.tables, t)
}

// Unsafe returns why writes to this copy could reach people or other systems, each with a remedy, or
// nothing if all of that is off. On a site in use it is on.
func (c *Copy) Unsafe(ctx context.Context) ([]string, error) {
	var reasons []string
	for _, kind := range []string{"email", "sms", "whatsapp"} {
		name := "notifications_" + kind + "_processor"
		values, err := c.db.SettingValues(ctx, name)
		if err != nil {
			return nil, err
		}
		if values[name] != "" {
			reasons = append(reasons, fmt.Sprintf("notifications by %s are on: UPDATE %s SET value = '' WHERE name = '%s'", kind, c.db.FullName(wpdb.Settings), name))
		}
	}
	// They also send through Bookside's mail server, which the copy does not know about.
	workflows := sq.Select("COUNT(*)").From(c.db.Name(wpdb.Processes)).Where(sq.Eq{"status": "active"})
	advice := fmt.Sprintf("workflows are active, which send messages and call URLs: UPDATE %s SET status = 'disabled'", c.db.FullName(wpdb.Processes))
	reasons, err := c.counted(ctx, wpdb.Processes, workflows, advice, reasons)
	if err != nil {
		return nil, err
	}
	hooks := sq.Select("COUNT(*)").From(c.db.Name(wpdb.Webhooks)).Where(sq.Eq{"status": "enabled"})
	return c.counted(ctx, wpdb.Webhooks, hooks, fmt.Sprintf("webhooks of Bookside are enabled: DELETE FROM %s", c.db.FullName(wpdb.Webhooks)), reasons)
}

// counted adds a reason if the statement finds rows of a table that the copy has.
func (c *Copy) counted(ctx context.Context, t wpdb.Table, stmt sq.Sqlizer, reason string, reasons []string) ([]string, error) {
	schema, err := c.db.Schema(ctx, "")
	if err != nil || !schema.Has(t) {
		return reasons, err
	}
	n, _, err := wpdb.One(ctx, c.db, "look for what writes would reach", stmt, wpdb.Value[int64])
	if err == nil && n > 0 {
		reasons = append(reasons, reason)
	}
	return reasons, err
}

// Marker is a row that identifies a server: a service that nobody can see or book.
type Marker struct {
	Name string
	id   int64
}

// PutMarker writes a marker with this name.
func (c *Copy) PutMarker(ctx context.Context, name string) (Marker, error) {
	schema, err := c.db.Schema(ctx, "")
	if err != nil {
		return Marker{}, err
	}
	names, values := []string{"name", "status", "visibility", "duration"}, []any{name, "disabled", "hidden", 60}
	for _, zero := range schema.Zeros(wpdb.Services, names) {
		names, values = append(names, zero.Name), append(values, zero.Value)
	}
	result, err := wpdb.Exec(ctx, c.db, "write marker", sq.Insert(c.db.Name(wpdb.Services)).Columns(names...).Values(values...))
	return Marker{name, result.ID}, err
}

// RemoveMarker deletes a marker.
func (c *Copy) RemoveMarker(ctx context.Context, m Marker) error {
	_, err := wpdb.Exec(ctx, c.db, "delete marker", sq.Delete(c.db.Name(wpdb.Services)).Where(sq.Eq{"id": m.id, "name": m.Name}))
	return err
}
