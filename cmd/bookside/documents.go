package main

import (
	"embed"

	"bookside/adapter/keys"
	"bookside/adapter/webhooks"
	"bookside/handlers"
	"bookside/handlers/console"
	"bookside/handlers/documents"
	"bookside/handlers/mcp"
)

//go:embed *.md
var ownDocuments embed.FS

// library returns the documents that the console shows.
func library() (*documents.Library, error) {
	return documents.New(console.DocumentsPath, ownDocuments, handlers.Documents, mcp.Documents, keys.Documents, webhooks.Documents)
}
