// Package mcp offers the API to AI agents, as tools of the Model Context Protocol.
//
// A tool serves a receptionist's task, not a route. It calls one or more operations of the API with the
// request's key, and returns the relevant parts of their responses. Permissions, limits, validation,
// conflicts and idempotency are those of the operations; this package has no rules of booking, and writes
// nothing itself.
//
// It imports no other package of the project: it calls the API through a Caller and reads JSON.
package mcp
