// Package indexes knows which indexes of the plugin's tables would help the API, tells
// what they would cost and gain on a site, and makes and drops them at its
// administrator's command. Nothing else ever alters the site's tables.
//
// It may import adapter/domain and wpdb.
package indexes
