package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bookside/wpdb"
)

// rights are what the database user may do with the tables of a site. Tables
// that are not there are in none of the lists.
type rights struct {
	readable   []wpdb.Table
	unreadable []wpdb.Table            // without which the site cannot be served
	hidden     []wpdb.Table            // others that cannot be read, or are not there
	lacking    map[string][]wpdb.Table // by the rights to write that are lacking
	untold     bool                    // the server gave no answer about writing to some
}

// tryRights tries every right that is ever needed.
func tryRights(ctx context.Context, db *wpdb.DB) (rights, error) {
	r := rights{lacking: map[string][]wpdb.Table{}}
	for _, table := range wpdb.Tables() {
		readable, err := db.May(ctx, wpdb.Select, table)
		switch {
		case errors.Is(err, wpdb.ErrSchema): // not there
		case err != nil:
			return r, err
		case readable:
			r.readable = append(r.readable, table)
			r.tryWriting(ctx, db, table)
		case table == wpdb.Options || table.Required():
			r.unreadable = append(r.unreadable, table)
		default:
			r.hidden = append(r.hidden, table)
		}
	}
	return r, nil
}

func (r *rights) tryWriting(ctx context.Context, db *wpdb.DB, table wpdb.Table) {
	var lacking []string
	for _, right := range table.RightsToWrite() {
		allowed, err := db.May(ctx, right, table)
		if err != nil {
			r.untold = true // such as by a replica or a proxy
			return
		}
		if !allowed {
			lacking = append(lacking, string(right))
		}
	}
	if len(lacking) > 0 {
		key := strings.Join(lacking, ", ")
		r.lacking[key] = append(r.lacking[key], table)
	}
}

// warnings tell of what is lacking although the site can be served.
func (r rights) warnings(db *wpdb.DB) []string {
	var warnings []string
	for _, lacking := range slices.Sorted(maps.Keys(r.lacking)) {
		warnings = append(warnings, fmt.Sprintf("the database user lacks %s on %s: requests that write there will fail", lacking, named(db, r.lacking[lacking])))
	}
	if r.untold {
		warnings = append(warnings, "whether the database user may write to all tables could not be told")
	}
	if len(r.hidden) > 0 {
		warnings = append(warnings, fmt.Sprintf("the database user may not read %s: they count as missing, if they are there", named(db, r.hidden)))
	}
	return warnings
}

// summary is a line about all tables.
func (r rights) summary() string {
	switch {
	case len(r.unreadable) > 0:
		return "not enough to read"
	case len(r.lacking) > 0:
		return "to read, but not to write everything"
	case r.untold:
		return "to read; to write could not be told"
	default:
		return "to read and to write"
	}
}

// named lists tables by their full names.
func named(db *wpdb.DB, tables []wpdb.Table) string { return strings.Join(names(db, tables), ", ") }
