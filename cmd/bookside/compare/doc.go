// Package compare asks the PHP extension and Bookside for the same things and tells where
// their answers differ.
//
// Requests come from access logs (logs.go), from the routes and parameters of the API (crawl.go)
// or from a list. Each goes to PHP, to Bookside, and to PHP once more (run.go): what differs
// between the two answers of PHP is noise and is taken out (judge.go). The rest is either a known
// difference (known.go) or one to look at. Writes are sent to two copies of a site and their rows
// are compared (writes.go, adapter/rowdiff). Result is what was found, table.go and page.go print
// it.
package compare
