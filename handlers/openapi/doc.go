// Package openapi builds the OpenAPI document of the API, and serves it with Swagger UI.
//
// document.go has the frame, operation.go an operation, webhooks.go the requests sent to webhooks, and
// introduction.md the introduction. clients.go and schemas.go turn the same data into a document that
// generators of clients understand, as .ci/clients/run tries with oapi-codegen, openapi-typescript and OpenAPI
// Generator. pages.go serves the document and the files of swaggerui, catalog.go the API catalog and llms.txt,
// which lead there. handlers/describe.go passes in the routes with their permissions and errors.
package openapi
