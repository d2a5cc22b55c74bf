// Package adapter is the booking domain in the platform's own words: bookings,
// customers, agents, services, locations, orders, payments and coupons of a
// LatePoint 5 site, read from and written to the site's tables.
//
// A Platform stands for the installation. Platform.Site takes one request's view of it,
// which has the reads; everything that writes is a method of Tx, the transaction that
// Site.Transact begins. The package imports wpdb for the database and the smaller
// packages below it, and knows nothing of HTTP or of the shapes on the wire.
package adapter
