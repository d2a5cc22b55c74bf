// Package monitor serves monitoring, on an address that clients cannot reach: liveness and readiness
// (admin.go) and metrics (metrics.go). The console is mounted there.
package monitor
