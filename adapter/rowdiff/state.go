package rowdiff

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// state holds a hash of each row, by table and key.
type state map[wpdb.Table]map[int64]string

// pageOfRows is how many hashes one statement reads.
const pageOfRows = 20_000

// state reads the present state. Uses the primary keys.
func (c *Copy) state(ctx context.Context) (state, error) {
	s := state{}
	for _, t := range c.tables {
		rows, err := c.hashes(ctx, t)
		if err != nil {
			return nil, err
		}
		s[t.name] = rows
	}
	return s, nil
}

type hashed struct {
	key  int64
	hash string
}

func (c *Copy) hashes(ctx context.Context, t table) (map[int64]string, error) {
	all := map[int64]string{}
	values := make([]string, len(t.columns))
	for i, name := range t.columns {
		// A binary literal makes the text binary, whatever the collations of the columns.
		values[i] = "COALESCE(`" + name + "`, 0x00)"
	}
	key := "`" + t.key + "`"
	hash := "SHA2(CONCAT_WS(0x1F, " + strings.Join(values, ", ") + "), 256)" // MySQL 9 no longer has MD5
	var after any
	for {
		stmt := sq.Select(key, hash).From(c.db.Name(t.name)).OrderBy(key).Limit(c.page)
		if after != nil {
			stmt = stmt.Where(sq.Gt{key: after})
		}
		page, err := wpdb.All(ctx, c.db, "read state of "+string(t.name), stmt, func(row wpdb.Scanner) (h hashed, err error) {
			return h, row.Scan(&h.key, &h.hash)
		})
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			all[h.key] = h.hash
			after = h.key
		}
		if uint64(len(page)) < c.page {
			return all, nil
		}
	}
}

// changes are the keys of rows that differ between two states.
type changes struct{ inserted, updated, deleted []int64 }

func changesBetween(before, after map[int64]string) changes {
	var c changes
	for _, key := range slices.Sorted(maps.Keys(after)) {
		switch old, ok := before[key]; {
		case !ok:
			c.inserted = append(c.inserted, key)
		case old != after[key]:
			c.updated = append(c.updated, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[key]; !ok {
			c.deleted = append(c.deleted, key)
		}
	}
	return c
}

func (c changes) rows() int { return len(c.inserted) + len(c.updated) + len(c.deleted) }

// record is a row: its values by column, nil for NULL.
type record struct {
	key    int64
	values map[string]*string
}

const rowsPerStatement = 500

// records reads whole rows by key; rows that do not exist are left out.
func (c *Copy) records(ctx context.Context, t table, keys []int64) (map[int64]record, error) {
	found := map[int64]record{}
	columns := make([]string, len(t.columns))
	for i, name := range t.columns {
		columns[i] = "`" + name + "`"
	}
	for part := range slices.Chunk(keys, rowsPerStatement) {
		stmt := sq.Select(append([]string{"`" + t.key + "`"}, columns...)...).From(c.db.Name(t.name)).Where(sq.Eq{"`" + t.key + "`": part})
		rows, err := wpdb.All(ctx, c.db, "read rows of "+string(t.name), stmt, func(row wpdb.Scanner) (record, error) {
			r := record{values: map[string]*string{}}
			values := make([]*string, len(t.columns))
			dest := []any{&r.key}
			for i := range values {
				dest = append(dest, &values[i])
			}
			if err := row.Scan(dest...); err != nil {
				return r, err
			}
			for i, name := range t.columns {
				r.values[name] = values[i]
			}
			return r, nil
		})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.key] = r
		}
	}
	return found, nil
}

// SameTables returns the tables and columns that only one of two copies has.
func SameTables(a, b *Copy) []string {
	names := func(c *Copy) []string {
		var all []string
		for _, t := range c.tables {
			for _, column := range t.columns {
				all = append(all, fmt.Sprintf("%s.%s", t.name, column))
			}
		}
		return all
	}
	var only []string
	inA, inB := names(a), names(b)
	for _, name := range append(slices.Clone(inA), inB...) {
		if slices.Contains(inA, name) != slices.Contains(inB, name) {
			only = append(only, name)
		}
	}
	return only
}
