package diagnose

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/wpdb"
)

// Privileges are what the database user may do with a site's tables. Tables that are known not to exist are
// in none of the lists, except our own, which will be created.
type Privileges struct {
	Unreadable []wpdb.Table            // without these the site cannot be served
	Hidden     []wpdb.Table            // other tables that cannot be read or do not exist
	Lacking    map[string][]wpdb.Table // by the missing write privileges, such as "INSERT, UPDATE"
	Unaltered  []wpdb.Table            // our own tables that the user may not alter, which an upgrade may need
	Unknown    bool                    // the server does not say whether some tables can be written
	Passwords  bool                    // a user with privileges on single tables may read password hashes

	customersAreUsers bool // the site makes its customers users of WordPress

	tables []tablePrivileges // that need grants
}

// tablePrivileges is a table on which privileges are needed.
type tablePrivileges struct {
	table   wpdb.Table
	exists  bool
	lacking bool // at least one of the privileges
}

// Grants are GRANT statements.
type Grants struct {
	Needed   []string // all needed statements
	Missing  []string // those that would change anything
	Optional []string // for tables that cannot be seen and that the site may lack
	// Incomplete is set if the settings that some grants depend on cannot be read.
	Incomplete bool
}

// GrantsWithoutAccess returns the statements for a database user that may not
// open the database.
func GrantsWithoutAccess(ctx context.Context, config wpdb.Config) (Grants, error) {
	account, database, err := config.Account(ctx)
	if err != nil {
		return Grants{}, err
	}
	var p Privileges
	for _, table := range wpdb.Tables() {
		p.addUnreadable(&wpdb.Schema{}, table)
	}
	return p.grants(wpdb.New(nil, config.Prefix), database, account), nil
}

// probe tries every privilege that may be needed.
func probe(ctx context.Context, db *wpdb.DB) (Privileges, error) {
	p := Privileges{Lacking: map[string][]wpdb.Table{}}
	var err error
	p.customersAreUsers, err = db.CustomersAreUsers(ctx)
	if err != nil && !errors.Is(err, wpdb.ErrAccessDenied) && !errors.Is(err, wpdb.ErrSchema) {
		return p, err
	}
	if p.Passwords, err = readsPasswords(ctx, db); err != nil {
		return p, err
	}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return p, err
	}
	rights := db.Rights(ctx, schema, p.customersAreUsers)
	for _, table := range wpdb.Tables() {
		readable, err := rights.Has(ctx, wpdb.Select, table)
		exists := !errors.Is(err, wpdb.ErrSchema)
		switch {
		case exists && err != nil:
			return p, err
		case readable, !exists && table.Own():
			lacking := p.probeWrites(ctx, rights, table, exists)
			p.tables = append(p.tables, tablePrivileges{table, exists, lacking})
		case exists:
			p.addUnreadable(schema, table)
		}
	}
	return p, nil
}

// readsPasswords reports whether a dedicated database user, which unlike the site's may not change the
// options, can read all columns of the users, as earlier versions granted.
func readsPasswords(ctx context.Context, db *wpdb.DB) (bool, error) {
	owner, err := db.HasPrivilege(ctx, wpdb.Update, wpdb.Options)
	if owner || err != nil { // on a replica or behind some proxies, probeWrites reports it
		return false, ctx.Err()
	}
	return db.ReadsPasswords(ctx)
}

// addUnreadable adds a table that cannot be read. The schema contains it if the
// user has another privilege on it.
func (p *Privileges) addUnreadable(schema *wpdb.Schema, table wpdb.Table) {
	if schema.Expects(table) {
		p.Unreadable = append(p.Unreadable, table)
	} else {
		p.Hidden = append(p.Hidden, table)
	}
	if !table.Optional() || schema.Has(table) {
		p.tables = append(p.tables, tablePrivileges{table, !table.Own() || schema.Has(table), true})
	}
}

// probeWrites reports whether privileges to write the table are missing.
func (p *Privileges) probeWrites(ctx context.Context, rights wpdb.Rights, table wpdb.Table, exists bool) (lacking bool) {
	var words []string
	for _, privilege := range table.Privileges(p.needs(exists))[1:] { // except SELECT
		allowed, err := rights.Has(ctx, privilege, table)
		switch {
		case !exists && errors.Is(err, wpdb.ErrSchema): // has the privilege
		case err != nil:
			p.Unknown = true // on a replica or behind some proxies
			return false
		case !allowed && privilege == wpdb.Alter:
			p.Unaltered, lacking = append(p.Unaltered, table), true
		case !allowed:
			words = append(words, string(privilege))
		}
	}
	if len(words) > 0 {
		key := strings.Join(words, ", ")
		p.Lacking[key] = append(p.Lacking[key], table)
	}
	return lacking || len(words) > 0
}

// SiteUnreadable reports whether too much is unreadable to say anything about the site.
func (p Privileges) SiteUnreadable() bool {
	return slices.ContainsFunc(p.Unreadable, func(t wpdb.Table) bool { return t == wpdb.Options || t.Required() })
}

// needs returns what the privileges on a table depend on.
func (p Privileges) needs(exists bool) wpdb.Needs {
	return wpdb.Needs{Exists: exists, CustomersAreUsers: p.customersAreUsers}
}

// grants returns the statements for what was found.
func (p Privileges) grants(db *wpdb.DB, database, account string) (g Grants) {
	g.Incomplete = slices.Contains(p.Unreadable, wpdb.Settings)
	for _, t := range p.tables {
		statement := db.GrantStatement(database, account, t.table, p.needs(t.exists))
		g.Needed = append(g.Needed, statement)
		if t.lacking {
			g.Missing = append(g.Missing, statement)
		}
	}
	for _, table := range p.Hidden {
		if table.Optional() {
			g.Optional = append(g.Optional, db.GrantStatement(database, account, table, p.needs(true)))
		}
	}
	return g
}

func (p Privileges) warnings(db *wpdb.DB) []Sentence {
	var warnings []Sentence
	for _, lacking := range slices.Sorted(maps.Keys(p.Lacking)) {
		warnings = append(warnings, Say("the database user lacks %s on %s: requests that write there will fail", lacking, names(db, p.Lacking[lacking])))
	}
	if len(p.Unaltered) > 0 {
		warnings = append(warnings, Say("the database user lacks ALTER on Bookside's own tables: an upgrade that adds columns to them needs bookside migrate by a user who may, or the grants of check --grants: %s", names(db, p.Unaltered)))
	}
	if p.Unknown {
		warnings = append(warnings, Say("the server does not say whether the database user may write to all tables"))
	}
	if p.Passwords {
		warnings = append(warnings, Say("the database user may read the hashes of passwords in %s, which Bookside never does: revoke its privileges on %s and %s, then grant those of check --grants",
			db.FullName(wpdb.Users), db.FullName(wpdb.Users), db.FullName(wpdb.Usermeta)))
	}
	// Most sites have neither a network nor the add-ons.
	hidden := slices.DeleteFunc(slices.Clone(p.Hidden), func(t wpdb.Table) bool {
		return t == wpdb.Sitemeta || slices.Contains(wpdb.ProTables(), t) || slices.Contains(wpdb.CalendarTables(), t)
	})
	if len(hidden) > 0 {
		warnings = append(warnings, Say("the database user may not read %s: if they exist, they are treated as missing", names(db, hidden)))
	}
	return warnings
}
