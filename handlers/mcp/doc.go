// Package mcp offers the API to AI agents, as tools of the Model Context Protocol.
//
// A tool is made for a task of a receptionist, not for a route. It calls one or more
// operations of the API for the holder of a request's key, and returns what matters of
// their answers. Permissions, limits, validation, conflicts and idempotency are those of
// the operations; this package has no rules of booking, and writes nothing itself.
//
// It imports no other package of the project: a Caller is all that it knows of the API,
// and JSON is all that it reads from it.
package mcp
