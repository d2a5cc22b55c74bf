// Package openapi builds the OpenAPI document of the API, and serves it with Swagger UI.
//
// document.go has the frame, operation.go an operation, webhooks.go the requests sent to webhooks, and
// introduction.md the introduction. Every object and every union has a name, so that generators of clients can use
// the document as it is, as .ci/clients/run tries. pages.go serves the document and the files of swaggerui.
// handlers/describe.go passes in the routes with their permissions and errors.
//
// It imports compat for records and fields, and adapter for names. It decides nothing: what the document says is derived from
// what the program does.
package openapi
