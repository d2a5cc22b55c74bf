package indexes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// State is whether a site has an index.
type State string

// The states of an index.
const (
	Present  State = "present"    // ours, or another with the same columns
	Missing  State = "missing"    // and worth having
	Unneeded State = "not needed" // the table is too small
	Unusable State = "impossible" // see Index.Reason
)

// smallTable is the number of rows from which indexes are worthwhile: the server reads fewer in a
// millisecond or two.
const smallTable = 5_000

// Index is an index that a site has or could have.
type Index struct {
	wpdb.Index
	State   State
	Reason  string // why it is impossible, or why it cannot be created if missing
	Serving string // the name of the present index, which may not be ours
}

// Survey returns all worthwhile indexes, with their state on a site. It takes a few milliseconds for each
// large table.
func Survey(ctx context.Context, db *wpdb.DB) ([]Index, error) {
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return nil, err
	}
	existing, err := db.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	large := map[wpdb.Table]bool{}
	list := make([]Index, len(wantedIndexes))
	for n, w := range wantedIndexes {
		list[n] = Index{Index: w.Index, State: Missing, Reason: impossible(schema, w.Index)}
		if list[n].Reason != "" {
			list[n].State = Unusable
			continue
		}
		if serving := slices.IndexFunc(existing, func(i wpdb.Index) bool { return i.Serves(w.Index) }); serving >= 0 {
			list[n].State, list[n].Serving = Present, existing[serving].Name
			continue
		}
		if slices.ContainsFunc(existing, w.TakesNameOf) {
			list[n].Reason = ErrNameTaken.Error()
		}
		if _, known := large[w.Table]; !known {
			if large[w.Table], err = db.Reaches(ctx, w.Table, smallTable); err != nil {
				return nil, err
			}
		}
		if !large[w.Table] {
			list[n].State = Unneeded
		}
	}
	return list, nil
}

// Own returns all our indexes on a site, including those of other versions.
func Own(ctx context.Context, db *wpdb.DB) ([]wpdb.Index, error) {
	existing, err := db.Indexes(ctx)
	return slices.DeleteFunc(existing, func(i wpdb.Index) bool { return !i.Own() }), err
}

// impossible returns why a site cannot have an index, or an empty text.
func impossible(schema *wpdb.Schema, i wpdb.Index) string {
	if !schema.Has(i.Table) {
		return "there is no such table"
	}
	for _, column := range i.Columns {
		if _, ok := schema.Column(i.Table, column); !ok {
			return "there is no column " + column
		}
	}
	if !schema.InnoDB(i.Table) {
		return fmt.Sprintf("the engine of the table is %s, which copies the table for it", cmp.Or(schema.Engine(i.Table), "unknown"))
	}
	return ""
}

// Examined is an index with what it costs and gains.
type Examined struct {
	Index
	TableRows int64
	Bytes     int64         // estimated size of an index that does not exist
	Duration  time.Duration // estimated time to create it
	Uses      []Use
}

// Use is what an index is for, and how many rows it saves reading.
type Use struct {
	Requests      string
	Statement     string // the part of it that reads the table
	Before, After int64  // rows to examine, as estimated by the server or, if the index does not exist, from samples
}

// Examine is like Survey, with costs and gains. It reads samples of the tables.
func Examine(ctx context.Context, db *wpdb.DB) ([]Examined, error) {
	list, err := Survey(ctx, db)
	if err != nil {
		return nil, err
	}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return nil, err
	}
	found := make([]Examined, len(list))
	for n, i := range list {
		found[n].Index = i
		if i.State == Unusable {
			continue
		}
		if err := found[n].examine(ctx, db, schema, wantedIndexes[n]); err != nil {
			return nil, fmt.Errorf("examine %s: %w", db.FullName(i.Table), err)
		}
	}
	return found, nil
}

func (e *Examined) examine(ctx context.Context, db *wpdb.DB, schema *wpdb.Schema, w wantedIndex) error {
	whole, err := db.Explain(ctx, "estimate rows", sq.Select("id").From(db.Name(w.Table)))
	if err != nil {
		return err
	}
	e.TableRows = whole.Rows
	s, err := sampleOf(ctx, db, schema, w)
	if err != nil {
		return err
	}
	if e.State != Present {
		data, err := db.DataSize(ctx, w.Table)
		if err != nil {
			return err
		}
		e.Bytes = s.indexSize(e.TableRows)
		e.Duration = buildTime(e.TableRows, data)
	}
	for n, u := range w.uses {
		use, err := e.examineUse(ctx, db, u, s, s.matching[n])
		if err != nil {
			return err
		}
		e.Uses = append(e.Uses, use)
	}
	return nil
}

// examineUse asks the server for its plans. If the index exists, Before is the plan without it.
func (e *Examined) examineUse(ctx context.Context, db *wpdb.DB, u use, s sample, matching int64) (Use, error) {
	const op = "explain a statement"
	table := db.Name(e.Table)
	text, err := u.text(table, s.values)
	if err != nil {
		return Use{}, err
	}
	use := Use{Requests: u.requests, Statement: text}
	if e.State != Present {
		plan, err := db.Explain(ctx, op, u.statement(table, s.values))
		use.Before, use.After = plan.Rows, min(plan.Rows, u.rowsWithIndex(e.TableRows, s, matching))
		return use, err
	}
	without, err := db.Explain(ctx, op, u.statement(db.Ignoring(e.Table, e.Serving), s.values))
	if err != nil {
		return Use{}, err
	}
	with, err := db.Explain(ctx, op, u.statement(table, s.values))
	use.Before, use.After = without.Rows, with.Rows
	return use, err
}

// rowsWithIndex estimates how many rows the statement will examine in a table of the given size, if
// matching rows of the sample satisfy its constant conditions.
func (u use) rowsWithIndex(rows int64, s sample, matching int64) int64 {
	switch {
	case u.page():
		return pageSize
	case u.equal == "":
		return max(1, rows*matching/max(1, s.rows))
	default:
		return max(1, u.values) * s.rowsPerValue(rows)
	}
}
