// Package notify does what the plugin does after an event: it logs activities, deletes and queues the
// site's jobs, and renders the mails of its automations.
//
// It may import slots and what slots may import.
package notify
