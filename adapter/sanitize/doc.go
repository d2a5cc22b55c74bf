// Package sanitize cleans texts as WordPress does before it stores them, so that a site's
// templates and pages can show them as they expect. The comment of each function names
// the function of WordPress 7.0.4 that it mirrors.
//
// It imports no other package of Bookside.
package sanitize
