// Package monitor is what monitoring asks a server for, on an address that clients cannot reach:
// whether it lives and is ready (admin.go) and its metrics (metrics.go). The console is mounted
// there.
package monitor
