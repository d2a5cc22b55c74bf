// Package indexes knows which indexes on the plugin's tables would help the API, and which of them a site
// has. It creates none: nothing of ours alters the site's tables.
//
// It may import wpdb.
package indexes
