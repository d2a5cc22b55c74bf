// Package diagnose examines the database of a site: whether it can be served,
// what has to be done first, and what will not work even then. It changes
// nothing. It returns data and sentences; printing them is up to the caller.
//
// It may import adapter, its domain, events, extensions, indexes, journal, keys, language, session, slots and
// upkeep, and wpdb.
package diagnose
