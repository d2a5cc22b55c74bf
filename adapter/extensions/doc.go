// Package extensions is everything between Bookside and what the site has added to LatePoint in PHP: what is
// known of it ([Catalogue]), what WordPress is asked before a write ([Asker]), and what it is told after one
// ([Relay]). Both go through the companion plugin ([Companion]), in requests that are signed both ways.
//
// It imports domain and wpdb. It decides nothing about a booking: it passes on what the extensions answer.
package extensions
