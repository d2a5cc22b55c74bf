package wpdb

import (
	"maps"
	"slices"
)

// Table is a table's name without its prefix. Only these reach SQL.
type Table string

// WordPress's own tables. Users, Usermeta and Sitemeta are shared by the sites
// of a network.
const (
	Options  Table = "options"
	Users    Table = "users"
	Usermeta Table = "usermeta"
	Sitemeta Table = "sitemeta"
	Postmeta Table = "postmeta" // of media
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
	Bundles            Table = "latepoint_bundles"
	BundlesServices    Table = "latepoint_bundles_services"
	CustomerMeta       Table = "latepoint_customer_meta"
	Customers          Table = "latepoint_customers"
	LocationCategories Table = "latepoint_location_categories"
	Locations          Table = "latepoint_locations"
	OrderInvoices      Table = "latepoint_order_invoices"
	OrderItems         Table = "latepoint_order_items"
	OrderMeta          Table = "latepoint_order_meta"
	Orders             Table = "latepoint_orders"
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

// The tables of its add-ons for calendars.
const (
	AppleEvents        Table = "latepoint_apple_calendar_events"
	AppleRecurrences   Table = "latepoint_apple_calendar_recurrences"
	GoogleEvents       Table = "latepoint_gcal_events"
	GoogleRecurrences  Table = "latepoint_gcal_recurrences"
	OutlookEvents      Table = "latepoint_outlook_events"
	OutlookRecurrences Table = "latepoint_outlook_recurrences"
)

// The tables of the add-on Pro Features, which most sites lack.
const (
	AgentsAssets          Table = "latepoint_agents_assets"
	Assets                Table = "latepoint_assets"
	BookingsAssets        Table = "latepoint_bookings_assets"
	BookingsServiceExtras Table = "latepoint_bookings_service_extras"
	Coupons               Table = "latepoint_coupons"
	Messages              Table = "latepoint_messages"
	ServiceExtras         Table = "latepoint_service_extras"
	ServicesAssets        Table = "latepoint_services_assets"
	ServicesServiceExtras Table = "latepoint_services_service_extras"
)

// Our own tables, in the site's database. The site's tables are never altered, except for indexes that the
// administrator asks for: see AddIndex.
const (
	AdminTokens       Table = "bookside_admin_tokens"
	APIKeys           Table = "bookside_api_keys"
	ChangeInbox       Table = "bookside_change_inbox"
	ChangePositions   Table = "bookside_change_positions"
	ChangeSnapshots   Table = "bookside_change_snapshots"
	Changes           Table = "bookside_changes"
	CustomerFields    Table = "bookside_customer_fields"
	Events            Table = "bookside_events"
	Extensions        Table = "bookside_extensions"
	Holds             Table = "bookside_holds"
	Idempotency       Table = "bookside_idempotency"
	BookingCustomers  Table = "bookside_booking_customers"
	Locks             Table = "bookside_locks"
	Requests          Table = "bookside_requests"
	Secrets           Table = "bookside_secrets"
	Webhooks          Table = "bookside_webhooks"
	WebhookDeliveries Table = "bookside_webhook_deliveries"
	WebhookTries      Table = "bookside_webhook_tries"
)

// required are the tables without which no LatePoint 5 site can be served, with the columns that reads use.
// Every version has them. Columns that reads use only if they exist, through Schema.Columns, are not
// listed.
var required = map[Table][]string{
	Agents:         {"id", "first_name", "last_name", "display_name", "email", "phone", "bio", "features", "status", "created_at", "updated_at"},
	AgentsServices: {"agent_id", "service_id", "location_id"},
	BookingMeta:    metaColumns,
	Bookings: {
		"id", "booking_code", "start_date", "end_date", "start_time", "end_time", "buffer_before", "buffer_after", "duration", "status",
		"customer_id", "service_id", "agent_id", "location_id", "order_item_id", "total_attendees", "created_at",
	},
	CustomerMeta: metaColumns,
	Customers: {
		"id", "first_name", "last_name", "email", "phone", "avatar_image_id", "status", "wordpress_user_id", "is_guest", "notes", "admin_notes",
		"created_at", "updated_at",
	},
	LocationCategories: {"id", "name"},
	Locations: {
		"id", "name", "full_address", "status", "category_id", "order_number", "selection_image_id", "created_at", "updated_at",
	},
	OrderInvoices: {"id", "order_id", "status"},
	OrderItems:    {"id", "order_id", "variant", "item_data", "subtotal", "total"},
	OrderMeta:     metaColumns,
	Orders: {
		"id", "subtotal", "total", "status", "fulfillment_status", "payment_status", "source_id", "source_url", "ip_address", "customer_id",
		"customer_comment", "confirmation_code", "coupon_code", "coupon_discount", "tax_total", "created_at", "updated_at",
	},
	ServiceCategories: {"id", "name", "short_description", "parent_id", "selection_image_id", "order_number"},
	ServiceMeta:       metaColumns,
	Services: {
		"id", "name", "short_description", "price_min", "price_max", "charge_amount", "deposit_amount", "duration", "buffer_before", "buffer_after",
		"category_id", "order_number", "selection_image_id", "timeblock_interval", "capacity_min", "capacity_max", "status", "visibility",
		"created_at", "updated_at",
	},
	Settings: {"id", "name", "value"},
	Transactions: {
		"id", "order_id", "customer_id", "processor", "payment_method", "kind", "status", "amount", "created_at",
	},
	WorkPeriods: {"id", "agent_id", "service_id", "location_id", "start_time", "end_time", "week_day", "custom_date"},
}

// optional are the tables that a site may lack, with the columns that reads use.
var optional = map[Table][]string{
	AgentMeta:             metaColumns,
	AgentsAssets:          {"id", "agent_id", "asset_id"},
	AppleEvents:           eventColumns,
	AppleRecurrences:      recurrenceColumns,
	Assets:                {"id", "quantity", "status"},
	BlockedPeriods:        {"id", "summary", "agent_id", "service_id", "location_id", "start_date", "start_time", "end_time"},
	BookingsAssets:        {"id", "booking_id", "asset_id"},
	BookingsServiceExtras: {"id", "booking_id", "service_extra_id", "duration", "quantity", "price"},
	Bundles:               {"id", "name"},
	BundlesServices:       {"id", "bundle_id", "service_id", "quantity"},
	Coupons:               {"id", "code", "name", "status"},
	GoogleEvents:          eventColumns,
	GoogleRecurrences:     recurrenceColumns,
	Messages:              {"id", "booking_id"},
	OutlookEvents:         eventColumns,
	OutlookRecurrences:    recurrenceColumns,
	ServiceExtras:         {"id", "name", "charge_amount", "duration", "maximum_quantity", "multiplied_by_attendees", "status"},
	ServicesAssets:        {"id", "service_id", "asset_id"},
	ServicesServiceExtras: {"service_id", "service_extra_id"},
	TransactionRefunds:    {"id", "transaction_id", "amount"},
}

// Columns that several tables have.
var (
	metaColumns       = []string{"id", "object_id", "meta_key", "meta_value"}
	eventColumns      = []string{"id", "agent_id", "start_date", "start_time", "end_date", "end_time"}
	recurrenceColumns = []string{"lp_event_id", "until", "frequency", "interval", "count", "weekday"}
)

// CalendarTables returns the tables of the add-ons for calendars, which most sites lack.
func CalendarTables() []Table {
	return []Table{AppleEvents, AppleRecurrences, GoogleEvents, GoogleRecurrences, OutlookEvents, OutlookRecurrences}
}

// ProTables returns the tables of the add-on Pro Features, which most sites lack.
func ProTables() []Table {
	return []Table{AgentsAssets, Assets, BookingsAssets, BookingsServiceExtras, Coupons, Messages, ServiceExtras, ServicesAssets, ServicesServiceExtras}
}

// PluginTables returns the tables of the plugin and of its add-ons that we read or write; a
// site may lack some of them.
func PluginTables() []Table {
	tables := append(slices.Collect(maps.Keys(required)), slices.Collect(maps.Keys(optional))...)
	return slices.Sorted(slices.Values(append(tables, Activities, ProcessJobs, Processes)))
}

// Required reports whether every site that can be served has the table.
func (t Table) Required() bool { return required[t] != nil }

// Optional reports whether sites without the table can be served.
func (t Table) Optional() bool {
	return t == Sitemeta || t == Postmeta || optional[t] != nil
}

// Name returns the table's full name, quoted for SQL.
func (db *DB) Name(t Table) string { return "`" + db.FullName(t) + "`" }

// As returns the quoted full name with an alias, for FROM and JOIN.
func (db *DB) As(t Table, alias string) string { return db.Name(t) + " AS " + alias }

// FullName returns the table's name with the prefix of the site or the network.
func (db *DB) FullName(t Table) string {
	switch t {
	case Users, Usermeta, Sitemeta:
		return db.base + string(t)
	default:
		return db.prefix + string(t)
	}
}

// FullNames returns the full names of tables.
func (db *DB) FullNames(tables []Table) []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = db.FullName(t)
	}
	return names
}
