// Package customers lists, creates, changes and deletes customers, with the WordPress users that are linked
// to them, by the site's rules for identifying customers ([Patch] is a change).
//
// It imports notify and what notify imports, and no other resource.
package customers
