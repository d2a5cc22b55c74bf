// Package idempotency stores the responses to requests that carry an Idempotency-Key, so that a repeated
// request gets the same response and nothing is done twice.
//
// It imports wpdb for the database and adapter/domain, and no other part of the domain.
package idempotency
