// Package journal numbers every change of the site's records, whoever made it ([Journal]).
//
// Our writers and the companion enter their changes into an inbox, in the transaction of the change or
// right after it. Changes by anybody else are found by comparing the site's rows with snapshots. One server
// at a time moves both into the journal and numbers them, so that an entry always becomes visible with a
// higher number than those visible before, and no reader misses one.
//
// It imports domain and wpdb. It knows tables and rows, but not their meaning, except for the status, agent,
// service and location of bookings.
package journal
