// Package customers lists, creates, changes and deletes customers, with the WordPress users that are linked
// to them, by the site's rules for identifying customers.
//
// It may import orders and what orders may import.
package customers
