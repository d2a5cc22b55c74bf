// Package rowdiff compares the rows of two restored copies of a site, one of which PHP writes
// to and the other Bookside.
//
// A Copy is examined first: whether it would send mails (Unsafe), and which server sees it
// (Marker). A Pair then tells after each request how the rows that it left differ. Both copies
// begin with the same rows, so only rows that changed in one of them are compared. Ids and
// random codes of new rows may differ; Mapping pairs equivalent ids and codes.
package rowdiff
