package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// manageKeys are the keys with which a booking or order is managed without logging in.
type manageKeys struct{ agent, customer string }

// The meta keys of a booking's or order's manageKeys.
const (
	keyForAgent    = secretMeta + "for_agent"
	keyForCustomer = secretMeta + "for_customer"
)

// manageKey returns a key with which a booking or order can be managed without logging
// in: 36 hexadecimal digits.
func (s *Site) manageKey() (string, error) { return domain.RandomHex(s.random, 18) }

// manageKeys reads the keys of bookings or orders, by id.
func (s *Site) manageKeys(ctx context.Context, table wpdb.Table, ids ...int64) (map[int64]manageKeys, error) {
	metas, err := s.metas(ctx, table, ids, sq.Eq{"meta_key": []string{keyForAgent, keyForCustomer}})
	keys := make(map[int64]manageKeys, len(metas))
	for id, meta := range metas {
		keys[id] = manageKeys{agent: meta[keyForAgent], customer: meta[keyForCustomer]}
	}
	return keys, err
}

// insertManageKeys creates the keys that a booking or order lacks, and returns all of its
// keys.
func (tx *Tx) insertManageKeys(ctx context.Context, table wpdb.Table, id int64, keys manageKeys) (manageKeys, error) {
	all, err := tx.completeKeys(keys)
	if err == nil {
		_, err = tx.insert(ctx, table, tx.keyRows(id, keys, all)...)
	}
	return all, err
}

// completeKeys returns keys with those that are missing.
func (s *Site) completeKeys(keys manageKeys) (manageKeys, error) {
	for _, key := range []*string{&keys.agent, &keys.customer} {
		if *key != "" {
			continue
		}
		var err error
		if *key, err = s.manageKey(); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// keyRows returns the metadata of the keys that a booking or order did not have before.
func (s *Site) keyRows(id int64, before, now manageKeys) []row {
	var metas []row
	for _, k := range []struct{ meta, before, now string }{{keyForAgent, before.agent, now.agent}, {keyForCustomer, before.customer, now.customer}} {
		if k.before == "" {
			metas = append(metas, append(row{{"object_id", id}, {"meta_key", k.meta}, {"meta_value", k.now}}, s.newTimestamps()...))
		}
	}
	return metas
}
