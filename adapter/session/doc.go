// Package session is one request's view of a LatePoint site, and its transactions: what is installed, the
// time zone and the time, the caller and their scope, the site's settings, rows, metadata and locks.
//
// It may import wpdb and the adapter packages that do not know sessions, such as domain, journal and keys.
package session
