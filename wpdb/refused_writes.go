package wpdb

import (
	"context"
	"errors"
	"sync/atomic"
)

// refusedWrites records the write privileges that the database user is known to lack.
type refusedWrites struct {
	noticed atomic.Bool // a statement was refused since the last look
	list    atomic.Pointer[[]RefusedWrite]
}

// RefusedWrite is a privilege that requests need in order to write to some tables, and that the
// database user lacks.
type RefusedWrite struct {
	Privilege Privilege
	Tables    []Table
}

// RefusedWrites returns what the last LookForRefusedWrites found.
func (db *DB) RefusedWrites() []RefusedWrite {
	if list := db.refused.list.Load(); list != nil {
		return *list
	}
	return nil
}

// WriteRefused reports whether to look again soon: the last look found something, or a statement was
// refused since.
func (db *DB) WriteRefused() bool { return db.refused.noticed.Load() || len(db.RefusedWrites()) > 0 }

// wrapWrite is wrap for a statement that changes rows.
func (db *DB) wrapWrite(op string, err error) error {
	err = wrap(op, withSilence(db.silent, err))
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
	tables := map[Privilege][]Table{}
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
				tables[p] = append(tables[p], t)
			}
			if ctx.Err() != nil {
				return err
			}
		}
	}
	var list []RefusedWrite
	for _, p := range []Privilege{Insert, Update, Delete} {
		if len(tables[p]) > 0 {
			list = append(list, RefusedWrite{p, tables[p]})
		}
	}
	db.refused.list.Store(&list)
	return nil
}
