// Package wpdb is the mechanics of a WordPress database on MySQL or MariaDB:
// credentials, connections and their session, the table prefix, the schema as
// it really is, options, PHP-serialised values, queries, transactions, and
// driver errors by name.
//
// It knows tables and columns but nothing of bookings, and imports no other
// package of this module. It is the only package that imports the driver.
package wpdb
