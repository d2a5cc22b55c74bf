// Package handlers is the HTTP side: the route table, the middleware and one
// small function a route, which binds, checks, calls, shapes and sends.
//
// It imports compat for shapes and adapter for what is done, and holds neither
// rules, SQL nor JSON shapes of its own. Errors of every layer become
// responses in errors.go and nowhere else.
package handlers
