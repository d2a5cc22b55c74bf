package records

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bookside/bookside/wpdb"
)

// IndexState is whether a site has an index.
type IndexState string

// The states of an index.
const (
	Present  IndexState = "present"    // ours, or another with the same columns
	Missing  IndexState = "missing"    // and worth having
	Unneeded IndexState = "not needed" // the table is too small
	Unusable IndexState = "impossible" // see Index.Hindrance
)

// smallTable is the number of rows from which indexes are worthwhile: the server reads fewer in a
// millisecond or two.
const smallTable = 5_000

// Index is an index that a site has or could have.
type Index struct {
	wpdb.Index
	Requests  string // that need it
	State     IndexState
	Hindrance string // why it cannot be created
}

// SurveyIndexes returns all worthwhile indexes, with their state on a site. It takes a few milliseconds for each
// large table.
func SurveyIndexes(ctx context.Context, db *wpdb.DB) ([]Index, error) {
	schema, err := db.Schema(ctx, "") // of whatever version
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
		list[n] = survey(schema, existing, w)
		if list[n].State != Missing {
			continue
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

// survey returns the state of an index, whatever the size of its table. One whose name is taken is missing, with what has to
// be done first.
func survey(schema *wpdb.Schema, existing []wpdb.Index, w wantedIndex) Index {
	index := Index{Index: w.Index, Requests: w.requests, State: Missing, Hindrance: whyImpossible(schema, w.Index)}
	switch {
	case index.Hindrance != "":
		index.State = Unusable
	case slices.ContainsFunc(existing, func(i wpdb.Index) bool { return i.Serves(w.Index) }):
		index.State = Present
	case slices.ContainsFunc(existing, w.TakesNameOf):
		index.Hindrance = "another index has this name, or the database was told to ignore it: drop it, rename it or make it visible again"
	}
	return index
}

// whyImpossible returns why a site cannot have an index, or an empty text.
func whyImpossible(schema *wpdb.Schema, i wpdb.Index) string {
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
