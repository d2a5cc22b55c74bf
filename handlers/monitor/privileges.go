package monitor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/bookside/bookside/wpdb"
)

// Privileges are what the database user may do with a site's tables. Tables that are known not to exist are
// in none of the lists, except our own, which will be created. What requests that write lack is at wpdb.DB.RefusedWrites.
type Privileges struct {
	Unreadable []wpdb.Table            // without these the site cannot be served
	hidden     []wpdb.Table            // other tables that cannot be read or do not exist
	own        map[string][]wpdb.Table // our own tables, by the privileges that the user lacks to create or alter them
	unknown    bool                    // the server does not say whether some tables can be written
	passwords  bool                    // a user with privileges on single tables may read password hashes

	customersAreUsers bool // the site makes its customers users of WordPress
	alters            bool // one of our own tables, and so, for all that matters, the others

	tables []tablePrivileges // that need grants; none before they are probed
}

// complete reports whether the privileges were probed, and the user has all of them.
func (p Privileges) complete() bool {
	lacking := slices.ContainsFunc(p.tables, func(t tablePrivileges) bool { return t.lacking })
	return len(p.tables) > 0 && !lacking && !p.unknown && !p.passwords
}

// tablePrivileges is a table on which privileges are needed.
type tablePrivileges struct {
	table   wpdb.Table
	exists  bool
	lacking bool // at least one of the privileges
}

// Grants are GRANT statements.
type Grants struct {
	Needed   []string `json:"needed,omitempty"`   // all needed statements
	Missing  []string `json:"missing,omitempty"`  // those that would change anything
	Optional []string `json:"optional,omitempty"` // for tables that cannot be seen and that the site may lack
	// Incomplete is set if the settings that some grants depend on cannot be read.
	Incomplete bool `json:"incomplete,omitempty"`
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
	return p.Grants(wpdb.New(nil, config.Prefix), database, account), nil
}

// probe tries every privilege that may be needed.
func probe(ctx context.Context, db *wpdb.DB) (p Privileges, err error) {
	p.own = map[string][]wpdb.Table{}
	p.customersAreUsers, err = db.CustomersAreUsers(ctx)
	if err != nil && !errors.Is(err, wpdb.ErrAccessDenied) && !errors.Is(err, wpdb.ErrSchema) {
		return p, err
	}
	if p.passwords, err = readsPasswords(ctx, db); err != nil {
		return p, err
	}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return p, err
	}
	rights, refused := db.Rights(ctx, schema, p.customersAreUsers), wpdb.RefusedWrites{}
	for _, table := range wpdb.Tables() {
		readable, err := rights.Has(ctx, wpdb.Select, table)
		exists := !errors.Is(err, wpdb.ErrSchema)
		switch {
		case exists && err != nil:
			return p, err
		case readable, !exists && table.Own():
			lacking := p.probeWrites(ctx, rights, refused, table, exists)
			p.tables = append(p.tables, tablePrivileges{table, exists, lacking})
		case exists:
			p.addUnreadable(schema, table)
		}
	}
	db.NoteRefusedWrites(refused)
	return p, nil
}

// readsPasswords reports whether a dedicated database user, which unlike the site's may not change the
// options, can read all columns of the users.
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
		p.hidden = append(p.hidden, table)
	}
	if !table.Optional() || schema.Has(table) {
		p.tables = append(p.tables, tablePrivileges{table, !table.Own() || schema.Has(table), true})
	}
}

// probeWrites reports whether privileges to write the table are missing, and adds those that requests need to refused.
func (p *Privileges) probeWrites(ctx context.Context, rights wpdb.Rights, refused wpdb.RefusedWrites, table wpdb.Table, exists bool) (lacking bool) {
	var own []string
	for _, privilege := range table.Privileges(p.needs(exists))[1:] { // except SELECT
		if privilege == wpdb.Alter && p.alters {
			continue
		}
		allowed, err := rights.Has(ctx, privilege, table)
		switch {
		case !exists && errors.Is(err, wpdb.ErrSchema): // has the privilege
		case err != nil:
			p.unknown = true // on a replica or behind some proxies
			return false
		case allowed:
			p.alters = p.alters || privilege == wpdb.Alter
		case privilege == wpdb.Create || privilege == wpdb.Alter:
			own, lacking = append(own, string(privilege)), true
		default:
			refused[privilege], lacking = append(refused[privilege], table), true
		}
	}
	if words := strings.Join(own, ", "); words != "" {
		p.own[words] = append(p.own[words], table)
	}
	return lacking
}

// SiteUnreadable reports whether too much is unreadable to say anything about the site.
func (p Privileges) SiteUnreadable() bool {
	return slices.ContainsFunc(p.Unreadable, func(t wpdb.Table) bool { return t == wpdb.Options || t.Required() })
}

// needs returns what the privileges on a table depend on.
func (p Privileges) needs(exists bool) wpdb.Needs {
	return wpdb.Needs{Exists: exists, CustomersAreUsers: p.customersAreUsers}
}

// Grants returns the statements for what was found.
func (p Privileges) Grants(db *wpdb.DB, database, account string) (g Grants) {
	g.Incomplete = slices.Contains(p.Unreadable, wpdb.Settings)
	for _, t := range p.tables {
		statement := db.GrantStatement(database, account, t.table, p.needs(t.exists))
		g.Needed = append(g.Needed, statement)
		if t.lacking {
			g.Missing = append(g.Missing, statement)
		}
	}
	for _, table := range p.hidden {
		if table.Optional() {
			g.Optional = append(g.Optional, db.GrantStatement(database, account, table, p.needs(true)))
		}
	}
	return g
}

func (p Privileges) entries(db *wpdb.DB) (list []Entry) {
	if len(p.Unreadable) > 0 {
		list = append(list, Entry{Code: ReadsRefused, Level: Broken, Text: Say("the database user may not read %s", names(db, p.Unreadable)), Do: Say("Grant it SELECT on them.")})
	}
	for _, lacking := range slices.Sorted(maps.Keys(p.own)) {
		list = append(list, Entry{Code: OwnRefused, Level: Minor, Text: Say("the database user lacks %s on %s", lacking, names(db, p.own[lacking])),
			Do: Say("Grant what bookside check --grants prints, or let a user who may run bookside migrate after each upgrade.")})
	}
	if p.unknown {
		list = append(list, Entry{Code: PrivilegesGood, Level: Minor, Text: Say("the server does not say whether the database user may write to all tables")})
	}
	if p.passwords {
		users, meta := db.FullName(wpdb.Users), db.FullName(wpdb.Usermeta)
		list = append(list, Entry{Code: PasswordsRead, Level: Minor, Text: Say("the database user may read the hashes of passwords in %s, which Bookside never does", users),
			Do: Say("Revoke its privileges on %s and %s, then grant those of bookside check --grants.", users, meta)})
	}
	// Most sites have neither a network nor the add-ons.
	hidden := slices.DeleteFunc(slices.Clone(p.hidden), func(t wpdb.Table) bool {
		return t == wpdb.Sitemeta || slices.Contains(wpdb.ProTables(), t) || slices.Contains(wpdb.CalendarTables(), t)
	})
	if len(hidden) > 0 {
		list = append(list, Entry{Code: ReadsHidden, Level: Minor, Text: Say("the database user may not read %s: if they exist, they are treated as missing", names(db, hidden))})
	}
	if p.complete() {
		list = append(list, Entry{Code: PrivilegesGood, Text: Say("to read and to write")})
	}
	return list
}
