// Package outbox queues mails in one of Bookside's own tables, in the transaction of the change that they
// report, and sends them from there.
//
// It may import wpdb, adapter/domain, adapter/queue and adapter/sanitize, and no other part of the domain.
package outbox
