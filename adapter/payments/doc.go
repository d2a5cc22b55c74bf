// Package payments lists, creates, changes, refunds and deletes payments, and keeps the invoices, the
// coupons and the payment status of their orders consistent with them.
//
// It imports notify and what notify imports, and no other resource. It moves no money: gateways do.
package payments
