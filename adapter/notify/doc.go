// Package notify does what the plugin does after an event: it logs activities, deletes and queues the site's
// jobs, and renders the messages of its automations, which LatePoint calls processes ([Process], [Job]). It
// mirrors OsProcessJobsHelper, OsProcessModel and OsReplacerHelper, LatePoint 5.6.5.
//
// It imports records and what records imports. It sends nothing: the site's cron or the companion does.
package notify
