// Package payments lists, creates, changes, refunds and deletes payments, and keeps the invoices, the
// coupons and the payment status of their orders consistent with them.
//
// It may import catalog and what catalog may import.
package payments
