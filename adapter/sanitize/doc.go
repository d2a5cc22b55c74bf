// Package sanitize cleans texts as WordPress does before it stores them, so that
// a site's templates and pages can show them as it expects. Each function names
// the one of WordPress 7.0.4 that it mirrors.
//
// It knows neither the database nor bookings.
package sanitize
