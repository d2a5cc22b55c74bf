package indexes

import (
	"context"
	"fmt"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// sampleRows is the number of rows in a sample, taken from the newest of a table.
const sampleRows = 20_000

// sample is what the newest rows of a table show about an index on it.
type sample struct {
	rows     int64
	filled   int64    // rows in which its first column is not NULL
	distinct int64    // distinct values of its first column
	values   []string // some of them, at least one
	bytes    int64    // of its entries
	matching []int64  // rows that match the constant conditions, by use
}

func sampleOf(ctx context.Context, db *wpdb.DB, schema *wpdb.Schema, w wantedIndex) (sample, error) {
	s := sample{matching: make([]int64, len(w.uses))}
	entry := entryBytes(schema, w.Table, "id")
	for _, column := range w.Columns {
		entry += " + " + entryBytes(schema, w.Table, column)
	}
	newest := sq.Select(append([]string{"id"}, w.Columns...)...).From(db.Name(w.Table)).OrderBy("id DESC").Limit(sampleRows)
	first := w.Columns[0]
	stmt := sq.Select("COUNT(*)", "COUNT("+first+")", "COUNT(DISTINCT "+first+")", "SUM("+entry+")").FromSelect(newest, "newest")
	into := []any{&s.rows, &s.filled, &s.distinct, wpdb.OrZero(&s.bytes)}
	for n, u := range w.uses {
		condition := "NULL"
		if u.where != "" {
			condition = "CASE WHEN " + u.where + " THEN 1 END"
		}
		stmt = stmt.Column("COUNT(" + condition + ")")
		into = append(into, &s.matching[n])
	}
	const op = "read the newest rows"
	_, _, err := wpdb.One(ctx, db, op, stmt, func(row wpdb.Scanner) (struct{}, error) {
		return struct{}{}, row.Scan(into...)
	})
	if err != nil {
		return s, err
	}
	stmt = sq.Select(first).Distinct().FromSelect(newest, "newest").Where(first + " IS NOT NULL").Limit(pageSize)
	s.values, err = wpdb.All(ctx, db, op, stmt, wpdb.Value[string])
	if len(s.values) == 0 {
		s.values = []string{"0"}
	}
	return s, err
}

// entryBytes returns an expression for the bytes that a column takes in an index.
func entryBytes(schema *wpdb.Schema, t wpdb.Table, name string) string {
	column, _ := schema.Column(t, name)
	width, fixed := map[string]int{"mediumint": 3, "int": 4, "bigint": 8, "datetime": 5, "decimal": 10}[column.Type]
	if !fixed {
		return fmt.Sprintf("COALESCE(LENGTH(%s) + 1, 0)", name)
	}
	return fmt.Sprintf("CASE WHEN %s IS NULL THEN 0 ELSE %d END", name, width)
}

// entryOverhead is what InnoDB adds to each entry of an index, in bytes.
const entryOverhead = 7

// indexSize estimates the size of an index on a table of the given size. Its pages are filled to fifteen
// sixteenths at first.
func (s sample) indexSize(tableRows int64) int64 {
	return tableRows * (s.bytes/max(1, s.rows) + entryOverhead) * 16 / 15
}

// rowsPerValue estimates how many of a table's rows share a value. A sample with many rows per value
// probably has nearly all values; otherwise rows with the same value are close together.
func (s sample) rowsPerValue(tableRows int64) int64 {
	switch {
	case s.distinct == 0:
		return 1
	case s.filled/s.distinct > 10:
		return max(1, tableRows/s.rows*s.filled/s.distinct)
	default:
		return (s.filled + s.distinct - 1) / s.distinct
	}
}

// What a server reads, sorts and writes per second while it builds an index, measured on two slow, busy
// cores with a million rows.
const (
	bytesPerSecond = 200 << 20
	rowsPerSecond  = 1_000_000
)

// buildTime estimates how long it takes to build an index on a table.
func buildTime(rows, bytes int64) time.Duration {
	seconds := float64(bytes)/bytesPerSecond + float64(rows)/rowsPerSecond
	return time.Duration(seconds * float64(time.Second))
}
