// Package compare sends the same requests to the PHP extension and to Bookside and reports where their
// responses differ.
//
// Requests come from access logs (logs.go), from the routes and parameters of the API (crawl.go) or from a
// list. Each goes to PHP, to Bookside, and to PHP once more (run.go): what differs between PHP's two
// responses is noise and is removed (judge.go). The rest is either a known difference (known.go) or one
// that needs attention. Writes are sent to two copies of a site, whose rows are then compared (writes.go,
// adapter/rowdiff). Result holds the findings; table.go and page.go print it.
package compare
