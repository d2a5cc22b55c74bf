// Package compare asks a site's PHP extension and Bookside the same questions and tells where their answers
// differ, for bookside compare. It only sends GETs.
//
// The requests come from access logs or a list ([ReadLogs], [ReadList]). It imports no package of this
// module.
package compare
