// Package middleware is what HTTP takes before any route is known: ids of requests, time limits,
// bodies, addresses of clients, and the limits on what requests may use together: places among
// the requests in flight (limits.go), long polls and exports (long_polls.go), memory (memory.go), and tries with invalid keys
// (throttle.go). It also sends answers in JSON (buffers.go). It knows no resource.
package middleware
