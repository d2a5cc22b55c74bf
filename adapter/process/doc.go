// Package process turns a site's automations, which LatePoint calls processes,
// into messages: what is to be sent because something happened, to whom, when,
// with all variables filled in. It mirrors OsProcessJobsHelper, OsProcessModel
// and OsReplacerHelper, LatePoint 5.6.5.
//
// It is pure: rows and values come from the caller, and so does the clock. It
// imports the standard library alone.
package process
