// Package daystats counts the requests of the last 24 hours, minute by minute, for the console. Each server
// writes its own counts, one row for each minute that had requests, and readers add up the rows of all
// servers. If the rows cannot be written, a server keeps its own minutes in memory.
//
// It does not replace a monitoring system: see /metrics.
//
// It may import adapter/domain and wpdb.
package daystats
