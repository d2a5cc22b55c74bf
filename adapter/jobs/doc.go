// Package jobs does the work that no request waits for: it sends the entries of the journal to chosen URLs,
// signed as Standard Webhooks (https://www.standardwebhooks.com), deletes expired rows ([Sweeper]), and
// cleans up after a restored backup.
//
// A webhook ([Hook]) has a position in the journal. A [Worker] turns the entries after it into deliveries, in
// the transaction that moves the position, so that each entry becomes one delivery even if a server dies.
// Deliveries are claimed, sent, and retried for three days. Deliveries about the same record are sent one
// after the other, in the order of the journal.
//
// It imports slots and what slots imports. It knows neither resources nor the form of their records: its
// caller encodes them.
package jobs
