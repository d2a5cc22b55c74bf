// Package console is the console of an administrator in a browser, at /console and below: an overview of
// the site and the last 24 hours, API keys, calendars and webhooks with forms and the journal.
// It is plain HTML and SVG rendered on the server; the only script copies a new key and listens
// for shortcuts.
//
// It is meant for a loopback address. That does not protect it from pages that a browser on the same
// machine opens, so:
//
//   - it is mounted on a monitor.Admin, which rejects requests whose Host is not
//     one of its names;
//   - requests that change something have to come from the page's own origin,
//     as reported by the browser, and carry a token derived from the session.
//     SameSite cookies alone would accept every other port of the same host;
//   - the session is a random cookie that scripts cannot read and that is never
//     sent with requests from other sites.
//
// Its pages are made of the parts in handlers/console/page, in the language that the browser prefers: texts are of the type
// page.Text, and their translations are in the companion's catalogue. It imports adapter and what is below it, and
// handlers/ratelimit for the limits of keys and to bound attempts to log in.
package console
