// Package session is one request's view of a LatePoint site ([Session]), and its transactions ([Tx]): what
// is installed, the time zone and the time, the caller and their scope, the site's settings, rows, metadata
// and locks. Requests that read the same share one statement that began after each of them ([ReadStatement]).
//
// It imports what does not know sessions: availability, domain, extensions, journal, keys, text and wpdb. It
// has no rules of bookings.
package session
