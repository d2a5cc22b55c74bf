// Package session is one request's view of a LatePoint site, and its transactions: what is installed, the time
// zone and the time, who asks and what he may see, the site's settings, rows, metadata and locks.
//
// It may import wpdb and the packages of adapter that know no session, such as domain, journal and keys.
package session
