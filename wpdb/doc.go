// Package wpdb implements the mechanics of a WordPress database on MySQL or
// MariaDB: connections and their sessions, the table prefix, the actual schema,
// privileges, options, PHP's serialised values, queries, transactions, named
// driver errors, and the definitions of our own tables.
//
// It knows tables and columns but nothing about bookings. It imports no other
// package of this module. Only it and wpdb/wpconfig import the driver.
package wpdb
