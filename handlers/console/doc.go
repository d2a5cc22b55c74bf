// Package console is the console of an administrator: what needs them, a day, why a time is not free, the requests to the API,
// keys, webhooks and the changes of the site. It is plain HTML and SVG rendered on the server; its script only copies a new
// key and searches long lists. What LatePoint's own pages do, it links to.
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
// # In WordPress
//
// wp-admin shows the same pages. The companion sends POST /wordpress/page, signed, with the [frame] as JSON: the page and the
// form of the browser, who looks, in which language, and the address and the nonce of its own page. It has checked the right of
// the user, and the nonce of a form. The answer is signed JSON (framed): the title and the HTML to print, with its style and
// script, whose links and forms lead to the companion's page with the parameter at; or the location to which a form leads.
// POST /wordpress/report answers in the same way with what needs a person, for Site Health. An answer that is not signed is a
// refusal with a message (see signature).
//
// Texts are of the type page.Text, and their translations are in the companion's catalogue. The package imports adapter and what
// is below it, its own packages, and handlers/ratelimit for the limits of keys and to bound attempts to log in.
package console
