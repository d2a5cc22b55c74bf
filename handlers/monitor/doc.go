// Package monitor says how a site and the work for it are doing. [Examine] makes the one report of that: whether the site
// can be served, what has to be done first, and what needs a person even then; check, /readyz?verbose, metrics, the console
// and wp-admin show it. [Admin] serves liveness, readiness and metrics on an address that clients cannot reach, where
// the console is mounted.
//
// It imports adapter, wpdb and handlers/middleware, and changes nothing.
package monitor
