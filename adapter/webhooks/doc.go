// Package webhooks sends the entries of the journal to URLs that people chose, signed as
// Standard Webhooks (https://www.standardwebhooks.com).
//
// A webhook has a position in the journal. A Worker turns the entries after it into
// deliveries, in the transaction that moves the position, so that each entry becomes one
// delivery whichever server dies. Deliveries are claimed, sent, and tried again for three
// days. Those about one record are sent one after the other, in the order of the journal.
//
// It may import adapter/domain, adapter/journal, adapter/keys, adapter/queue, its own ssrf and wpdb.
package webhooks
