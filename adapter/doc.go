// Package adapter is the booking domain in the platform's own words: bookings, customers,
// agents, services, locations, orders, payments and coupons of a LatePoint 5 site, read
// from and written to the site's tables.
//
// A Platform is the installation. Platform.Site and Platform.Serve return one request's
// view of it, a Site, which has the reads. Everything that writes is a method of Tx, the
// transaction that Site.Transact begins.
//
// For each kind of record there is a file with its reads (bookings.go), and one or more
// with its writes (booking_create.go, coupon_writes.go). A write validates a patch or a
// new record and takes its locks (booking_create_plan.go, locks.go), writes rows
// (write.go), and adds the event (events.go) to the activity log (activity_log.go) and
// to what the site's automations send (notifications.go).
//
// Requests that wait at the same time share statements, which begin after all of them arrived:
// for days of a calendar (calendar_reads.go), and where statements are equal (equal_reads.go). A Site
// that is alone shares none. What they have in common is in shared_statements.go.
//
// The package imports wpdb and its own subpackages. It does not depend on HTTP or on the
// JSON of the API.
package adapter
