// Package mcp offers the API to AI agents, as tools of the Model Context Protocol.
//
// A tool is an operation of the API: tools.go lists which, with the arguments that a receptionist needs. server.go
// calls it with the request's key and hands on its answer, in which typed.go marks what customers typed. Permissions,
// limits, validation, conflicts and idempotency are those of the operations; this package has no rules of booking.
//
// It imports no other package of the project: it calls the API through a Caller and reads JSON.
package mcp
