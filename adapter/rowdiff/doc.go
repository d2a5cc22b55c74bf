// Package rowdiff compares the rows of two restored copies of a site. PHP writes to one of them and
// Bookside to the other.
//
// First each Copy is examined: whether it would send mails (Unsafe), and which server sees it (Marker). A
// Pair then returns, after each request, how the rows that it left differ. Both copies begin with the same
// rows, so only rows that changed in one of them are compared. Ids and random codes of new rows may differ;
// Mapping pairs equivalent ids and codes.
package rowdiff
