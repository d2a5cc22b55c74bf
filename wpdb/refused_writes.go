package wpdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// refusedWrites records the write privileges that the database user is known to lack.
type refusedWrites struct {
	noticed atomic.Bool // a statement was refused since the last look
	tables  atomic.Pointer[RefusedWrites]
}

// RefusedWrites are the tables that requests need to write to and the database user may not, by the missing privilege.
type RefusedWrites map[Privilege][]Table

// In says what is missing in a database; "" if nothing is.
func (r RefusedWrites) In(db *DB) string {
	var lacking []string
	for _, p := range slices.Sorted(maps.Keys(r)) {
		lacking = append(lacking, fmt.Sprintf("%s on %s", p, strings.Join(db.FullNames(r[p]), ", ")))
	}
	return strings.Join(lacking, "; ")
}

// RefusedWrites returns what was last noted.
func (db *DB) RefusedWrites() RefusedWrites {
	if noted := db.refused.tables.Load(); noted != nil {
		return *noted
	}
	return nil
}

// NoteRefusedWrites notes what a look at the privileges found.
func (db *DB) NoteRefusedWrites(found RefusedWrites) { db.refused.tables.Store(&found) }

// WriteRefused reports whether to look again soon: the last look found something, or a statement was
// refused since.
func (db *DB) WriteRefused() bool { return db.refused.noticed.Load() || len(db.RefusedWrites()) > 0 }

// wrapWrite is wrap for a statement that changes rows.
func (db *DB) wrapWrite(op string, err error) error {
	err = wrap(op, err)
	if errors.Is(err, ErrAccessDenied) {
		db.refused.noticed.Store(true)
	}
	return err
}

// LookForRefusedWrites probes each privilege that requests need in order to write, with statements that
// change nothing. Where a server does not tell, as a replica, nothing counts as refused.
func (db *DB) LookForRefusedWrites(ctx context.Context) error {
	schema, err := db.schema.Load(), error(nil)
	if schema == nil {
		schema, err = db.probe(ctx, "")
	}
	if err != nil {
		return err
	}
	customersAreUsers, err := db.CustomersAreUsers(ctx)
	if err != nil {
		return err
	}
	db.refused.noticed.Store(false)
	rights := db.Rights(ctx, schema, customersAreUsers)
	refused := RefusedWrites{}
	for _, t := range Tables() {
		if !schema.Has(t) {
			continue
		}
		for _, p := range t.Privileges(Needs{Exists: true, CustomersAreUsers: customersAreUsers})[1:] { // without SELECT
			if p == Alter {
				continue // no request needs it
			}
			allowed, err := rights.Has(ctx, p, t)
			if err == nil && !allowed {
				refused[p] = append(refused[p], t)
			}
			if ctx.Err() != nil {
				return err
			}
		}
	}
	db.NoteRefusedWrites(refused)
	return nil
}
