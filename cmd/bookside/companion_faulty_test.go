package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures/expect"
)

// misbehavingSite is a site with an extension that has faults, and a server that reaches it.
type misbehavingSite struct {
	*toldSite
	sends bool // whether LatePoint sends messages
	half  int  // the half hour of the last booking, since midnight
}

// TestCompanionBearsFaultyListeners: whatever a listener does to the connection or says in an exception, each event is told and sent
// once, and its error is kept.
func TestCompanionBearsFaultyListeners(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) {
		expect.NoError(t, b.s.stop())
		writeBelow(t, b.Content, map[string]string{"plugins/faulty/faulty.php": string(readFile(t, "testdata/faulty.php"))})
		b.db.Execute(t, "DELETE FROM wp_latepoint_processes", workflow(1, "booking_created", "[]"))
		f := &misbehavingSite{toldSite: &toldSite{bookingSite: b, wordpress: b.ServeByWorkers(t, 2)}, half: 17}
		b.Activate(t, "faulty/faulty.php")
		f.visit()
		f.start()
		f.sends = strings.HasSuffix(f.text("SELECT option_value FROM "+f.db.Prefix+"options WHERE option_name = 'bookside_companion_events'"), " messages")
		f.transactions()
		f.exceptions()
		f.withoutLatePoint()
	})
}

// transactions: one that a listener leaves open is rolled back, as at the end of a request, and takes no mark with it, and locks of tables are released.
func (f *misbehavingSite) transactions() {
	const open = "A listener left a transaction open."
	f.booked("", "done ")
	f.booked("transaction", "failed "+open)
	f.booked("transaction and exception", "failed RuntimeException in plugins/faulty/faulty.php:36: away; "+open)
	f.booked("autocommit", "failed "+open)
	f.booked("tables", "failed A listener left tables locked.")
	f.booked("all", "failed A listener left a transaction open and tables locked.")
	expect.Equal(f.t, 0, f.number("SELECT COUNT(*) FROM "+f.db.Prefix+"options WHERE option_name = 'faulty'"), "what a listener had half done is stored")
	if f.sends { // what LatePoint notes about its messages is stored
		writeBelow(f.t, f.Content, map[string]string{"mail-fault": ""})
		id := f.booked("", "failed A plugin left a transaction open while messages were sent.")
		expect.Equal(f.t, "completed", f.text(fmt.Sprintf("SELECT COALESCE(GROUP_CONCAT(status), '') FROM {p}process_jobs WHERE object_id = %d", id)), "jobs")
	}
	id := f.booked("", "done ")
	writeBelow(f.t, f.Content, map[string]string{"fault": "transaction"})
	f.send(http.MethodDelete, fmt.Sprintf("/v1/bookings/%d?force=true", id), "")
	f.wantNotes(fmt.Sprint("booking_will_be_deleted ", id))
	expect.Texts(f.t, f.Run(f.t, "echo bookside_companion_failures()['events']['message'];"), "booking_will_be_deleted", open)
}

// exceptions: of a message that the database would reject, the rest is kept.
func (f *misbehavingSite) exceptions() {
	const thrown = "failed RuntimeException in plugins/faulty/faulty.php:36: "
	f.booked("bytes", thrown+" bad")
	expect.Texts(f.t, f.Run(f.t, "echo bookside_companion_failures()['events']['message'];"), "RuntimeException", "bad")
	f.booked("long", thrown+strings.Repeat("not this one ", 7)[:80])
}

// withoutLatePoint: while LatePoint is switched off, events wait.
func (f *misbehavingSite) withoutLatePoint() {
	f.t.Helper()
	id := f.booked("", "done ")
	f.Run(f.t, "update_option('active_plugins', array_values(array_diff(get_option('active_plugins'), ['latepoint/latepoint.php'])));")
	event := fmt.Sprintf(" WHERE event = 'booking_created' AND record_id = %d", id)
	f.db.Execute(f.t, f.expand("UPDATE {own}events SET status = 'waiting', tries = 0, messages = '', sender = ''"+event))
	expect.NoError(f.t, f.s.stop())
	f.start() // looks at once
	f.s.eventually("a refusal", func() bool {
		return strings.Contains(f.s.stderr.String(), "it answers with status 503") || f.text("SELECT status FROM {own}events"+event) != "waiting"
	})
	expect.Equal(f.t, "waiting 0 ", f.text("SELECT CONCAT(status, ' ', tries, ' ', failure) FROM {own}events"+event), "the event without LatePoint")
	f.Activate(f.t, "latepoint/latepoint.php")
	f.wantNotes(fmt.Sprint("booking_created ", id))
}

// booked makes a booking that the extension has a fault about, and compares how its event ended. It is told, sent and followed by its order once.
func (f *misbehavingSite) booked(fault, want string) (id int) {
	f.t.Helper()
	f.half++
	writeBelow(f.t, f.Content, map[string]string{"fault": fault})
	id = f.create("/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer_id":1,"start_date":%q,"start_time":"%02d:%02d"}`, f.bookday, f.half/2, f.half%2*30))
	f.wantNotes(f.notesOf(id)...)
	expect.Equal(f.t, want, f.text(fmt.Sprintf("SELECT CONCAT(status, ' ', failure) FROM {own}events WHERE event = 'booking_created' AND record_id = %d", id)), fault)
	return id
}

// notesOf are the notes about a booking that was made.
func (f *misbehavingSite) notesOf(id int) (notes []string) {
	f.t.Helper()
	notes = append(notes, fmt.Sprint("booking_created ", id))
	if f.sends {
		notes = append(notes, fmt.Sprintf("mail event 1 of %d", id))
	}
	return append(notes, "order_created "+f.text(fmt.Sprintf("SELECT i.order_id FROM {p}bookings b JOIN {p}order_items i ON i.id = b.order_item_id WHERE b.id = %d", id)))
}

// wantNotes waits until all events have ended, and compares what the extension has noted since.
func (f *misbehavingSite) wantNotes(want ...string) {
	f.t.Helper()
	f.s.eventually("the end of events", func() bool {
		return f.number("SELECT COUNT(*) FROM {own}events WHERE status IN ('waiting', 'started')") == 0
	})
	text, err := os.ReadFile(filepath.Join(f.Content, "faulty.log"))
	expect.NoError(f.t, err)
	all := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if diff := cmp.Diff(want, all[f.read:]); diff != "" {
		f.t.Fatalf("notes (-want +got):\n%s\nThe server says:\n%s", diff, f.s.stderr)
	}
	f.read = len(all)
}
