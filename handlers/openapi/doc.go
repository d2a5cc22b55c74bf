// Package openapi makes the OpenAPI document of the API, and serves it with Swagger UI.
//
// It is told what to write: document.go has the frame, operation.go an operation, webhooks.go the
// requests that are sent to webhooks, and introduction.md what a reader finds first. pages.go serves
// the document and the files of swaggerui. Which routes there are, with their permissions and their
// errors, is in handlers/describe.go.
package openapi
