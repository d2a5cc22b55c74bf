// Package docker has the routes for web servers and the units of systemd that setup installs: the same files
// that INSTALL.md says to copy.
//
// It imports no other package.
package docker

import "embed"

// Samples are files of this directory, by their paths in it.
//
//go:embed nginx/bookside-routes.conf
//go:embed apache/bookside-routes.conf
//go:embed caddy/bookside-log.caddy caddy/bookside-routes.caddy
//go:embed bookside.service bookside.socket
var Samples embed.FS
