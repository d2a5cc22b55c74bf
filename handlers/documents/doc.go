// Package documents turns the project's Markdown documents into pages of the console: rendered, linked with
// each other, and searchable by section. It imports nothing of the project; its callers pass the documents
// in.
package documents
