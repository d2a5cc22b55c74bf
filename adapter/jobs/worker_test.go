package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestEventIsSentAndSigned(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	x.enter(booking(1)) // before the webhook exists
	secret, hook := x.add(r, "booking.*")
	if !strings.HasPrefix(secret, "whsec_") || hook.Name != strings.TrimPrefix(r.URL, "http://") {
		t.Errorf("secret %q, name %q", secret, hook.Name)
	}
	x.enter(booking(17), change{journal.Customers, 3, journal.Created, journal.BookingFacts{}})
	x.Pass(time.Minute)
	x.work()
	events := r.took()
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	e := events[0]
	if want := `{"type":"booking.updated","timestamp":"2026-11-21T09:30:00Z","data":{"number":2,"resource":"bookings","resource_id":17,"kind":"updated"}}`; string(e.body) != want {
		t.Errorf("body %s\nwant %s", e.body, want)
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err == nil {
		err = verifier.VerifyIgnoringTimestamp(e.body, e.header)
	}
	expect.Succeeded(t, err)
	expect.Error(t, standardwebhooks.ErrNoMatchingSignature, verifier.VerifyIgnoringTimestamp(append(slices.Clone(e.body), ' '), e.header), "another body")
	expect.Equal(t, fmt.Sprint(x.Now().Unix()), e.header.Get("webhook-timestamp"), "timestamp")
	expect.Equal(t, "application/json", e.header.Get("Content-Type"), "Content-Type")
	d := x.deliveries(hook.ID)[0]
	if d.State != delivered || d.Tries != 1 || d.MessageID() != e.id || d.FinishedAt != "2026-11-21 09:31:00" {
		t.Errorf("delivery %+v", d)
	}
	expect.Equal(t, []Try{{ID: 1, DeliveryID: d.ID, At: "2026-11-21 09:31:00", Status: 204}}, x.tries(hook.ID), "tries")
	x.work()
	expect.Empty(t, r.took(), "sent again")
}

func TestStatusChangeIsOneEvent(t *testing.T) {
	t.Parallel()
	approved := change{journal.Bookings, 5, journal.Updated, journal.BookingFacts{OldStatus: "pending", NewStatus: "approved", Assignment: journal.Assignment{AgentID: 2, ServiceID: 3, LocationID: 4}}}
	moved := change{journal.Bookings, 5, journal.Updated, journal.BookingFacts{OldStatus: "approved", NewStatus: "approved", Assignment: journal.Assignment{AgentID: 2, ServiceID: 3, LocationID: 4}}}
	removed := change{journal.Bookings, 5, journal.Deleted, journal.BookingFacts{OldStatus: "approved", Assignment: journal.Assignment{AgentID: 2, ServiceID: 3, LocationID: 4}}}
	order := change{journal.Orders, 9, journal.Updated, journal.BookingFacts{}}
	for _, test := range []struct {
		name   string
		filter HookFilter
		want   []string
	}{
		{"both", HookFilter{Events: []string{"booking.updated", "booking.status_changed"}}, []string{"booking.status_changed", "booking.updated"}},
		{"updates", HookFilter{Events: []string{"booking.updated"}}, []string{"booking.updated", "booking.updated"}},
		{"status alone", HookFilter{Events: []string{"booking.status_changed"}}, []string{"booking.status_changed"}},
		{"resource", HookFilter{Events: []string{"booking.*"}}, []string{"booking.status_changed", "booking.updated", "booking.deleted"}},
		{"all", HookFilter{Events: []string{"*"}}, []string{"booking.status_changed", "booking.updated", "booking.deleted", "order.updated"}},
		{"of an agent", HookFilter{Events: []string{"*"}, Agents: []int64{1, 2}}, []string{"booking.status_changed", "booking.updated", "booking.deleted", "order.updated"}},
		{"of another agent", HookFilter{Events: []string{"*"}, Agents: []int64{1}}, []string{"order.updated"}},
		{"of another service", HookFilter{Events: []string{"booking.*"}, Agents: []int64{2}, Services: []int64{9}}, nil},
		{"of another location", HookFilter{Events: []string{"booking.*"}, Locations: []int64{9}}, nil},
		{"of all", HookFilter{Events: []string{"booking.deleted"}, Agents: []int64{2}, Services: []int64{3}, Locations: []int64{4}}, []string{"booking.deleted"}},
	} {
		var got []string
		for _, c := range []change{approved, moved, removed, order} {
			e := journal.Entry{Resource: c.resource, ID: c.id, Kind: c.kind}
			if c.resource == journal.Bookings {
				e.Booking = &c.facts
			}
			if _, event, ok := test.filter.event(e); ok {
				got = append(got, event)
			}
		}
		expect.Equal(t, test.want, got, test.name, ": events")
	}
}

func TestFilteredBookingWithoutFactsIsNotSent(t *testing.T) {
	t.Parallel()
	if _, event, ok := (HookFilter{Events: []string{"*"}, Agents: []int64{1}}).event(journal.Entry{Resource: journal.Bookings, Kind: journal.Deleted}); ok {
		t.Errorf("sent as %s", event)
	}
}

// TestMovedBookingIsDeletedForOthers: a webhook for some bookings is told that one left but not where it
// went, whether or not the receiver learns of it elsewhere.
func TestMovedBookingIsDeletedForOthers(t *testing.T) {
	t.Parallel()
	before := journal.Assignment{AgentID: 2, ServiceID: 3, LocationID: 4, CustomerID: 5}
	now := before
	now.AgentID, now.CustomerID = 9, 6
	e := journal.Entry{Number: 7, Resource: journal.Bookings, ID: 5, Kind: journal.Updated, Booking: &journal.BookingFacts{
		OldStatus: "pending", NewStatus: "approved", Assignment: now, Before: &before,
	}}
	came, left := e, e
	came.Booking = &journal.BookingFacts{OldStatus: "pending", NewStatus: "approved", Assignment: now}
	left.Kind, left.Left, left.Booking = journal.Deleted, true, &journal.BookingFacts{OldStatus: "pending", Assignment: before}
	for _, test := range []struct {
		name   string
		filter HookFilter
		event  string // "" for none
		sent   journal.Entry
	}{
		{"both", HookFilter{Events: []string{"booking.*"}, Agents: []int64{2, 9}}, "booking.status_changed", e},
		{"all", HookFilter{Events: []string{"booking.*"}}, "booking.status_changed", e},
		{"new", HookFilter{Events: []string{"booking.*"}, Agents: []int64{9}}, "booking.status_changed", came},
		{"old", HookFilter{Events: []string{"booking.*"}, Agents: []int64{2}, Services: []int64{3}}, "booking.deleted", left},
		{"old, updates alone", HookFilter{Events: []string{"booking.updated", "booking.status_changed"}, Agents: []int64{2}}, "", e},
		{"neither", HookFilter{Events: []string{"booking.*"}, Agents: []int64{2}, Services: []int64{8}}, "", e},
	} {
		sent, event, ok := test.filter.event(e)
		if ok != (test.event != "") || ok && event != test.event {
			t.Fatalf("%s: sent %t as %q", test.name, ok, event)
		}
		if diff := cmp.Diff(test.sent, sent); ok && diff != "" {
			t.Errorf("%s: (-want +sent):\n%s", test.name, diff)
		}
	}
}

// TestTriesEndAfterThreeDays: a delivery is tried ten times, the second time after five
// seconds, and a webhook that only fails is disabled.
func TestTriesEndAfterThreeDays(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	r.answerBy(func(w http.ResponseWriter, _ event) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(strings.Repeat("ä", 400)))
	})
	x.enter(booking(1))
	start := x.Now()
	for n := 1; n <= 10; n++ {
		x.work()
		d := x.deliveries(hook.ID)[0]
		if events := r.took(); len(events) != 1 || d.Tries != n {
			t.Fatalf("try %d: %d requests, delivery %+v", n, len(events), d)
		}
		if n == 10 {
			if d.State != failed || d.Failure != "answered 502" {
				t.Errorf("after ten tries: %+v", d)
			}
			break
		}
		due, _ := d.DueAt.Time()
		delay := due.Sub(x.Now())
		if least := retryDelays[n-1]; d.State != waiting || delay < least-time.Second || delay > least+least/10 {
			t.Errorf("after try %d: %s, next in %v, want %v", n, d.State, delay, least)
		}
		x.Pass(delay - time.Second)
		x.work()
		if events := r.took(); len(events) > 0 {
			t.Errorf("%d requests before try %d is due", len(events), n+1)
		}
		x.Pass(time.Second)
	}
	if took := x.Now().Sub(start); took < 69*time.Hour || took > 80*time.Hour {
		t.Errorf("ten tries took %v, want three days", took)
	}
	tries := x.tries(hook.ID)
	if len(tries) != 10 || tries[0].Status != 502 || tries[0].Answer != strings.Repeat("ä", 250) || tries[0].Failure != "answered 502" {
		t.Errorf("%d tries, the first %+v", len(tries), tries[0])
	}
	h := x.hook(hook.ID)
	if h.Status != Disabled || h.Reason != "it failed for three days" {
		t.Errorf("webhook %+v", h)
	}
	if text := x.log.String(); !strings.Contains(text, `level=WARN msg="webhook disabled" webhook_id=1 reason="it failed for three days"`) {
		t.Errorf("log %s", text)
	}
	r.took()
	x.enter(booking(3))
	x.Pass(time.Hour)
	x.work()
	expect.Empty(t, r.took(), "requests to a disabled webhook")
}

func TestReceiverAsksForAPause(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	asked := ""
	r.answerBy(func(w http.ResponseWriter, _ event) {
		w.Header().Set("Retry-After", asked)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	for n, c := range []struct {
		asked string
		want  time.Duration
	}{
		{"90", 90 * time.Second},
		{x.Now().Add(90 * time.Second).Add(10 * time.Minute).Format(http.TimeFormat), 10 * time.Minute},
		{"99999999", 24 * time.Hour},
		{"99999999999999999999", retryDelays[3]},
		{"soon", retryDelays[4]},
		{x.Now().Format(http.TimeFormat), retryDelays[5]},
	} {
		asked = c.asked
		if n == 0 {
			x.enter(booking(1))
		}
		x.work()
		d := x.deliveries(hook.ID)[0]
		due, _ := d.DueAt.Time()
		if delay := due.Sub(x.Now()); d.Tries != n+1 || delay < c.want-time.Second || delay > c.want+c.want/10 {
			t.Errorf("%s: after %d tries: next in %v, want %v", c.asked, d.Tries, delay, c.want)
		}
		x.Pass(due.Sub(x.Now()))
	}
}

func TestDisabledWebhookContinuesWhereItStopped(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		t.Run(fmt.Sprintf("skip %v", skip), func(t *testing.T) {
			t.Parallel()
			x, r, hook := newDelivery(t)
			r.answer(http.StatusInternalServerError)
			x.enter(booking(1))
			x.work()
			r.took()
			if found, err := x.store.Disable(t.Context(), hook.ID, "for a test"); err != nil || !found {
				t.Fatal(found, err)
			}
			x.enter(booking(2))
			x.Pass(time.Minute)
			x.work()
			expect.Empty(t, r.took(), "requests while disabled")
			r.answer(http.StatusOK)
			if found, err := x.store.Enable(t.Context(), hook.ID, skip); err != nil || !found {
				t.Fatal(found, err)
			}
			x.enter(booking(3))
			x.work()
			var got []string
			for _, e := range r.took() {
				got = append(got, e.record())
			}
			slices.Sort(got)
			want := []string{"bookings 1", "bookings 2", "bookings 3"}
			if skip {
				want = want[2:]
			}
			expect.Equal(t, want, got)
			if h := x.hook(hook.ID); h.Status != Enabled || h.Reason != "" || h.FailingSince != "" {
				t.Errorf("webhook %+v", h)
			}
		})
	}
}

func TestGoneDisablesTheWebhook(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	r.answer(http.StatusGone)
	x.enter(booking(1))
	x.work()
	if h := x.hook(hook.ID); h.Status != Disabled || h.Reason != "the receiver answered 410 Gone" {
		t.Errorf("webhook %+v", h)
	}
	if d := x.deliveries(hook.ID)[0]; d.State != failed || d.Tries != 1 {
		t.Errorf("delivery %+v", d)
	}
}

func TestRedirectIsAFailure(t *testing.T) {
	t.Parallel()
	x, r, other := newExchange(t), newReceiver(t), newReceiver(t)
	_, hook := x.add(r, "*")
	r.answerBy(func(w http.ResponseWriter, _ event) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	x.enter(booking(1))
	x.work()
	expect.Empty(t, other.took(), "the redirect was followed")
	if d := x.deliveries(hook.ID)[0]; d.State != waiting || d.Failure != "answered 307: redirects are not followed" {
		t.Errorf("delivery %+v", d)
	}
}

// TestDeliveriesOfARecordKeepTheirOrder: a later change of a record is not sent before an earlier one is
// delivered or given up; other records do not wait.
func TestDeliveriesOfARecordKeepTheirOrder(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	x.add(r, "*")
	r.answerBy(func(w http.ResponseWriter, e event) {
		if e.entry.Number == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	same := change{journal.Customers, 1, journal.Updated, journal.BookingFacts{}} // another resource with the same id
	x.enter(booking(1), booking(2), booking(1), same, booking(1))
	x.work()
	wantNumbers(t, r, 1, 2, 4)
	x.Pass(6 * time.Second)
	x.work()
	wantNumbers(t, r, 1)
	r.answer(http.StatusOK)
	x.Pass(time.Hour)
	x.work()
	expect.Equal(t, []int64{1, 3, 5}, numbers(r.took()), "numbers, in this order")
}

func numbers(events []event) (all []int64) {
	for _, e := range events {
		all = append(all, e.entry.Number)
	}
	return all
}

// wantNumbers compares the entries that a receiver received, in any order.
func wantNumbers(t *testing.T, r *receiver, want ...int64) {
	t.Helper()
	got := numbers(r.took())
	slices.Sort(got)
	expect.Equal(t, want, got, "entries")
}

func TestGivenUpDeliveryReleasesItsRecord(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	r.answerBy(func(w http.ResponseWriter, e event) {
		if e.entry.Number == 1 {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	x.enter(booking(1), booking(1))
	for range 10 {
		x.enter(booking(7)) // succeeds, so that the webhook is not disabled
		x.work()
		x.Pass(26 * time.Hour)
	}
	x.work()
	got := numbers(slices.DeleteFunc(r.took(), func(e event) bool { return e.entry.ResourceID == 7 }))
	expect.Equal(t, append(slices.Repeat([]int64{1}, 10), 2), got, "numbers")
	expect.Equal(t, Enabled, x.hook(hook.ID).Status, "webhook")
}

// TestGivenUpDeliveryEndsFailing: a delivery that is no longer tried does not make a webhook count as
// failing or, three days later, as one that only failed.
func TestGivenUpDeliveryEndsFailing(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	r.answerBy(func(w http.ResponseWriter, e event) {
		if e.entry.ResourceID != 7 {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	failing := func(want bool, when string) {
		t.Helper()
		if h := x.hook(hook.ID); h.Status != Enabled || (h.FailingSince != "") != want {
			t.Errorf("%s: %s, failing since %q", when, h.Status, h.FailingSince)
		}
	}
	x.enter(booking(1))
	for range 9 {
		x.work()
		x.enter(booking(7)) // succeeds, so that the webhook is not disabled
		x.work()
		failing(false, "after a success")
		x.Pass(26 * time.Hour)
	}
	x.enter(booking(2), booking(1))
	x.work()
	failing(true, "while others wait after a failure")
	for range 9 {
		x.enter(booking(7))
		x.work()
		x.Pass(26 * time.Hour)
	}
	x.work()
	for _, d := range x.deliveries(hook.ID) {
		expect.Equal(t, map[bool]string{true: delivered, false: failed}[d.ResourceID == 7], d.State, d)
	}
	failing(false, "when all are given up")
	x.Pass(4 * 24 * time.Hour)
	x.enter(booking(3))
	x.work()
	failing(true, "after the next failure")
}

// TestSlowReceiverDelaysNobody: a receiver that does not answer delays only its own deliveries.
func TestSlowReceiverDelaysNobody(t *testing.T) {
	t.Parallel()
	x, slow, fast := newExchange(t), newReceiver(t), newReceiver(t)
	_, first := x.add(slow, "*")
	x.add(fast, "*")
	release := make(chan struct{})
	slow.answerBy(func(http.ResponseWriter, event) { <-release })
	got := make(chan int64, 100)
	fast.answerBy(func(_ http.ResponseWriter, e event) { got <- e.entry.Number })
	for id := range int64(40) {
		x.enter(booking(id + 1))
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { x.worker().Run(ctx, time.Minute) })
	seen := map[int64]bool{}
	for len(seen) < 40 {
		seen[<-got] = true
	}
	if n := value[int](x, "SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE webhook_id = ? AND status = 'sending'", first.ID); n > perHook {
		t.Errorf("%d tries of the slow receiver at a time", n)
	}
	close(release)
	stop()
	done.Wait()
	if n := value[int](x, "SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE webhook_id = ? AND status = 'delivered'", first.ID); n == 0 {
		t.Error("the tries that were running are not stored")
	}
}

// TestStoppingServerCancelsTries: a try that is canceled because the server stops does not count, and
// another server sends the delivery at once.
func TestStoppingServerCancelsTries(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	x.enter(booking(1))
	ctx, stop := context.WithCancel(t.Context())
	release := make(chan struct{})
	r.answerBy(func(http.ResponseWriter, event) {
		stop()
		<-release
	})
	x.worker().Run(ctx, 0)
	close(release)
	if d := x.deliveries(hook.ID)[0]; d.State != waiting || d.Tries != 0 || d.Failure != "" {
		t.Errorf("delivery %+v", d)
	}
	r.answer(http.StatusOK)
	x.work()
	wantNumbers(t, r, 1, 1)
}

// TestServersShareTheWork: several servers send each delivery once, in order for each record.
func TestServersShareTheWork(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	for n := range int64(300) {
		x.enter(booking(n%10 + 1))
	}
	var servers sync.WaitGroup
	for range 3 {
		w := x.worker()
		servers.Go(func() {
			expect.Succeeded(t, w.work(t.Context()))
		})
	}
	servers.Wait()
	x.work() // what one server left to another that had already stopped
	events := r.took()
	expect.Equal(t, 300, len(events), "requests")
	wantOrdered(t, events)
	expect.Equal(t, 300, x.hook(hook.ID).position, "position")
}

// wantOrdered checks that no entry of a record came after a later one, except repetitions of the latest.
func wantOrdered(t *testing.T, events []event) {
	t.Helper()
	last := map[string]int64{}
	for _, e := range events {
		if e.entry.Number < last[e.record()] {
			t.Errorf("%s: entry %d after %d", e.record(), e.entry.Number, last[e.record()])
		}
		last[e.record()] = e.entry.Number
	}
}

// TestNothingIsLostWhereverAServerDies lets a server die at each of its statements, before the database has
// it and before the answer arrives. Another server then delivers the rest: each entry at least once, in
// order for each record.
func TestNothingIsLostWhereverAServerDies(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"before the database has it": true, "before the answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, r, hook := newDelivery(t)
			for n := 0; ; n++ {
				first := x.number
				x.enter(booking(1), booking(2), booking(1))
				died := x.dieAt(n, lost)
				x.Pass(claimTime + recoverEvery)
				for range 3 { // receivers cannot fail here, but claims can
					x.work()
					x.Pass(claimTime + recoverEvery)
				}
				events := r.took()
				wantOrdered(t, events)
				got := map[int64]bool{}
				for _, number := range numbers(events) {
					got[number] = true
				}
				if !got[first+1] || !got[first+2] || !got[first+3] || len(got) != 3 {
					t.Errorf("statement %d: entries %v, want all from %d", n, numbers(events), first+1)
				}
				for _, d := range x.deliveries(hook.ID) {
					expect.Equal(t, delivered, d.State, "statement ", n, ": ", d)
				}
				if !died {
					if n < 12 {
						t.Errorf("only %d statements", n)
					}
					return
				}
			}
		})
	}
}

// TestNothingIsSentWithoutAClaim: a server that failed to claim deliveries does not send them, because
// another may have sent later entries of the same record.
func TestNothingIsSentWithoutAClaim(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	x.add(r, "*")
	x.enter(booking(1))
	dsn, proxy := fixtures.NewFaultProxy(t, x.database.DSN, fixtures.Fault{On: "tries + 1", Lost: true})
	w := x.workerOn(wpdbtest.OpenDSN(t, dsn, x.database.Prefix, 1))
	if _, err := w.round(t.Context(), t.Context()); err == nil || proxy.Pending() > 0 {
		t.Fatalf("the claim did not fail: %v", err)
	}
	for ; w.total > 0; w.total-- {
		<-w.results
	}
	expect.Empty(t, r.took(), "entries were sent")
	x.work()
	expect.Equal(t, 1, len(r.took()), "entries sent by another server")
}

// dieAt runs a server that dies at its n-th statement. It reports whether there was such a statement.
func (x *exchange) dieAt(n int, lost bool) bool {
	x.t.Helper()
	dsn, proxy := fixtures.NewFaultProxy(x.t, x.database.DSN)
	w := x.workerOn(wpdbtest.OpenDSN(x.t, dsn, x.database.Prefix, 1))
	proxy.Arm(fixtures.Fault{Skip: n, Lost: lost})
	// The first error is its death: it runs no further statement.
	for more, dead := true, false; !dead && (more || w.total > 0 || len(w.finished) > 0); {
		var err error
		more, err = w.round(x.t.Context(), x.t.Context())
		if dead = err != nil || proxy.Pending() == 0; !dead && w.total > 0 {
			w.collect(<-w.results)
		}
	}
	for ; w.total > 0; w.total-- { // requests that were in progress
		<-w.results
	}
	return proxy.Disarm() == 0
}

func TestKeyEndsItsWebhooks(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	newKey := func(permissions ...string) keys.Key {
		_, key, err := x.keys.Create(t.Context(), keys.NewKey{Name: "k", Kind: keys.Live, Permissions: permissions})
		expect.NoError(t, err)
		return key
	}
	key := newKey("write_webhooks", "read_changes", "read_bookings", "read_orders")
	_, hook := x.addHook(x.store.OwnedBy(key.ID), NewHook{URL: r.URL, Filter: HookFilter{Events: []string{"*"}}, Private: true})
	invoice := change{journal.Invoices, 4, journal.Created, journal.BookingFacts{}}
	customer := change{journal.Customers, 5, journal.Created, journal.BookingFacts{}}
	x.enter(booking(1), invoice, customer)
	x.work()
	expect.Equal(t, []string{"booking.updated", "invoice.created"}, sorted(r.types()), "events")
	r.answer(http.StatusInternalServerError)
	x.enter(booking(2))
	x.work()
	r.took()
	r.answer(http.StatusOK)
	_, _, err := x.keys.Restrict(t.Context(), key.ID, keys.Patch{Permissions: []string{"write_webhooks", "read_changes", "read_orders"}})
	expect.NoError(t, err)
	x.enter(booking(3), invoice)
	x.Pass(time.Hour)
	x.work()
	expect.Equal(t, []string{"invoice.created"}, r.types(), "events of the restricted key")
	_, err = x.keys.Revoke(t.Context(), key.ID)
	expect.NoError(t, err)
	x.enter(invoice)
	x.work()
	expect.Empty(t, r.types(), "events of the revoked key")
	if h := x.hook(hook.ID); h.Status != Disabled || h.Reason != "its API key is revoked" {
		t.Errorf("webhook %+v", h)
	}
}

// TestWebhookEndsWithItsPermissions: a webhook whose key may no longer read what it lists is disabled with the reason,
// and sends nothing that waits.
func TestWebhookEndsWithItsPermissions(t *testing.T) {
	t.Parallel()
	all := []string{"write_webhooks", "read_changes", "read_bookings", "read_customers"}
	without := func(lost string) keys.Patch {
		return keys.Patch{Permissions: slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == lost })}
	}
	for name, c := range map[string]struct {
		change keys.Patch
		reason string
	}{
		"changes":   {without("read_changes"), "its API key lacks the permission read_changes"},
		"webhooks":  {without("write_webhooks"), "its API key lacks the permission write_webhooks"},
		"customers": {without("read_customers"), "its API key lacks the permission read_customers"},
		"limited":   {keys.Patch{Agents: &[]int64{1}}, "its API key is limited, and cannot use the permission read_customers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, r := newExchange(t), newReceiver(t)
			_, key, err := x.keys.Create(t.Context(), keys.NewKey{Name: "k", Kind: keys.Live, Permissions: all})
			expect.NoError(t, err)
			_, hook := x.addHook(x.store.OwnedBy(key.ID), NewHook{URL: r.URL, Filter: HookFilter{Events: []string{"booking.*", "customer.created"}}, Private: true})
			r.answer(http.StatusInternalServerError)
			x.enter(booking(1))
			x.work()
			if r.took(); x.hook(hook.ID).Status != Enabled {
				t.Fatal("the webhook is disabled at once")
			}
			r.answer(http.StatusOK)
			_, _, err = x.keys.Restrict(t.Context(), key.ID, c.change)
			expect.NoError(t, err)
			x.enter(booking(2))
			x.Pass(time.Hour)
			x.work()
			expect.Empty(t, r.types(), "events")
			if h := x.hook(hook.ID); h.Status != Disabled || h.Reason != c.reason {
				t.Errorf("webhook %s, %q", h.Status, h.Reason)
			}
			_, _, err = x.keys.Restrict(t.Context(), key.ID, keys.Patch{Permissions: all, Agents: &[]int64{}})
			expect.NoError(t, err)
			_, err = x.store.Enable(t.Context(), hook.ID, false)
			expect.NoError(t, err)
			x.work()
			expect.Equal(t, 2, len(r.types()), "enabled again")
		})
	}
}

// TestTheScopeHoldsForWaitingDeliveries: a key that is limited while deliveries wait gets only those that
// it still sees, and no record of the others.
func TestTheScopeHoldsForWaitingDeliveries(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	_, key, err := x.keys.Create(t.Context(), keys.NewKey{Name: "k", Kind: keys.Live, Permissions: []string{"write_webhooks", "read_changes", "read_bookings"}})
	expect.NoError(t, err)
	_, hook := x.addHook(x.store.OwnedBy(key.ID), NewHook{URL: r.URL, Filter: HookFilter{Events: []string{"*"}}, Private: true})
	of := func(agent int64) change {
		return change{journal.Bookings, 10 + agent, journal.Updated, journal.BookingFacts{Assignment: journal.Assignment{AgentID: agent}}}
	}
	r.answer(http.StatusInternalServerError)
	x.enter(of(1), of(2))
	x.work()
	r.took()
	r.answer(http.StatusOK)
	_, _, err = x.keys.Restrict(t.Context(), key.ID, keys.Patch{Agents: &[]int64{2}})
	expect.NoError(t, err)
	x.Pass(time.Hour)
	x.work()
	wantNumbers(t, r, 2)
	for _, d := range x.deliveries(hook.ID) {
		if want := map[int64]string{1: failed, 2: delivered}[d.Number]; d.State != want {
			t.Errorf("delivery %+v, want it %s", d, want)
		}
	}
	expect.Equal(t, Enabled, x.hook(hook.ID).Status, "webhook")
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func TestKeySeesOnlyItsWebhooks(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	_, operators := x.add(r, "*")
	owned := x.store.OwnedBy(7)
	_, hook := x.addHook(owned, NewHook{URL: r.URL, Filter: HookFilter{Events: []string{"*"}}})
	list, err := owned.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != hook.ID || list[0].KeyID != 7 {
		t.Errorf("list %+v, error %v", list, err)
	}
	for name, act := range map[string]func(id int64) (bool, error){
		"find":    func(id int64) (bool, error) { _, found, err := owned.Find(t.Context(), id); return found, err },
		"disable": func(id int64) (bool, error) { return owned.Disable(t.Context(), id, "") },
		"enable":  func(id int64) (bool, error) { return owned.Enable(t.Context(), id, false) },
		"rotate":  func(id int64) (bool, error) { _, found, err := owned.Rotate(t.Context(), id, 0); return found, err },
		"replay":  func(id int64) (bool, error) { return owned.ReplaySince(t.Context(), id, x.Now()) },
		"update": func(id int64) (bool, error) {
			return owned.Update(t.Context(), Hook{ID: id}, HookPatch{Name: new("x")})
		},
	} {
		if found, err := act(operators.ID); err != nil || found {
			t.Errorf("%s another's: found %v, error %v", name, found, err)
		}
		if found, err := act(hook.ID); err != nil || !found {
			t.Errorf("%s its own: found %v, error %v", name, found, err)
		}
	}
	if found, err := owned.Delete(t.Context(), operators.ID); err != nil || found {
		t.Errorf("delete another's: found %v, error %v", found, err)
	}
	if all, err := x.store.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("all: %+v, error %v", all, err)
	}
}

func TestRecordIsSentWhereAsked(t *testing.T) {
	t.Parallel()
	x, thin, full := newExchange(t), newReceiver(t), newReceiver(t)
	x.options.Record = func(_ context.Context, keyID int64, _ HookFilter, resource journal.Resource, id int64) (json.RawMessage, bool, error) {
		switch id {
		case 3:
			return nil, false, nil
		case 4:
			return nil, false, errors.New("cannot be read")
		case 5:
			return nil, false, ErrTooLarge
		case 6:
			return json.RawMessage(`"` + strings.Repeat("a", maxRecord) + `"`), true, nil
		default:
			return json.RawMessage(fmt.Sprintf(`{"id":"%d","of":%q,"key":%d}`, id, resource, keyID)), true, nil
		}
	}
	x.add(thin, "*")
	_, hook := x.addHook(x.store, NewHook{URL: full.URL, Filter: HookFilter{Events: []string{"*"}}, Private: true, Record: true})
	x.enter(booking(2), booking(3), booking(5), booking(6), booking(4))
	x.work()
	for _, e := range thin.took() {
		if bytes.Contains(e.Data, []byte("record")) {
			t.Errorf("data %s", e.Data)
		}
	}
	got := map[int64]string{}
	for _, e := range full.took() {
		var data struct {
			Record json.RawMessage `json:"record"`
		}
		expect.Succeeded(t, json.Unmarshal(e.Data, &data))
		got[e.entry.ResourceID] = string(data.Record)
	}
	expect.Equal(t, map[int64]string{2: `{"id":"2","of":"bookings","key":0}`, 3: "null", 5: "", 6: ""}, got, "records")
	// A record that cannot be read is not the receiver's fault.
	if d, h := x.deliveries(hook.ID)[0], x.hook(hook.ID); d.State != waiting || h.FailingSince != "" || !strings.HasPrefix(d.Failure, "the record could not be read") {
		t.Errorf("delivery %+v, failing since %q", d, h.FailingSince)
	}
}

func TestRotationSignsWithBothSecrets(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	old, hook := x.add(r, "*")
	fresh, found, err := x.store.Rotate(t.Context(), hook.ID, time.Hour)
	if err != nil || !found || fresh == old {
		t.Fatal(fresh, found, err)
	}
	verify := func(step string, want map[string]bool) {
		t.Helper()
		x.enter(booking(1))
		x.work()
		for _, e := range r.took() {
			for secret, valid := range want {
				verifier, err := standardwebhooks.NewWebhook(secret)
				if err == nil {
					err = verifier.VerifyIgnoringTimestamp(e.body, e.header)
				}
				expect.Equal(t, valid, err == nil, step, ": ", e.header.Get("webhook-signature"), ": ", err)
			}
		}
	}
	verify("during the rotation", map[string]bool{old: true, fresh: true})
	x.Pass(time.Hour)
	verify("after the rotation", map[string]bool{old: false, fresh: true})
	newest, _, err := x.store.Rotate(t.Context(), hook.ID, 0)
	expect.NoError(t, err)
	verify("after an immediate rotation", map[string]bool{fresh: false, newest: true})
}

func TestSecretsAreEncryptedWithAKey(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	stored := func() []string {
		var all []string
		for column := range 2 {
			all = append(all, value[string](x, "SELECT "+[]string{"secret", "old_secret"}[column]+" FROM wp_bookside_webhooks WHERE id = 1"))
		}
		return all
	}
	first, hook := x.add(r, "*")
	second, _, err := x.store.Rotate(t.Context(), hook.ID, time.Hour)
	expect.NoError(t, err)
	expect.Equal(t, []string{second, first}, stored(), "without a key")
	if x.vault, err = NewVault(strings.Repeat("k", 32)); err != nil {
		t.Fatal(err)
	}
	keyed := x.storeOn(x.db)
	if n, err := keyed.Seal(t.Context()); err != nil || n != 0 {
		t.Errorf("%d unreadable, error %v", n, err)
	}
	for i, text := range stored() {
		if !strings.HasPrefix(text, "gcm_") || strings.Contains(text, []string{second, first}[i][6:]) {
			t.Errorf("stored as %q", text)
		}
	}
	secrets, err := keyed.secrets(x.hook(hook.ID))
	if diff := cmp.Diff([]string{second, first}, secrets); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	third, _, err := keyed.Rotate(t.Context(), hook.ID, time.Hour)
	if err != nil || strings.Contains(stored()[0], third[6:]) {
		t.Errorf("rotated: %v, error %v", stored(), err)
	}
	for name, key := range map[string]string{"no key": "", "another key": strings.Repeat("x", 32)} {
		vault, err := NewVault(key)
		expect.NoError(t, err)
		other := NewHookStore(x.db, x.Now, keyed.random, vault, keyed.journal)
		if _, err := other.secrets(x.hook(hook.ID)); !errors.Is(err, errSealed) {
			t.Errorf("%s: error %v", name, err)
		}
		if n, err := other.Seal(t.Context()); err != nil || n != 1 {
			t.Errorf("%s: %d unreadable, error %v", name, n, err)
		}
	}
	if _, err := NewVault("short"); err == nil {
		t.Error("a short key is accepted")
	}
	// A delivery whose secret cannot be read reports that, and waits.
	x.vault = Vault{}
	x.enter(booking(1))
	x.work()
	if d := x.deliveries(hook.ID)[0]; d.State != waiting || !strings.Contains(d.Failure, "webhooks.secret_key") {
		t.Errorf("delivery %+v", d)
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	x.enter(booking(1), booking(2))
	x.Pass(time.Hour)
	between := x.Now()
	x.enter(booking(1), booking(3))
	x.work()
	ids := map[int64]string{}
	for _, e := range r.took() {
		ids[e.entry.Number] = e.id
	}
	if found, err := x.store.Replay(t.Context(), hook.ID, x.deliveries(hook.ID)[3].ID); err != nil || !found {
		t.Fatal(found, err)
	}
	x.work()
	wantNumbers(t, r, 1)
	if found, err := x.store.ReplaySince(t.Context(), hook.ID, between); err != nil || !found {
		t.Fatal(found, err)
	}
	x.work()
	events := r.took()
	for _, e := range events {
		expect.Equal(t, ids[e.entry.Number], e.id, "entry ", e.entry.Number, ": id")
	}
	if got := numbers(events); len(got) != 2 || !slices.Contains(got, 3) || !slices.Contains(got, 4) {
		t.Errorf("entries %v, want 3 and 4", got)
	}
	expect.Equal(t, 7, len(x.tries(hook.ID)), "tries in the log")
	for name, ids := range map[string][2]int64{"another webhook's delivery": {hook.ID + 1, 1}, "no delivery": {hook.ID, 99}} {
		if found, err := x.store.Replay(t.Context(), ids[0], ids[1]); err != nil || found {
			t.Errorf("%s: found %v, error %v", name, found, err)
		}
	}
	x.exec("UPDATE wp_bookside_webhook_deliveries SET status = 'sending' WHERE id = 1")
	if _, err := x.store.Replay(t.Context(), hook.ID, 1); !errors.Is(err, ErrSending) {
		t.Errorf("while it is sent: error %v", err)
	}
}

// TestBacklogStaysInTheJournal: entries become deliveries only as fast as they are sent.
func TestBacklogStaysInTheJournal(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	x.exec("INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, origin, at) SELECT seq, 'bookings', seq, 'updated', 'found', '2026-11-21 09:00:00' FROM " +
		"(SELECT a.d + 10*b.d + 100*c.d + 1 AS seq FROM " + digits("a") + " JOIN " + digits("b") + " JOIN " + digits("c") + ") AS numbers")
	x.number = 999
	x.enter() // moves the end to 999; 1000 is not committed yet
	r.answer(http.StatusInternalServerError)
	w := x.worker()
	w.waiting = 150
	for range 80 {
		expect.NoError(t, w.work(t.Context()))
		x.Pass(10 * time.Second)
	}
	most := value[int64](x, "SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE webhook_id = ? AND status <> 'failed'", hook.ID)
	if most > w.waiting+pageSize {
		t.Errorf("%d deliveries wait", most)
	}
	if untried := value[int](x, "SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE tries = 0"); untried > pageSize {
		t.Errorf("%d deliveries were never tried", untried)
	}
}

func digits(alias string) string {
	return "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS " + alias
}

func TestEntriesOfNoInterestMoveThePosition(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	_, hook := x.add(r, "coupon.created")
	for range 20 {
		x.enter(slices.Repeat([]change{booking(1)}, 75)...)
	}
	w := x.worker()
	expect.NoError(t, w.work(t.Context()))
	if p := x.hook(hook.ID).position; p < maxSkipped {
		t.Errorf("position %d", p)
	}
	x.enter(change{journal.Coupons, 1, journal.Created, journal.BookingFacts{}})
	expect.NoError(t, w.work(t.Context()))
	wantNumbers(t, r, 1501)
	expect.Equal(t, 1501, x.hook(hook.ID).position, "position")
}

func TestTestIsSentOnce(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	_, hook := x.add(r, "coupon.*")
	try, found, err := x.worker().TestNow(t.Context(), hook.ID)
	if err != nil || !found || try.Status != 204 || try.Failure != "" {
		t.Errorf("try %+v, found %v, error %v", try, found, err)
	}
	if events := r.took(); len(events) != 1 || string(events[0].Data) != `{"webhook_id":1}` || events[0].Type != TestEvent {
		t.Errorf("events %v", events)
	}
	r.answer(http.StatusBadRequest)
	_, err = x.store.Test(t.Context(), hook.ID)
	expect.NoError(t, err)
	x.work()
	if d := x.deliveries(hook.ID)[0]; d.State != failed || d.Tries != 1 {
		t.Errorf("delivery %+v", d)
	}
	expect.Equal(t, "", x.hook(hook.ID).FailingSince, "failures after a failed test")
	if _, found, err := x.worker().TestNow(t.Context(), 99); err != nil || found {
		t.Errorf("no webhook: found %v, error %v", found, err)
	}
}

func TestDeletedWebhookStops(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	x.enter(booking(1))
	x.work()
	r.took()
	if found, err := x.store.Delete(t.Context(), hook.ID); err != nil || !found {
		t.Fatal(found, err)
	}
	expect.Equal(t, "", value[string](x, "SELECT CONCAT(secret, old_secret, url) FROM wp_bookside_webhooks"), "kept of a deleted webhook")
	x.enter(booking(2))
	x.work()
	wantNumbers(t, r)
	if found, err := x.store.Delete(t.Context(), hook.ID); err != nil || found {
		t.Errorf("deleted twice: found %v, error %v", found, err)
	}
}

// TestNothingSecretIsLogged: neither secrets nor the query of the URL reach the log.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	x, r := newExchange(t), newReceiver(t)
	secret, hook := x.addHook(x.store, NewHook{URL: r.URL + "/?token=hush", Filter: HookFilter{Events: []string{"*"}}, Private: true})
	x.enter(booking(1))
	r.Close()
	w := x.worker()
	w.log = slog.New(slog.NewTextHandler(x.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	expect.NoError(t, w.work(t.Context()))
	logged := x.log.String() + fmt.Sprint(x.deliveries(hook.ID), x.tries(hook.ID))
	if strings.Contains(logged, "hush") || strings.Contains(logged, secret) || !strings.Contains(logged, "connection refused") {
		t.Error(logged)
	}
}

// TestOldRowsAreSelected: the log is kept for thirty days, and that of a deleted webhook not at all.
func TestOldRowsAreSelected(t *testing.T) {
	t.Parallel()
	x, r, hook := newDelivery(t)
	_, other := x.add(r, "booking.created")
	x.enter(booking(1))
	x.work()
	r.answer(http.StatusInternalServerError)
	x.enter(booking(2)) // waits for its next try
	x.work()
	old := func(step string, want string) {
		t.Helper()
		var got []string
		for _, rows := range OldDeliveries(x.db, x.Now()) {
			ids, err := wpdb.All(t.Context(), x.db, "find old rows", rows.Which.Limit(100), wpdb.Value[int64])
			expect.NoError(t, err)
			for _, id := range ids {
				got = append(got, fmt.Sprint(strings.TrimPrefix(string(rows.Table), "bookside_"), " ", id))
				x.exec("DELETE FROM wp_"+string(rows.Table)+" WHERE id = ?", id)
			}
		}
		expect.Equal(t, want, strings.Join(got, ", "), step, ": ", got)
	}
	x.Pass(Retention - time.Second)
	old("before their time", "")
	x.Pass(time.Second)
	old("after thirty days", "webhook_tries 1, webhook_tries 2, webhook_deliveries 1")
	x.work()
	_, err := x.store.Delete(t.Context(), hook.ID)
	expect.NoError(t, err)
	old("deleted", "webhook_tries 3, webhook_deliveries 2, webhooks 1")
	if list, err := x.store.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("webhooks %+v, error %v", list, err)
	}
}
