package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// compared says what is compared of a resource's rows on this site.
type compared struct {
	resource Resource
	table    string // quoted, with its prefix
	from     string // the table and what is joined to its rows
	hash     string // CRC-32 of all columns
	facts    string // see factsOf
	updated  bool   // there is a column updated_at
	// signature identifies the compared columns: hashes of other columns cannot be compared.
	signature string
}

// compare returns how to compare a resource's rows; ok is false if this site lacks the table.
func compare(db *wpdb.DB, schema *wpdb.Schema, r Resource) (c compared, ok bool) {
	table := tables[r]
	names := schema.ColumnNames(table)
	if !slices.Contains(names, "id") {
		return c, false
	}
	c = compared{resource: r, table: db.Name(table), from: db.Name(table), updated: slices.Contains(names, "updated_at")}
	if r == Payments && schema.Has(wpdb.TransactionRefunds) {
		// Gateways add a refund without touching the payment's row.
		c.from += " LEFT JOIN (SELECT transaction_id AS refunded_payment, SUM(amount) AS refunded FROM " + db.Name(wpdb.TransactionRefunds) +
			" GROUP BY transaction_id) refunds ON refunded_payment = id"
		names = append(slices.Clone(names), "refunded")
	}
	c.hash, c.facts = hashOf(names), factsOf(r, names)
	sum := sha256.Sum256([]byte(c.hash + c.facts))
	c.signature = hex.EncodeToString(sum[:])
	return c, true
}

// hashOf is the CRC-32 of columns in SQL.
func hashOf(names []string) string {
	values := make([]string, len(names))
	for i, name := range names {
		// A binary literal makes the whole text binary, so that columns of different
		// collations can be joined.
		values[i] = "COALESCE(`" + name + "`, 0x00)"
	}
	return "CRC32(CONCAT_WS(0x1F, " + strings.Join(values, ", ") + "))"
}

// factsOf is what a snapshot keeps of a row besides its hash: for a booking, what an entry says about it;
// for an order, a hash of what its bookings show; for a payment, its order and a hash of everything but its
// times, see follow.
func factsOf(r Resource, names []string) string {
	switch r {
	case Bookings:
		return "CONCAT_WS('|', COALESCE(agent_id, 0), COALESCE(service_id, 0), COALESCE(location_id, 0), COALESCE(customer_id, 0), COALESCE(status, ''))"
	case Orders:
		return hashOf([]string{"customer_comment", "payment_status", "total"})
	case Payments:
		shown := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "created_at" || name == "updated_at" })
		return "CONCAT_WS('|', COALESCE(order_id, 0), " + hashOf(shown) + ")"
	default:
		return "''"
	}
}

// spanChecksum is snapshot.checksum in SQL.
func (c compared) spanChecksum() string {
	return fmt.Sprintf("BIT_XOR(%s * (2 * (id %% %d) + 1))", c.hash, checksumWeights)
}

// rowsPerStatement limits how many rows are named in one statement.
const rowsPerStatement = 500

// rows reads the present states of rows by their ids. Uses the primary key.
func (c compared) rows(ctx context.Context, db *wpdb.DB, ids []int64) (snapshot, error) {
	found := snapshot{}
	for part := range slices.Chunk(ids, rowsPerStatement) {
		if err := c.read(ctx, db, sq.Eq{"id": part}, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// between reads the present states of the rows of spans from first to last. Uses the
// primary key.
func (c compared) between(ctx context.Context, db *wpdb.DB, first, last int64) (snapshot, error) {
	found := snapshot{}
	return found, c.read(ctx, db, idsOf(first, last), found)
}

// idsOf is the condition that ids are in the spans from first to last.
func idsOf(first, last int64) sq.And {
	return sq.And{sq.GtOrEq{"id": first * spanSize}, sq.Lt{"id": (last + 1) * spanSize}}
}

func (c compared) read(ctx context.Context, db *wpdb.DB, which sq.Sqlizer, into snapshot) error {
	var found []presentRow
	err := wpdb.Together(ctx, db, c.queryRows(&found, which))
	into.add(found)
	return err
}

// presentRow is a row of a resource as it is now.
type presentRow struct {
	id int64
	rowState
}

func (c compared) queryRows(into *[]presentRow, which sq.Sqlizer) wpdb.Query {
	stmt := sq.Select("id", c.hash, c.facts).From(c.from).Where(which)
	return wpdb.Rows(into, "read state of "+string(c.resource), stmt, wpdb.Into(func(r *presentRow) []any {
		return []any{&r.id, &r.hash, &r.facts}
	}))
}

// maxID returns the largest id, or 0.
func (c compared) maxID(ctx context.Context, db *wpdb.DB) (int64, error) {
	stmt := sq.Select("COALESCE(MAX(id), 0)").From(c.table)
	id, _, err := wpdb.One(ctx, db, "find last of "+string(c.resource), stmt, wpdb.Value[int64])
	return id, err
}
