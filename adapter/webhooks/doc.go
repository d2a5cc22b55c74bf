// Package webhooks sends the entries of the journal to chosen URLs, signed as Standard Webhooks
// (https://www.standardwebhooks.com).
//
// A webhook has a position in the journal. A Worker turns the entries after it into deliveries, in the
// transaction that moves the position, so that each entry becomes one delivery even if a server dies.
// Deliveries are claimed, sent, and retried for three days. Deliveries about the same record are sent one
// after the other, in the order of the journal.
//
// It may import adapter/domain, adapter/journal, adapter/keys, adapter/queue, its own ssrf and wpdb.
package webhooks
