// Package pricing computes what bookings cost on a site with LatePoint Pro Features 1.6: attendees, base
// fee, extras, coupons and taxes, in the order in which the add-on's filters run. It uses no database, no
// HTTP and no clock.
//
// Amounts are decimals. The plugin rounds to four decimals whatever it stores, and never to fewer; nor do
// the functions here.
package pricing
