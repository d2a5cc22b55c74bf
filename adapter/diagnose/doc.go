// Package diagnose examines a site and reports how it and the work for it are doing: whether it can be served,
// what has to be done first, and what needs a person even then. All entries of the report are made here; check, /readyz?verbose,
// metrics, the console and wp-admin show them. It changes nothing.
//
// It may import adapter's domain, events, extensions, indexes, journal, keys, language, notify, session, shared and slots, and wpdb.
package diagnose
