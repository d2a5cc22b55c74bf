// Package middleware handles requests before their route is known: request ids, time limits, bodies, client
// addresses, and the limits that requests share: requests in flight (limits.go), long polls and exports
// (long_polls.go), and attempts with invalid keys (throttle.go). It also sends
// responses in JSON (buffers.go). It imports adapter/domain, adapter/keys, compat for queries, handlers/ratelimit and wpdb for
// their errors, and knows no resource.
package middleware
