package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// MetaRow is a row of meta.
type MetaRow struct {
	Record     int64
	Key, Value string
}

// LoadMetas reads the meta of some records, by record and key.
func LoadMetas(ctx context.Context, s *Session, table wpdb.Table, ids []int64, narrow ...sq.Sqlizer) (map[int64]map[string]string, error) {
	var rows []MetaRow
	err := wpdb.Together(ctx, s.DB, QueryMetas(s, &rows, table, ids, narrow...))
	return MetasOf(rows), err
}

// QueryMetas returns the query of LoadMetas, for several that are sent together. Uses the index on object_id.
func QueryMetas(s *Session, into *[]MetaRow, table wpdb.Table, ids []int64, narrow ...sq.Sqlizer) wpdb.Query {
	stmt := sq.Select("object_id", "meta_key", "meta_value").From(s.DB.Name(table)).
		Where(sq.Eq{"object_id": ids}).OrderBy("id")
	for _, condition := range narrow {
		stmt = stmt.Where(condition)
	}
	return wpdb.Rows(into, "read meta", stmt, wpdb.Into(func(m *MetaRow) []any {
		return []any{&m.Record, &m.Key, wpdb.OrZero(&m.Value)}
	}))
}

// MetasOf returns values by record and key. If a key has several rows, the first one counts
// (OsMetaModel::get_by_key, LatePoint 5.6.5).
func MetasOf(rows []MetaRow) map[int64]map[string]string {
	metas := map[int64]map[string]string{}
	for _, m := range rows {
		if metas[m.Record] == nil {
			metas[m.Record] = map[string]string{}
		}
		if _, seen := metas[m.Record][m.Key]; !seen {
			metas[m.Record][m.Key] = m.Value
		}
	}
	return metas
}

// LoadMeta returns a column of a SELECT with one value of a record's meta, chosen as LoadMetas does, or
// NULL if there is none.
func LoadMeta(s *Session, table wpdb.Table, record, key string) sq.Sqlizer {
	return sq.Expr("(SELECT COALESCE(m.meta_value, '') FROM "+s.DB.As(table, "m")+" WHERE m.object_id = "+record+" AND m.meta_key = ? ORDER BY m.id LIMIT 1)", key)
}

// NewMeta returns a row of meta.
func (s *Session) NewMeta(record int64, key, value string) Row {
	return append(Row{{"object_id", record}, {"meta_key", key}, {"meta_value", value}}, s.NewTimestamps()...)
}

// MetaChanges are the rows of meta to insert, update and delete.
type MetaChanges struct {
	inserts []Row
	updates []metaUpdate
	deletes []int64
}

type metaUpdate struct {
	id    int64
	value string
}

// Any reports whether anything changes.
func (m MetaChanges) Any() bool { return len(m.inserts)+len(m.updates)+len(m.deletes) > 0 }

// NewMetaChanges compares values with the stored meta of a record. An existing row is
// updated; an empty value deletes all rows of its key (OsMetaModel::save_by_key and
// delete_meta_by_key, LatePoint 5.6.5; unlike there, "0" is a value).
func NewMetaChanges(ctx context.Context, s *Session, table wpdb.Table, id int64, values map[string]string) (m MetaChanges, err error) {
	if len(values) == 0 {
		return m, nil
	}
	type stored struct {
		id         int64
		key, value string
	}
	stmt := sq.Select("id", "meta_key", "meta_value").From(s.DB.Name(table)).Where(sq.Eq{"object_id": id}).OrderBy("id")
	rows, err := wpdb.All(ctx, s.DB, "read meta", stmt, wpdb.Into(func(r *stored) []any {
		return []any{&r.id, &r.key, wpdb.OrZero(&r.value)}
	}))
	if err != nil {
		return m, err
	}
	byKey := map[string][]stored{}
	for _, r := range rows {
		key := strings.ToLower(r.key)
		byKey[key] = append(byKey[key], r)
	}
	inserted := map[string]Row{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		folded := strings.ToLower(key)
		value, same := values[key], byKey[folded]
		switch {
		case value == "":
			for _, r := range same {
				m.deletes = append(m.deletes, r.id)
			}
		case len(same) == 0 && inserted[folded] != nil: // the same name in another letter case
			inserted[folded][2].Value = value
		case len(same) == 0:
			inserted[folded] = s.NewMeta(id, key, value)
			m.inserts = append(m.inserts, inserted[folded])
		case same[0].value != value || m.changes(same[0].id):
			m.updates = slices.DeleteFunc(m.updates, func(u metaUpdate) bool { return u.id == same[0].id })
			m.updates = append(m.updates, metaUpdate{same[0].id, value})
		}
	}
	return m, nil
}

// changes reports whether a row changes.
func (m MetaChanges) changes(id int64) bool {
	return slices.ContainsFunc(m.updates, func(u metaUpdate) bool { return u.id == id })
}

// ChangeMeta writes changes of meta.
func ChangeMeta(ctx context.Context, tx *Tx, table wpdb.Table, m MetaChanges) error {
	if err := tx.Delete(ctx, table, m.deletes...); err != nil {
		return err
	}
	if err := updateMeta(ctx, tx, table, m.updates); err != nil {
		return err
	}
	_, err := tx.Insert(ctx, table, m.inserts...)
	return err
}

// updateMeta changes rows of meta in one statement.
func updateMeta(ctx context.Context, tx *Tx, table wpdb.Table, updates []metaUpdate) error {
	if len(updates) == 0 {
		return nil
	}
	if err := writable(tx.Session, table); err != nil {
		return err
	}
	ids, value := make([]int64, len(updates)), sq.Case("id")
	for i, u := range updates {
		ids[i], value = u.id, value.When(sq.Expr("?", u.id), sq.Expr("?", u.value))
	}
	stmt := sq.Update(tx.DB.Name(table)).Set("meta_value", value).Where(sq.Eq{"id": ids})
	for _, c := range knownColumns(tx.Session, table, Row{tx.UpdateTimestamp()}) {
		stmt = stmt.Set(c.Name, c.Value)
	}
	result, err := tx.Exec(ctx, table, "update "+string(table), stmt)
	if err == nil && result.Rows < int64(len(ids)) {
		err = fmt.Errorf("update %s: %w", table, ErrRowGone)
	}
	return err
}

// SaveMeta stores the meta of a record.
func SaveMeta(ctx context.Context, tx *Tx, table wpdb.Table, id int64, values map[string]string) error {
	m, err := NewMetaChanges(ctx, tx.Session, table, id, values)
	if err != nil {
		return err
	}
	return ChangeMeta(ctx, tx, table, m)
}
