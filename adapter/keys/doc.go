// Package keys keeps the API keys of a site and the tokens of its administration pages,
// in tables of Bookside's own. Of a key only a hash is stored.
//
// It imports wpdb for the database and adapter/domain, and no other part of the domain.
package keys
