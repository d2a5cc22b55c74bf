// Package automation turns a site's automations, which LatePoint calls processes, into
// messages: what to send because of an event, to whom and when, with all variables
// replaced. It mirrors OsProcessJobsHelper, OsProcessModel and OsReplacerHelper,
// LatePoint 5.6.5.
//
// It is pure: the caller passes rows, values and the present instant.
package automation
