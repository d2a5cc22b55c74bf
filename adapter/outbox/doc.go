// Package outbox queues mails in a table of Bookside's own, in the transaction of what
// they report, and sends them from there.
//
// It imports wpdb for the database, adapter/domain and adapter/sanitize, and no other
// part of the domain.
package outbox
