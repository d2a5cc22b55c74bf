// Package indexes knows which indexes on the plugin's tables would help the API, estimates what they would
// cost and gain on a site, and creates and drops them when the administrator asks for it. Nothing else ever
// alters the site's tables.
//
// It may import adapter/domain and wpdb.
package indexes
