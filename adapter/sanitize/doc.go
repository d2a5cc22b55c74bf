// Package sanitize cleans texts as WordPress does before it stores them, so that the site's templates and
// pages can rely on them. The comment of each function names the WordPress 7.0.4 function that it mirrors.
//
// It imports no other package of Bookside.
package sanitize
