package mcp

import "embed"

// Documents are this package's documents in Markdown.
//
//go:embed *.md
var Documents embed.FS
