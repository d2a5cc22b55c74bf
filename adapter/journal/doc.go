// Package journal numbers every change of the site's records, whoever made it.
//
// Writers of ours, and a companion in WordPress, enter their changes into an inbox in
// the transaction of the change, or right after it. Changes by anybody else are found by
// comparing the site's rows with snapshots. One server at a time moves both into the
// journal and numbers them, so that an entry that becomes visible always has a higher
// number than those that were visible before, and no reader misses one.
//
// The package knows tables and rows, but not what they mean, except for the status,
// agent, service and location of bookings. It may import adapter/domain, adapter/queue and wpdb.
package journal
