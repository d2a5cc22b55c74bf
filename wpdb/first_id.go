package wpdb

import (
	"context"

	sq "github.com/Masterminds/squirrel"
)

// attribution is a column of ours with ids of keys or webhooks.
type attribution struct {
	table  Table
	column string
	where  sq.Eq // nil for all rows
}

// byAPI are the entries whose actor is a key.
var byAPI = sq.Eq{"origin": "api"}

// attributions lists what our tables attribute to the rows of another of them. It outlives an emptied
// table, for example when a backup leaves out that table's rows. The companion has the same list.
var attributions = map[Table][]attribution{
	APIKeys:  {{Webhooks, "key_id", nil}, {Holds, "key_id", nil}, {Changes, "actor_id", byAPI}, {ChangeInbox, "actor_id", byAPI}},
	Webhooks: {{WebhookDeliveries, "webhook_id", nil}, {WebhookTries, "webhook_id", nil}},
}

// FirstID returns the id for the first row of one of our tables that was emptied: one that nothing is
// attributed to yet. It returns 0 if the database may choose. Another process may insert the same id
// meanwhile; on an ErrDuplicate, call FirstID again.
func FirstID(ctx context.Context, db *DB, table Table) (int64, error) {
	_, exists, err := One(ctx, db, "look for a first row", sq.Select("id").From(db.Name(table)).Limit(1), Value[int64])
	if err != nil || exists {
		return 0, err
	}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, a := range attributions[table] {
		if !schema.Has(a.table) {
			continue
		}
		stmt := sq.Select("COALESCE(MAX(" + a.column + "), 0)").From(db.Name(a.table)).Where(a.where)
		id, _, err := One(ctx, db, "look for the last id", stmt, Value[int64])
		if err != nil {
			return 0, err
		}
		last = max(last, id)
	}
	if last == 0 {
		return 0, nil
	}
	return last + 1, nil
}
