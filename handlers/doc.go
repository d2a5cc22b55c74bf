// Package handlers serves the API over HTTP: the route table, and one small function per route that binds,
// checks, calls, shapes and sends.
//
// It imports compat for the shapes of requests and responses, adapter for the booking domain, wpdb for the
// errors and the usage of the database, handlers/middleware and handlers/ratelimit for what every request
// goes through, handlers/openapi for the API's documentation, handlers/monitor for metrics, and
// handlers/mcp for the tools for AI agents. It contains no rules, no SQL and no JSON shapes. Errors of
// every layer become responses in errors.go and nowhere else.
package handlers
