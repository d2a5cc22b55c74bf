package wpdb

// Table is a table's name without its prefix. Only these reach SQL.
type Table string

// WordPress's own tables. Users, Usermeta and Sitemeta are shared by the sites
// of a network.
const (
	Options  Table = "options"
	Users    Table = "users"
	Usermeta Table = "usermeta"
	Sitemeta Table = "sitemeta"
)

// The plugin's tables.
const (
	Activities         Table = "latepoint_activities"
	AgentMeta          Table = "latepoint_agent_meta"
	Agents             Table = "latepoint_agents"
	AgentsServices     Table = "latepoint_agents_services"
	BlockedPeriods     Table = "latepoint_blocked_periods"
	BookingMeta        Table = "latepoint_booking_meta"
	Bookings           Table = "latepoint_bookings"
	Coupons            Table = "latepoint_coupons"
	CustomerMeta       Table = "latepoint_customer_meta"
	Customers          Table = "latepoint_customers"
	LocationCategories Table = "latepoint_location_categories"
	Locations          Table = "latepoint_locations"
	OrderInvoices      Table = "latepoint_order_invoices"
	OrderItems         Table = "latepoint_order_items"
	OrderMeta          Table = "latepoint_order_meta"
	Orders             Table = "latepoint_orders"
	PaymentRequests    Table = "latepoint_payment_requests"
	ProcessJobs        Table = "latepoint_process_jobs"
	Processes          Table = "latepoint_processes"
	ServiceCategories  Table = "latepoint_service_categories"
	ServiceMeta        Table = "latepoint_service_meta"
	Services           Table = "latepoint_services"
	Settings           Table = "latepoint_settings"
	TransactionRefunds Table = "latepoint_transaction_refunds"
	Transactions       Table = "latepoint_transactions"
	WorkPeriods        Table = "latepoint_work_periods"
)

// The tables of our own, beside the site's. No table of the site is altered.
const (
	APIKeys        Table = "bookside_api_keys"
	CustomerFields Table = "bookside_customer_fields"
	Idempotency    Table = "bookside_idempotency"
	Outbox         Table = "bookside_outbox"
)

// required are the tables without which no LatePoint 5 site can be served.
var required = []Table{
	Agents, AgentsServices, BookingMeta, Bookings, CustomerMeta, Customers, LocationCategories, Locations,
	OrderInvoices, OrderItems, OrderMeta, Orders, ServiceCategories, ServiceMeta, Services, Settings,
	Transactions, WorkPeriods,
}

// Name is the table's full name, quoted for SQL.
func (db *DB) Name(t Table) string { return "`" + db.fullName(t) + "`" }

// As is the table's full name with an alias, for FROM and JOIN.
func (db *DB) As(t Table, alias string) string { return db.Name(t) + " AS " + alias }

func (db *DB) fullName(t Table) string {
	switch t {
	case Users, Usermeta, Sitemeta:
		return db.base + string(t)
	default:
		return db.prefix + string(t)
	}
}
