package records

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// ManageKeys are the keys that let people manage a booking or order without logging in.
type ManageKeys struct{ Agent, Customer string }

// The meta keys that store ManageKeys.
const (
	keyForAgent    = secretMeta + "for_agent"
	keyForCustomer = secretMeta + "for_customer"
)

// LoadManageKeys reads the keys of bookings or orders, by id.
func LoadManageKeys(ctx context.Context, s *session.Session, table wpdb.Table, ids ...int64) (map[int64]ManageKeys, error) {
	metas, err := session.LoadMetas(ctx, s, table, ids, sq.Eq{"meta_key": []string{keyForAgent, keyForCustomer}})
	keys := make(map[int64]ManageKeys, len(metas))
	for id, meta := range metas {
		keys[id] = ManageKeys{Agent: meta[keyForAgent], Customer: meta[keyForCustomer]}
	}
	return keys, err
}

// InsertManageKeys creates the keys that a booking or order lacks, and returns all its keys.
func InsertManageKeys(ctx context.Context, tx *session.Tx, table wpdb.Table, id int64, keys ManageKeys) (ManageKeys, error) {
	all, err := CompleteKeys(tx.Session, keys)
	if err == nil {
		_, err = tx.Insert(ctx, table, KeyRows(tx.Session, id, keys, all)...)
	}
	return all, err
}

// CompleteKeys adds the keys that are missing.
func CompleteKeys(s *session.Session, keys ManageKeys) (ManageKeys, error) {
	for _, key := range []*string{&keys.Agent, &keys.Customer} {
		if *key != "" {
			continue
		}
		var err error
		if *key, err = session.NewManageKey(s); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// KeyRows returns the metadata of the keys that a booking or order did not have before.
func KeyRows(s *session.Session, id int64, before, now ManageKeys) []session.Row {
	var metas []session.Row
	for _, k := range []struct{ meta, before, now string }{{keyForAgent, before.Agent, now.Agent}, {keyForCustomer, before.Customer, now.Customer}} {
		if k.before == "" {
			metas = append(metas, s.NewMeta(id, k.meta, k.now))
		}
	}
	return metas
}
