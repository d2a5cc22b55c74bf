// Package requestlog keeps the latest requests to the API in a table, for the console: who asked for what,
// and how it ended.
//
// A [Log] collects the requests of one server and writes them in batches, so that no request waits for it.
// While the database is slow or down, it drops requests and counts them. All servers of a site share the
// table, which has as many entries as requests.keep says, for at most a week.
//
// Entries have nothing of what clients sent but the id in the path, and the names of fields that were refused.
//
// It may import adapter/domain and wpdb.
package requestlog
