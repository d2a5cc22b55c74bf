// Package keys stores the API keys of a site and the tokens of its administration pages, in Bookside's own
// tables. Only the hash of a key is stored.
//
// It imports wpdb for the database and adapter/domain, and no other part of the domain.
package keys
