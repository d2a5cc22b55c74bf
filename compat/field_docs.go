package compat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"bookside/adapter/journal"
)

// fieldDoc says what a field is: in words for people, by an example, and the form
// in which it comes where it is a text.
type fieldDoc struct {
	about   string
	example string
	form    string // a regular expression; "" for any text
}

// The forms of texts. Where the platform stores nothing, or a zero date, the
// wire has it too.
const (
	idForm           = `^[0-9]+$`
	moneyForm        = `^-?[0-9]+\.[0-9]{4}$`
	dateForm         = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	optionalDateForm = `^([0-9]{4}-[0-9]{2}-[0-9]{2})?$`
	timestampForm    = `^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})?$`
	clockForm        = `^([0-9]{2,}:[0-9]{2})?$`
	rfc3339Form      = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$`
	instantForm      = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2}$`
)

const rfc3339Example = "2026-11-22T10:00:00Z"

// The forms of texts that are read.
const (
	clockPattern         = `^([01]?[0-9]|2[0-3]):[0-5][0-9]$`
	timeOrMinutesPattern = `^(([01]?[0-9]|2[0-3]):[0-5][0-9]|[0-9]{1,4})$`
	spanPattern          = `^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$`
)

// Days in examples of what is sent. The document has days to come in their place.
const (
	ExampleDay     = "2026-12-01"
	ExampleLastDay = "2026-12-07"
)

// fieldDocs explain every field, under its name, under TYPE.NAME where it means
// something else in that record, and under ?NAME for what is sent. A Field may
// have words of its own instead. {it} stands for the record: see recordDocs, and
// for what is sent the route's resource.
var fieldDocs = map[string]fieldDoc{
	// who and what
	"id":                      {"Id of the {it}", "17", idForm},
	"booking_id":              {"Id of the booking", "1", idForm},
	"customer_id":             {"Id of the customer", "10", idForm},
	"?customer_id":            {"Id of an existing customer", "10", ""},
	"agent_id":                {"Id of the agent", "3", idForm},
	"?agent_id":               {"Id of the agent; any (or -1) for any agent who is free", "1", ""},
	"service_id":              {"Id of the service", "2", idForm},
	"location_id":             {"Id of the location", "1", idForm},
	"?location_id":            {"Id of the location; by default the first one that is possible", "1", ""},
	"order_id":                {"Id of the order", "41", `^[0-9]*$`},
	"invoice_id":              {"Id of the invoice that the payment settles", "7", idForm},
	"category_id":             {"Id of the category of the {it}; 0 for none", "1", idForm},
	"parent_id":               {"Id of the category above; 0 at the top", "0", idForm},
	"cms_user_id":             {"Id of the linked WordPress user", "12", ""},
	"?wordpress_user_id":      {"Another name of cms_user_id", "12", ""},
	"avatar_image_id":         {"Id of the picture in the site's media library", "88", ""},
	"selection_image_id":      {"Id of the picture in the site's media library; 0 for none", "0", idForm},
	"deleted_customer_id":     {"Id of the customer who was deleted", "10", ""},
	"conflicting_booking_id":  {"Id of the conflicting booking, if it is one", "53", ""},
	"BookingLocation.id":      {"Id of the location; empty where the booking has none", "1", `^[0-9]*$`},
	"BookingDetail.notes":     {"Notes on the booking", "Please ring twice", ""},
	"WrittenPayment.order_id": {"Id of the order; empty where it has none", "41", `^[0-9]*$`},
	"NamedService.id":         {"Id of the service; empty where the booking has none", "2", `^[0-9]*$`},
	"source_id":               {"Source of the order", "newsletter", ""},
	"source_url":              {"URL of the page where the order began", "https://site.example/book", ""},
	"ip_address":              {"IP address from which the order was placed", "192.0.2.10", ""},

	// people and things
	"first_name":        {"First name of the {it}", "Ada", ""},
	"last_name":         {"Last name of the {it}", "Byron", ""},
	"full_name":         {"First and last name of the {it}", "Ada Byron", ""},
	"display_name":      {"Name of the agent as customers see it", "Ada", ""},
	"email":             {"E-mail address of the {it}", "ada@example.com", ""},
	"phone":             {"Telephone number of the {it}", "+442079460000", ""},
	"name":              {"Name of the {it}", "Massage", ""},
	"service_name":      {"Name of the service", "Massage", ""},
	"description":       {"Longer description of the {it}", "Sixty minutes of rest", ""},
	"short_description": {"Short description of the {it}", "Sixty minutes", ""},
	"full_address":      {"Full address of the location", "1 High Street, London", ""},
	"address":           {"Street and number", "1 High Street", ""},
	"city":              {"City", "London", ""},
	"state":             {"State or province", "", ""},
	"zipcode":           {"Postal code", "W1A 1AA", ""},
	"country":           {"Country: two letters of ISO 3166-1", "GB", ""},
	"date_of_birth":     {"Day of birth", "1990-12-10", optionalDateForm},
	"gender":            {"Gender", "female", ""},
	"bio":               {"What the agent says about themselves", "Ten years of practice", ""},
	"features":          {"JSON text: pairs of label and value", "[]", ""},
	"is_guest":          {"1 for a guest, 0 for a registered customer", "0", `^[01]$`},
	"?is_guest":         {"Whether the customer is a guest", "false", ""},
	"notes":             {"Notes on the {it}", "Please ring twice", ""},
	"admin_notes":       {"Notes for administrators", "Prefers mornings", ""},
	"customer_comment":  {"What the customer wrote with the order", "Please ring twice", ""},
	"custom_fields":     {"Custom fields of the customer, by name", "", ""},
	"?custom_fields":    {"Custom fields by name; null or an empty string removes one", "", ""},
	"meta":              {"Meta data of the booking, by name", "", ""},
	"status":            {"Status of the {it}", "active", ""},
	"?status":           {"Status of the {it}", "approved", ""},
	"visibility":        {"Who sees the service: visible for everybody, hidden for staff", "visible", ""},

	"Booking.status":         {bookingStatusText, "approved", ""},
	"BookingDetail.status":   {bookingStatusText, "approved", ""},
	"BookingSummary.status":  {bookingStatusText, "approved", ""},
	"Location.status":        {"Status of the location", "active", "^(active|inactive)$"},
	"LocationName.status":    {"Status of the location", "active", "^(active|inactive)$"},
	"Coupon.status":          {"Status of the coupon", "active", "^(active|inactive)$"},
	"Payment.status":         {"Status of the payment: succeeded, processing or failed", "succeeded", ""},
	"WrittenPayment.status":  {"Status of the payment: succeeded, processing or failed", "succeeded", ""},
	"Invoice.status":         {"Status of the invoice: open, paid, partially_paid, draft, void or uncollectible", "open", ""},
	"Customer.status":        {"Status of the customer: active, inactive, blocked or pending_verification", "active", ""},
	"CustomerDetail.status":  {"Status of the customer: active, inactive, blocked or pending_verification", "active", ""},
	"CreatedCustomer.status": {"Status of the customer: active, inactive, blocked or pending_verification", "active", ""},
	"UpdatedCustomer.status": {"Status of the customer: active, inactive, blocked or pending_verification", "active", ""},
	"Agent.status":           {"Status of the agent: active or disabled", "active", ""},
	"Service.status":         {"Status of the service: active or disabled", "active", ""},
	"ServiceDetail.status":   {"Status of the service: active or disabled", "active", ""},
	"ServiceSummary.status":  {"Status of the service: active or disabled", "active", ""},
	"WrittenService.status":  {"Status of the service: active or disabled", "active", ""},
	"OrderRow.status":        {"Status of the order: open, cancelled or completed", "open", ""},
	"OrderDetail.status":     {"Status of the order: open, cancelled or completed", "open", ""},
	"WrittenOrder.status":    {"Status of the order: open, cancelled or completed", "open", ""},
	"CreatedCoupon.status":   {"Status of the coupon", "active", "^(active|inactive)$"},
	"UpdatedCoupon.status":   {"Status of the coupon", "active", "^(active|inactive)$"},

	// when
	"start_date":       {"Day on which the {it} begins, in the site's zone", ExampleDay, optionalDateForm},
	"end_date":         {"Day on which the booking ends, in the site's zone", "2026-12-01", optionalDateForm},
	"date":             {"Day, in the site's zone", ExampleDay, dateForm},
	"date_to":          {"Last day", ExampleLastDay, dateForm},
	"start_time":       {"Time of day at which the {it} begins, in the site's zone", "10:00", clockForm},
	"end_time":         {"Time of day at which the {it} ends, in the site's zone; 24:00 is midnight", "11:00", clockForm},
	"start_datetime":   {"When the booking begins, with the offset from UTC", "2026-12-01T10:00:00+00:00", instantForm},
	"end_datetime":     {"When the booking ends, with the offset from UTC", "2026-12-01T11:00:00+00:00", instantForm},
	"created_datetime": {"When the booking was made, in UTC", "2026-11-20T09:30:00+00:00", instantForm},
	"current_time":     {"Current time with the site's offset", "2026-11-21T10:00:00+00:00", instantForm},
	"timezone":         {"Name of the site's time zone, or its offset from UTC", "Europe/London", ""},
	"duration":         {"Duration of the {it} in minutes", "60", idForm},
	"buffer_before":    {"Minutes kept free before the booking", "0", ""},
	"buffer_after":     {"Minutes kept free after the booking", "15", ""},
	"created_at":       {"When the {it} was created, in UTC unless the server shows the site's zone", "2026-11-20 09:30:00", timestampForm},
	"updated_at":       {"When the {it} was last changed, in UTC unless the server shows the site's zone", "2026-11-20 09:30:00", timestampForm},
	"deleted_at":       {"When the customer was deleted", "2026-11-21 10:00:00", timestampForm},
	"due_at":           {"When the invoice is due", "2026-12-15 00:00:00", timestampForm},
	"etag":             {"Tag of the record as it is now", `"b1946ac92492d2347c6235b4d2611184"`, ""},
	"record":           {"The record as it is now, as a GET shows it", "", ""},
	"requested_time":   {"Requested start", "2026-12-01 10:00", `^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}$`},
	"active_from":      {"First day of validity; 0000-00-00 or empty where unset", "0000-00-00", optionalDateForm},
	"active_to":        {"Last day of validity; 0000-00-00 or empty where unset", "2026-12-31", optionalDateForm},
	"?active_from":     {"First day of validity; empty or 0000-00-00 for no limit", ExampleDay, ""},
	"?active_to":       {"Last day of validity; empty or 0000-00-00 for no limit", ExampleLastDay, ""},
	"last_usage_date":  {"When the coupon was last used; n/a for never", "n/a", ""},

	// money
	"price":                 {"Price of the booking", "80.0000", moneyForm},
	"amount":                {"Amount of the payment; that of a refund is positive", "80.0000", moneyForm},
	"WrittenPayment.amount": {"Amount of the payment without trailing zeros", "80", `^-?[0-9]+(\.[0-9]+)?$`},
	"price_min":             {"Lowest price of the service", "80.0000", moneyForm},
	"price_max":             {"Highest price of the service", "80.0000", moneyForm},
	"charge_amount":         {"Amount of the {it} to be charged", "80.0000", moneyForm},
	"deposit_amount":        {"Amount of the deposit for the {it}", "20.0000", moneyForm},
	"subtotal":              {"Sum of the {it} before discounts and taxes", "80.0000", moneyForm},
	"total":                 {"Sum of the {it}", "80.0000", moneyForm},
	"Pagination.total":      {"Number of records on all pages", "1", ""},
	"FreeAgents.total":      {"Number of agents", "1", ""},
	"Change.number":         {"Number of the change; later changes have higher numbers", "1042", ""},
	"Change.resource":       {"Type of the record: " + strings.Join(resourceWords(), ", "), "bookings", ""},
	"Change.resource_id":    {"ID of the record", "17", ""},
	"Change.kind":           {"created, updated or deleted", "updated", "^(created|updated|deleted)$"},
	"Change.at":             {"When the record was changed, or the change was found, in UTC", "2026-11-22T10:00:00Z", ""},
	"Change.origin":         {"api for a request to this API, site if WordPress told about the change, found if it was found by comparing records", "api", "^(api|site|found)$"},
	"Change.key_id":         {"ID of the API key, with the origin api", "3", ""},
	"Change.user_id":        {"ID of the WordPress user, with the origin site", "1", ""},
	"Change.left":           {"True for a booking that still exists, but moved to an agent, service or location that the key or webhook is not about: its kind is deleted, and nothing is told of where it is now; absent otherwise", "true", ""},
	"Change.old_status":     {"Status of the booking before; absent for a new one", "pending", ""},
	"Change.new_status":     {"Status of the booking afterwards; absent for a deleted one", "approved", ""},
	"Change.record":         {"The record as it is now, if asked for; absent if it no longer exists", "", ""},
	"cursor":                {"Cursor for the next request", "k3q7m2xa-1042", journal.CursorPattern},
	"has_more":              {"Whether there are more changes already", "false", ""},
	"tax_total":             {"Sum of the taxes on the {it}", "0.0000", moneyForm},
	"discount_total":        {"Sum of the discounts on the {it}", "0.0000", moneyForm},
	"coupon_discount":       {"Discount on the {it} by the coupon", "0.0000", moneyForm},
	"total_spent":           {"Net of all payments, with two decimals", "160.00", `^-?[0-9]+\.[0-9]{2}$`},
	"total_discount":        {"Sum of the discounts so far", "0", ""},
	"discount_type":         {"percent, or fixed_amount in the site's currency", "percent", "^(percent|fixed_amount)$"},
	"discount_value":        {"Percentage, or an amount in the site's currency", "10", ""},
	"readable_discount":     {"The discount in words", "10%", ""},
	"min_order_amount":      {"Smallest sum of an order", "50", ""},
	"max_discount_amount":   {"Highest discount", "20", ""},
	"usage_limit":           {"How often the coupon may be used; 0 for any number", "0", ""},
	"usage_count":           {"How often the coupon was used", "2", ""},
	"payment_status":        {"Payment status of the order: not_paid, partially_paid, fully_paid, processing, refunded or partially_refunded", "not_paid", ""},
	"fulfillment_status":    {"Fulfilment of the order: not_fulfilled, partially_fulfilled or fulfilled", "not_fulfilled", ""},
	"payment_method":        {"Means of payment, such as cash or card", "cash", ""},
	"payment_portion":       {"What the {it} is for: full, deposit, partial or another word", "full", ""},
	"processor":             {"What processes the payment, such as manual or stripe", "manual", ""},
	"kind":                  {"Kind of the payment: capture, refund, authorization or void", "capture", ""},
	"token":                 {"Token of the payment at the processor", "pi_1a2b3c", ""},
	"access_key":            {"Key under which the platform shows the payment", "f3a9c1", ""},
	"receipt_number":        {"Number of the receipt", "R-2026-17", ""},
	"invoice_number":        {"Number of the invoice", "7F3K2", ""},
	"Invoice.data":          {"The invoice as the platform stores it: JSON text", "{}", ""},
	"BulkSuccess.data":      {"The booking that was created", "", ""},
	"CategoryList.data":     {"The categories of the page", "", ""},
	"WordPressError.data":   {"HTTP status of the error, and details", "", ""},
	"CombinedError.data":    {"HTTP status of the error", "", ""},
	"TextError.data":        {"HTTP status and the id of the request, for failures of the server", "", ""},

	// codes
	"code":                {"Code of the {it}", "WELCOME10", ""},
	"WordPressError.code": {"Code of the error, for programs", "invalid_request", ""},
	"CombinedError.code":  {"Code of the error, for programs", "customer_not_found", ""},
	"ErrorObject.code":    {"Code of the error, for programs", "invalid_request", ""},
	"booking_code":        {"Code of the booking", "9JZ2KQX", ""},
	"confirmation_code":   {"Code of the order", "7F3K2AB", ""},
	"coupon_code":         {"Code of the coupon", "WELCOME10", ""},

	// numbers
	"total_attendees":    {"Number of people who come", "1", ""},
	"capacity_min":       {"Smallest number of people in a booking", "1", idForm},
	"capacity_max":       {"Largest number of people at the same time", "1", idForm},
	"available_capacity": {"Free seats", "1", ""},
	"order_number":       {"Position of the {it} in lists", "1", idForm},
	"customer_limit":     {"How many bookings a customer may have; empty for any number", "", ""},
	"services_count":     {"Number of active services in the category", "4", ""},
	"total_bookings":     {"Number of bookings of the customer", "3", idForm},
	"future_bookings":    {"Number of bookings to come", "1", idForm},
	"completed_bookings": {"Number of completed bookings", "1", ""},
	"cancelled_bookings": {"Number of cancelled bookings", "1", ""},
	"last_booking_date":  {"Day of the last booking", "2026-11-02", dateForm},
	"next_booking_date":  {"Day of the next booking", "2026-12-01", dateForm},
	"quantity":           {"Always 1", "1", ""},
	"booking_count":      {"Number of bookings that are in the way", "3", ""},
	"payment_count":      {"Number of successful payments that are in the way", "2", ""},
	"index":              {"Position in the request, from 0", "0", ""},
	"total_requested":    {"Number of bookings requested", "1", ""},
	"successful":         {"Number of bookings created", "1", ""},
	"failed":             {"Number of bookings not created", "0", ""},

	// parts of records
	"customer":               {"Customer of the {it}", "", ""},
	"agent":                  {"Agent of the {it}", "", ""},
	"service":                {"Service of the {it}: a list of one, or none", "", ""},
	"BookingSummary.service": {"Service of the booking", "", ""},
	"location":               {"Location of the {it}", "", ""},
	"category":               {"Category of the {it}: a list of one, or none", "", ""},
	"order":                  {"Order of the booking", "", ""},
	"transactions":           {"Payments of the booking", "", ""},
	"stats":                  {"Figures about the customer", "", ""},
	"services":               {"Services of the {it}", "", ""},
	"locations":              {"Locations of the {it}", "", ""},
	"agents":                 {"Agents of the {it}", "", ""},
	"categories":             {"All categories, if asked for", "", ""},
	"items":                  {"Items of the order", "", ""},
	"bookings":               {"Bookings of the customer", "", ""},
	"upcoming_bookings":      {"Bookings of the customer that are to come", "", ""},
	"past_bookings":          {"Bookings of the customer that are past", "", ""},
	"recent_orders":          {"The latest orders with the coupon", "", ""},
	"rules":                  {"Rules of the coupon as the platform stores them", "", ""},
	"variant":                {"Kind of the item", "booking", ""},
	"item_data":              {"The item as the platform stores it: JSON text", "{}", ""},
	"available_slots":        {"Free start times, as HH:MM", "10:00", clockForm},
	"slots":                  {"Free start times in detail", "", ""},
	"days":                   {"Free start times by day", "", ""},
	"explain":                {"Why start times are not offered", "", ""},
	"missing":                {"Why there are no start times at all", "no_hours", ""},
	"unavailable":            {"Start times that are not offered", "", ""},
	"reason":                 {"Why the start time is not offered: booked, hold, buffer, capacity, off_period, outside_window or past", "booked", ""},

	// envelopes and errors
	"data":                         {"What was asked for, or what was written", "", ""},
	"success":                      {"Whether the request succeeded", "true", ""},
	"message":                      {"What was done, or what is wrong, in words", "Done", ""},
	"error":                        {"What is wrong, in words", "Time slot not available", ""},
	"pagination":                   {"Position of the page in the list", "", ""},
	"page":                         {"Number of the page, from 1", "1", ""},
	"per_page":                     {"Records on a page", "20", ""},
	"total_pages":                  {"Number of pages", "1", ""},
	"has_next_page":                {"Whether there is a next page", "false", ""},
	"has_previous_page":            {"Whether there is a previous page", "false", ""},
	"current_page":                 {"Number of the page, from 1", "1", ""},
	"total_items":                  {"Number of records on all pages", "1", ""},
	"results":                      {"The outcome of each booking", "", ""},
	"errors":                       {"The bookings that were not created", "", ""},
	"BulkResults.success":          {"The bookings that were created", "", ""},
	"summary":                      {"Counts", "", ""},
	"booking_data":                 {"The booking as it was sent", "", ""},
	"confirmation_sent":            {"Whether a message to the customer was queued", "false", ""},
	"details":                      {"Messages by field, or what else there is to say about the error", "", ""},
	"WordPressErrorData.status":    {"HTTP status", "400", ""},
	"WordPressError.message":       {"What is wrong, in words", "Invalid input data", ""},
	"CombinedError.message":        {"What is wrong, in words", "Customer with ID 12 was not found", ""},
	"ErrorObject.message":          {"What is wrong, in words", "Invalid input data", ""},
	"ErrorResponse.error":          {"The error", "", ""},
	"CombinedError.error":          {"The same error as in an ErrorResponse", "", ""},
	"FreeAgents.agents":            {"The agents who are free", "", ""},
	"FreeAgents.location_id":       {"Id of the location, or any", "1", idForm},
	"FreeAgents.start_time":        {"Time of day that was asked for, in the site's zone", "10:00", clockForm},
	"FreeAgents.duration":          {"Duration in minutes that was asked for", "60", ""},
	"Availability.agent_id":        {"Id of the agent, or any", "1", ""},
	"AvailabilityDays.agent_id":    {"Id of the agent, or any", "1", ""},
	"Availability.location_id":     {"Id of the location, or any", "1", ""},
	"AvailabilityDays.location_id": {"Id of the location, or any", "1", ""},
	"ConflictDetails.agent_id":     {"Id of the agent, or any", "1", ""},
	"ServiceSummary.duration":      {"Duration of the service in minutes", "60", idForm},
	"BulkResult.success":           {"Whether all bookings were created", "true", ""},
	"BulkResult.message":           {"What was done, in words", "Done", ""},
	"BulkError.error":              {"Why the booking was not created, in words", "Time slot not available", ""},
	"BulkError.details":            {"Messages by field", "", ""},
	"WordPressErrorData.details":   {"Messages by field", "", ""},
	"ErrorResponse.status":         {"Always error", "error", "^(error)$"},
	"CombinedError.status":         {"Always error", "error", "^(error)$"},
	"written":                      {"Whether a write that may be retried took effect: false if it certainly did not, unknown if the database's answer was lost", "", ""},
	"request_id":                   {"Id of the request, for the operator of the server", "4YQZ6PXJ2M", ""},
	"required_permission":          {"Permission that the key lacks", "write_bookings", ""},
	"current_permissions":          {"Permissions of the key", "read", ""},

	// what is sent
	"?search":            {"Text anywhere in names, e-mail addresses or codes, in any letter case", "ada", ""},
	"?sort":              {"Field to sort by", "created_at", ""},
	"?order_by":          {"Field to sort by", "id", ""},
	"?order":             {"Direction of the order", "asc", ""},
	"?include":           {"Associations to include", "", ""},
	"?date_from":         {"First day", ExampleDay, ""},
	"?created_date_from": {"First day of creation", "2026-11-01", ""},
	"?created_date_to":   {"Last day of creation", "2026-11-30", ""},
	"?created_after":     {"First day of creation", "2026-11-01", ""},
	"?created_before":    {"Last day of creation", "2026-11-30", ""},
	"?updated_after":     {"First day of the last change", "2026-11-01", ""},
	"?updated_before":    {"Last day of the last change", "2026-11-30", ""},
	"?updated_from":      {"First day of the last change", "2026-11-01", ""},
	"?updated_to":        {"Last day of the last change", "2026-11-30", ""},
	"?created_at":        {"Day, month or year of creation", "2026-11", ""},
	"?updated_at":        {"Day, month or year of the last change", "2026-11", ""},
	"?booking_code":      {"Part of the code", "9JZ", ""},
	"?duration_min":      {"Shortest duration in minutes", "30", ""},
	"?duration_max":      {"Longest duration in minutes", "90", ""},
	"?price_min":         {"Lowest price", "50", ""},
	"?price_max":         {"Highest price", "100", ""},
	"?amount_min":        {"Lowest amount", "50", ""},
	"?amount_max":        {"Highest amount", "100", ""},
	"?total_min":         {"Lowest sum", "50", ""},
	"?total_max":         {"Highest sum", "100", ""},
	"?customer_email":    {"Part of the customer's e-mail address", "ada@", ""},
	"?customer_phone":    {"Part of the customer's telephone number", "7946", ""},
	"?include_meta":      {"Adds the booking's meta data", "true", ""},
	"?meta_key":          {"Key of a custom field of bookings, such as cf_reason, or another key that the server is set up to show; together with meta_value", "cf_reason", ""},
	"?meta_value":        {"Part of the meta value; together with meta_key", "news", ""},
	"?has_bookings":      {"Only customers with bookings, or only those without", "true", ""},
	"?bookings_limit":    {"Largest number of bookings to include", "10", ""},
	"?bookings_status":   {"Status of the bookings to include", "approved", ""},
	"?limit":             {"Largest number of agents", "50", ""},
	"?cursor":            {"Cursor of an earlier response", "k3q7m2xa-1042", ""},
	"?resources":         {"The resources to follow, separated by commas; all that the key may read without it", "bookings,customers", ""},
	"?wait":              {"Seconds to wait for a change if there is none", "30", ""},
	"?explain":           {"Says why start times of a day are not offered", "true", ""},
	"?force":             {"Does what is otherwise rejected", "true", ""},
	"?start_time":        {"Time of day as HH:MM", "10:00", ""},
	"?send_confirmation": {"Sends the site's messages about new bookings", "true", ""},
	"?dry_run":           {"Checks and prices everything, and writes nothing", "true", ""},
	"?send_notification": {"Sends the site's messages about changes", "true", ""},
	"?bookings":          {"The bookings to create", "", ""},
	"?customer":          {"Customer of the booking, unless given by id", "", ""},
	"?price":             {"Price of the booking, with at most four decimals", "80", ""},
	"?amount":            {"Amount of the payment, with at most four decimals", "80", ""},
	"?charge_amount":     {"Amount of the {it} to be charged", "80", ""},
	"?deposit_amount":    {"Amount of the deposit", "20", ""},
	"?subtotal":          {"Sum of the {it} before discounts and taxes", "80", ""},
	"?total":             {"Sum of the {it}", "80", ""},
	"?tax_total":         {"Sum of the taxes on the {it}", "0", ""},
	"?discount_total":    {"Sum of the discounts on the {it}", "0", ""},
	"?coupon_discount":   {"Discount on the {it} by the coupon", "0", ""},

	// webhooks
	"Hold.id":                      {"Id of the hold", "812", ""},
	"Hold.expires_at":              {"Until when the slot is kept", rfc3339Example, rfc3339Form},
	"?hold_minutes":                {"Minutes until the hold expires", "5", ""},
	"Webhook.id":                   {"Id of the webhook", "3", ""},
	"Webhook.name":                 {"Name for people", "shop", ""},
	"Webhook.url":                  {"Where events are sent", "https://example.com/hooks", ""},
	"Webhook.events":               {"Names of events, all events of a resource such as booking.*, or *", "booking.created", ""},
	"Webhook.agents":               {"Only bookings with one of these agents; empty for all", "1", ""},
	"Webhook.services":             {"Only bookings with one of these services; empty for all", "2", ""},
	"Webhook.locations":            {"Only bookings at one of these locations; empty for all", "1", ""},
	"Webhook.include_record":       {"Whether the present record is sent too, as far as the key may see it", "", ""},
	"Webhook.status":               {"Whether the webhook is served: enabled or disabled", "enabled", "^(enabled|disabled)$"},
	"Webhook.reason":               {"Why it is disabled", "", ""},
	"Webhook.failing_since":        {"Time of the first failure since the last success; null if no delivery waits after a failure", rfc3339Example, rfc3339Form},
	"Webhook.old_secret_until":     {"Until when requests are signed with the old secret too", rfc3339Example, rfc3339Form},
	"Webhook.created_at":           {"When it was added", rfc3339Example, rfc3339Form},
	"Webhook.secret":               {"What receivers check signatures with; only where it was just made", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=", "^whsec_"},
	"WebhookDelivery.id":           {"Id of the delivery", "117", ""},
	"WebhookDelivery.message_id":   {"The webhook-id that is sent with each try", "evt_1f0a3c5e7b9d2468ace013579bdf2468", "^evt_[0-9a-f]{32}$"},
	"WebhookDelivery.event":        {"Name of the event", "booking.created", ""},
	"WebhookDelivery.number":       {"Number of the change; null for a test", "1204", ""},
	"WebhookDelivery.resource":     {"Resource of the record; null for a test", "bookings", ""},
	"WebhookDelivery.resource_id":  {"Id of the record; null for a test", "17", ""},
	"WebhookDelivery.state":        {"waiting, sending, delivered or failed", "delivered", "^(waiting|sending|delivered|failed)$"},
	"WebhookDelivery.failure":      {"Why the last try failed", "", ""},
	"WebhookDelivery.next_try_at":  {"When it is tried next", rfc3339Example, rfc3339Form},
	"WebhookDelivery.created_at":   {"When the change was queued", rfc3339Example, rfc3339Form},
	"WebhookDelivery.finished_at":  {"When it was delivered or given up", rfc3339Example, rfc3339Form},
	"WebhookDelivery.tries":        {"The requests that were sent", "", ""},
	"WebhookTry.at":                {"When it was sent", rfc3339Example, rfc3339Form},
	"WebhookTry.status":            {"Status of the response; null if there was none", "204", ""},
	"WebhookTry.took_ms":           {"Milliseconds until the response", "34", ""},
	"WebhookTry.failure":           {"Why it failed", "", ""},
	"WebhookTry.answer":            {"The first 500 bytes of the response", "ok", ""},
	"WebhookDeliveryList.has_more": {"Whether there are older deliveries", "", ""},
	"WebhookEvent.type":            {"Name of the event", "booking.created", ""},
	"WebhookEvent.timestamp":       {"Time of the change", rfc3339Example, rfc3339Form},
	"WebhookEvent.data":            {"The change, as GET /changes returns it", "", ""},
}

// fieldDocOf is what is said of a field. owner is the record's name, "" for what is
// sent.
func fieldDocOf(owner, name string) fieldDoc {
	own := owner + "." + name
	if owner == "" {
		own = "?" + name
	}
	doc, ok := fieldDocs[own]
	if !ok {
		doc = fieldDocs[name]
	}
	if owner == "" {
		doc.form = "" // what is sent has the form of its type
	}
	return doc
}

// explain writes what is said of a field into its schema.
func (d fieldDoc) explain(schema *Schema) {
	schema.Description = cmp.Or(schema.Description, d.about)
	d.fill(schema)
	if schema.Items != nil {
		d.fill(schema.Items)
	}
}

// fill adds form and example to a single value.
func (d fieldDoc) fill(schema *Schema) {
	if schema.example != nil {
		return
	}
	switch schema.word() {
	case typeString:
		if words, closed := d.words(); closed {
			schema.Enum = words
		} else {
			schema.Pattern = cmp.Or(d.form, schema.Pattern)
		}
		schema.example = d.example
		if len(schema.Enum) > 0 && !slices.Contains(schema.Enum, d.example) {
			schema.example = schema.Enum[0]
		}
	case typeInteger, typeNumber:
		schema.example = json.Number(d.example)
	case typeBoolean:
		schema.example = d.example == "true"
	case "":
		for _, one := range schema.AnyOf {
			d.fill(one)
		}
	}
}

// words returns the words of a form that allows only some, such as ^(active|inactive)$.
func (d fieldDoc) words() (words []string, closed bool) {
	list, starts := strings.CutPrefix(d.form, "^(")
	list, ends := strings.CutSuffix(list, ")$")
	return strings.Split(list, "|"), starts && ends && !strings.ContainsAny(list, `[]().\\`)
}

// word is the type of a schema besides null.
func (s *Schema) word() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []string:
		return t[0]
	default:
		return ""
	}
}
