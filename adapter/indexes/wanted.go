package indexes

import (
	"fmt"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// wantedIndex is an index that helps requests on large tables.
type wantedIndex struct {
	wpdb.Index
	uses []use
}

// use is what the API needs an index for: requests in words, and the part of their
// statements that reads the table.
type use struct {
	requests string
	columns  []string
	where    string   // constant conditions; empty for none
	equal    string   // a column compared with values of the request; empty for none
	values   int64    // how many values, 0 for one
	order    []string // of a page
}

// pageSize is the usual number of records on a page.
const pageSize = 20

// statement returns the statement on a table, for values of the column equal.
func (u use) statement(table string, values []string) sq.SelectBuilder {
	stmt := sq.Select(u.columns...).From(table)
	if u.where != "" {
		stmt = stmt.Where(u.where)
	}
	switch {
	case u.equal == "":
	case u.values > 1:
		stmt = stmt.Where(sq.Eq{u.equal: values})
	default:
		stmt = stmt.Where(sq.Eq{u.equal: values[0]})
	}
	if len(u.order) > 0 {
		stmt = stmt.OrderBy(u.order...)
	}
	if u.page() {
		stmt = stmt.Limit(pageSize)
	}
	return stmt
}

// text returns the statement in a form for people.
func (u use) text(table string, values []string) (string, error) {
	text, _, err := u.statement(table, values).ToSql()
	if err != nil {
		return "", fmt.Errorf("build statement: %w", err)
	}
	return strings.Replace(text, "("+sq.Placeholders(len(values))+")", "(…)", 1), nil
}

// page reports whether the statement ends after the records of a page.
func (u use) page() bool { return len(u.order) > 0 && u.equal == "" && u.where == "" }

// newestFirst is the order of a list by a column.
func newestFirst(column string) []string { return []string{column + " DESC", "id DESC"} }

// list returns the use by a list's first page, sorted by a column.
func list(requests, column string) use {
	return use{requests: requests, columns: []string{"id"}, order: newestFirst(column)}
}

// lookup returns the use by a search for rows with a value.
func lookup(requests, column string, columns ...string) use {
	return use{requests: requests, columns: columns, equal: column}
}

// wantedIndexes are all worthwhile indexes, the most useful first. On transactions the plugin has only the
// primary key, and on no table does it index times. What is left out did not help when measured with a
// million bookings: for example, searches for part of a text read every row with any index.
var wantedIndexes = []wantedIndex{
	{wpdb.OwnIndex(wpdb.Transactions, "order_id"), []use{
		lookup("a booking, an order or a payment, and changes of them", "order_id", "id", "status", "kind", "amount"),
		{requests: "pages of bookings, orders and customers", columns: []string{"order_id", "status", "kind", "amount"}, equal: "order_id", values: pageSize},
	}},
	{wpdb.OwnIndex(wpdb.Transactions, "created_at"), []use{list("GET /payments", "created_at")}},
	{wpdb.OwnIndex(wpdb.Transactions, "customer_id"), []use{
		lookup("GET /payments?customer_id=…, DELETE /customers/{id}", "customer_id", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Transactions, "kind", "status", "order_id"), []use{
		{requests: "GET /bookings and /orders with payment_status=…", columns: []string{"order_id"}, where: "kind = 'refund' AND status IN ('succeeded', 'refunded')"},
	}},
	{wpdb.OwnIndex(wpdb.Transactions, "updated_at"), []use{
		lookup("GET /payments?updated_from=…, the search for changes", "updated_at", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Transactions, "status"), []use{
		list("GET /payments?sort=status", "status"),
		{requests: "GET /bookings and /orders with payment_status=…", columns: []string{"order_id"}, where: "status = 'refunded'"},
	}},
	{wpdb.OwnIndex(wpdb.Transactions, "amount"), []use{
		list("GET /payments?sort=amount", "amount"),
		{requests: "GET /bookings and /orders with payment_status=…", columns: []string{"order_id"}, where: "amount < 0"},
	}},
	{wpdb.OwnIndex(wpdb.TransactionRefunds, "transaction_id"), []use{
		lookup("an order's refunds", "transaction_id", "amount"),
	}},
	{wpdb.OwnIndex(wpdb.Bookings, "created_at"), []use{list("GET /bookings?sort=created_at", "created_at")}},
	{wpdb.OwnIndex(wpdb.Bookings, "updated_at"), []use{
		lookup("GET /bookings?updated_from=…, the search for changes", "updated_at", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Bookings, "order_item_id"), []use{
		lookup("GET /bookings?price_min=…, DELETE /customers/{id}", "order_item_id", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Bookings, "booking_code"), []use{
		lookup("the console's search for a code", "booking_code", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Activities, "booking_id"), []use{
		lookup("a booking on the console", "booking_id", "id"),
	}},
	{wpdb.OwnIndex(wpdb.OrderItems, "total"), []use{
		lookup("GET /bookings?price_min=…", "total", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Orders, "created_at"), []use{list("GET /orders", "created_at")}},
	{wpdb.OwnIndex(wpdb.Orders, "updated_at"), []use{
		lookup("GET /orders?updated_from=…, the search for changes", "updated_at", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Orders, "total"), []use{list("GET /orders?sort=total", "total")}},
	{wpdb.OwnIndex(wpdb.Orders, "status"), []use{list("GET /orders?sort=status", "status")}},
	{wpdb.OwnIndex(wpdb.Orders, "payment_status"), []use{
		lookup("GET /bookings and /orders with payment_status=…", "payment_status", "id"),
	}},
	{wpdb.OwnIndex(wpdb.Orders, "coupon_code"), []use{
		lookup("GET /coupons, GET /orders?coupon_code=…", "coupon_code", "id", "coupon_discount", "created_at"),
	}},
	{wpdb.OwnIndex(wpdb.Customers, "created_at"), []use{list("GET /customers", "created_at")}},
	{wpdb.OwnIndex(wpdb.Customers, "first_name", "last_name"), []use{
		{requests: "GET /bookings?sort=customer_name", columns: []string{"id"}, order: []string{"first_name DESC", "last_name DESC"}},
	}},
	{wpdb.OwnIndex(wpdb.Customers, "updated_at"), []use{
		lookup("GET /customers?updated_from=…, the search for changes", "updated_at", "id"),
	}},
	{wpdb.OwnIndex(wpdb.ProcessJobs, "object_id"), []use{
		lookup("changes of bookings and orders, which replace their reminders", "object_id", "id"),
	}},
}
