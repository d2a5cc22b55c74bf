// Package daystats counts the requests of the last 24 hours, minute by minute, for people
// who look at the console. Each server writes what it counted itself, a row for each
// minute that had requests, and readers add the rows of all servers up. Where the rows
// cannot be written, a server keeps its own minutes in memory.
//
// It is no substitute for a monitoring system: see /metrics.
//
// It may import adapter/domain and wpdb.
package daystats
