package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// metas reads the meta rows of some records, by record and key. Where a key
// stands twice the first row counts (OsMetaModel::get_by_key, LatePoint 5.6.5).
// Uses the index on object_id.
func (s *Site) metas(ctx context.Context, table wpdb.Table, ids []int64, narrow ...sq.Sqlizer) (map[int64]map[string]string, error) {
	stmt := sq.Select("object_id", "meta_key", "meta_value").From(s.db.Name(table)).
		Where(sq.Eq{"object_id": ids}).OrderBy("id")
	for _, condition := range narrow {
		stmt = stmt.Where(condition)
	}
	type pair struct{ key, value string }
	rows, err := grouped(ctx, s, "read meta", stmt, func(row wpdb.Scanner, owner *int64) (p pair, err error) {
		err = row.Scan(owner, &p.key, wpdb.OrZero(&p.value))
		return p, err
	})
	if err != nil {
		return nil, err
	}
	metas := make(map[int64]map[string]string, len(rows))
	for id, pairs := range rows {
		values := make(map[string]string, len(pairs))
		for _, p := range pairs {
			if _, seen := values[p.key]; !seen {
				values[p.key] = p.value
			}
		}
		metas[id] = values
	}
	return metas, nil
}
