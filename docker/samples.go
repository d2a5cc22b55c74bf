// Package docker has the configurations of web servers and of systemd that setup installs: the same files
// that INSTALL.md says to copy.
//
// It imports no other package.
package docker

import "embed"

// Samples are files of this directory, by their paths in it.
//
//go:embed nginx/bookside.conf nginx/bookside-routes.conf
//go:embed apache/bookside.conf apache/bookside-routes.conf
//go:embed caddy/bookside-log.caddy caddy/bookside-routes.caddy
//go:embed bookside.service bookside.socket
var Samples embed.FS
