package records

import "github.com/bookside/bookside/wpdb"

// wantedIndex is an index that helps requests on large tables.
type wantedIndex struct {
	wpdb.Index
	requests string // that need it
}

// wantedIndexes are all worthwhile indexes, the most useful first. On transactions the plugin has only the
// primary key, and on no table does it index times. What is left out did not help when measured with a
// million bookings: for example, searches for part of a text read every row with any index.
var wantedIndexes = []wantedIndex{
	{wpdb.OwnIndex(wpdb.Transactions, "order_id"), "a booking, an order or a payment, and changes of them; pages of bookings, orders and customers"},
	{wpdb.OwnIndex(wpdb.Transactions, "created_at"), "GET /payments"},
	{wpdb.OwnIndex(wpdb.Transactions, "customer_id"), "GET /payments?customer_id=…, DELETE /customers/{id}"},
	{wpdb.OwnIndex(wpdb.Transactions, "kind", "status", "order_id"), "GET /bookings and /orders with payment_status=…"},
	{wpdb.OwnIndex(wpdb.Transactions, "updated_at"), "GET /payments?updated_from=…, the search for changes"},
	{wpdb.OwnIndex(wpdb.Transactions, "status"), "GET /payments?sort=status; GET /bookings and /orders with payment_status=…"},
	{wpdb.OwnIndex(wpdb.Transactions, "amount"), "GET /bookings and /orders with payment_status=…"},
	{wpdb.OwnIndex(wpdb.TransactionRefunds, "transaction_id"), "an order's refunds"},
	{wpdb.OwnIndex(wpdb.Bookings, "created_at"), "GET /bookings?sort=created_at"},
	{wpdb.OwnIndex(wpdb.Bookings, "updated_at"), "GET /bookings?updated_from=…, the search for changes"},
	{wpdb.OwnIndex(wpdb.Bookings, "order_item_id"), "GET /bookings?price_min=…, DELETE /customers/{id}"},
	{wpdb.OwnIndex(wpdb.OrderItems, "total"), "GET /bookings?price_min=…"},
	{wpdb.OwnIndex(wpdb.Orders, "created_at"), "GET /orders"},
	{wpdb.OwnIndex(wpdb.Orders, "updated_at"), "GET /orders?updated_from=…, the search for changes"},
	{wpdb.OwnIndex(wpdb.Orders, "total"), "GET /orders?sort=total"},
	{wpdb.OwnIndex(wpdb.Orders, "status"), "GET /orders?sort=status"},
	{wpdb.OwnIndex(wpdb.Orders, "coupon_code"), "GET /coupons, GET /orders?coupon_code=…"},
	{wpdb.OwnIndex(wpdb.Customers, "created_at"), "GET /customers"},
	{wpdb.OwnIndex(wpdb.Customers, "updated_at"), "GET /customers?updated_from=…, the search for changes"},
	{wpdb.OwnIndex(wpdb.ProcessJobs, "object_id"), "changes of bookings and orders, which replace their reminders"},
}
