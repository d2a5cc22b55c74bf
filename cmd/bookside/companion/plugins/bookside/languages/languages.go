// Package languages has the translations of the companion in WordPress, which are also those of the console: both have one
// catalogue. It lies among the companion's files because WordPress looks for them here.
package languages

import _ "embed"

// German is the translation into German, as msgfmt compiles it.
//
//go:embed bookside-de_DE.mo
var German []byte
