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
// that are known not to be there are in none of the lists, but for ours, which
// are to be made.
type rights struct {
	needed     []neededRights
	unreadable []wpdb.Table            // without which the site cannot be served
	hidden     []wpdb.Table            // others that cannot be read, or are not there
	lacking    map[string][]wpdb.Table // by the rights that are lacking on those that can be read, or are to be made
	untold     bool                    // the server gave no answer about writing to some
}

// neededRights are all rights on a table, of which some may be lacking.
type neededRights struct {
	table          wpdb.Table
	there, lacking bool
}

// tryRights tries every right that is ever needed.
func tryRights(ctx context.Context, db *wpdb.DB) (rights, error) {
	r := rights{lacking: map[string][]wpdb.Table{}}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return r, err
	}
	for _, table := range wpdb.Tables() {
		readable, err := db.HasPrivilege(ctx, wpdb.Select, table)
		there := !errors.Is(err, wpdb.ErrSchema)
		switch {
		case there && err != nil:
			return r, err
		case readable, !there && table.Own():
			lacking := r.tryWriting(ctx, db, table, there)
			r.needed = append(r.needed, neededRights{table, there, lacking})
		case there:
			r.hide(schema, table)
		}
	}
	return r, nil
}

// hide notes a table that cannot be read. The schema knows it where some other
// right is there.
func (r *rights) hide(schema *wpdb.Schema, table wpdb.Table) {
	if schema.Expects(table) {
		r.unreadable = append(r.unreadable, table)
	} else {
		r.hidden = append(r.hidden, table)
	}
	if !table.Optional() || schema.Has(table) {
		r.needed = append(r.needed, neededRights{table, !table.Own() || schema.Has(table), true})
	}
}

// blind tells whether the site itself cannot be looked at.
func (r rights) blind() bool {
	return slices.ContainsFunc(r.unreadable, func(t wpdb.Table) bool { return t == wpdb.Options || t.Required() })
}

// hiddenRights are those of a site of which nothing can be seen.
func hiddenRights() (r rights) {
	for _, table := range wpdb.Tables() {
		r.hide(&wpdb.Schema{}, table)
	}
	return r
}

func (r *rights) tryWriting(ctx context.Context, db *wpdb.DB, table wpdb.Table, there bool) (lacking bool) {
	var words []string
	for _, right := range table.Privileges(there)[1:] { // beyond that to read
		allowed, err := db.HasPrivilege(ctx, right, table)
		switch {
		case !there && errors.Is(err, wpdb.ErrSchema): // allowed
		case err != nil:
			r.untold = true // such as by a replica or a proxy
			return false
		case !allowed:
			words = append(words, string(right))
		}
	}
	if len(words) > 0 {
		key := strings.Join(words, ", ")
		r.lacking[key] = append(r.lacking[key], table)
	}
	return len(words) > 0
}

// grants are statements that give an account rights.
type grants struct {
	needed   []string // all that are needed
	missing  []string // those of them that change something
	optional []string // for tables that cannot be seen and that the site may lack
}

func (r rights) grants(db *wpdb.DB, database, account string) (g grants) {
	for _, n := range r.needed {
		statement := db.GrantStatement(database, account, n.table, n.there)
		g.needed = append(g.needed, statement)
		if n.lacking {
			g.missing = append(g.missing, statement)
		}
	}
	for _, table := range r.hidden {
		if table.Optional() {
			g.optional = append(g.optional, db.GrantStatement(database, account, table, true))
		}
	}
	return g
}

// all are lines that a database server reads.
func (g grants) all() string {
	text := lines(g.needed)
	if len(g.optional) > 0 {
		text += "-- The site may lack these tables, which cannot be seen; the server refuses what is for one that is not there:\n" + lines(g.optional)
	}
	return text
}

func lines(statements []string) string {
	if len(statements) == 0 {
		return ""
	}
	return strings.Join(statements, ";\n") + ";\n"
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
	// Most sites have no network and no add-on for coupons.
	hidden := slices.DeleteFunc(slices.Clone(r.hidden), func(t wpdb.Table) bool { return t == wpdb.Sitemeta || t == wpdb.Coupons })
	if len(hidden) > 0 {
		warnings = append(warnings, fmt.Sprintf("the database user may not read %s: they count as missing, if they are there", named(db, hidden)))
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
func named(db *wpdb.DB, tables []wpdb.Table) string { return strings.Join(db.FullNames(tables), ", ") }
