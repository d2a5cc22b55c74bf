package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// killedSite is a site with an extension that is told about changes, and a server that is killed again and again.
type killedSite struct {
	*toldSite
	server  process
	repeats int
}

// TestCompanionTellsExtensionsOnce: whenever the server is killed, extensions get each of LatePoint's actions once, with the values
// of the rows.
func TestCompanionTellsExtensionsOnce(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	k := &killedSite{toldSite: &toldSite{bookingSite: newBookingSite(t, fixtures.NewWordPressWithPlatform(t, db), db)}}
	expect.NoError(t, k.s.stop())
	writeBelow(t, k.Content, map[string]string{"plugins/listener/listener.php": string(readFile(t, "testdata/listener.php"))})
	k.Activate(t, "listener/listener.php")
	k.wordpress = k.ServeByWorkers(t, 2)
	k.visit()
	k.restart()

	k.afterAnswer()
	k.beforeAnswer()
	k.whileTold()
}

// restart starts the server, in place of the one that was killed.
func (k *killedSite) restart() {
	k.t.Helper()
	k.server = startProcess(k.t, settingsFor(k.db, "BOOKSIDE_WORDPRESS__LOOPBACK="+k.wordpress.URL))
	k.s = &testServer{t: k.t, stderr: k.server.stderr, url: k.server.url}
}

func (k *killedSite) kill() {
	k.t.Helper()
	expect.NoError(k.t, k.server.Process.Kill())
	_ = k.server.Wait() // it was killed
}

// change sends a request, kills the server after its answer, and returns the calls that its successor has made.
func (k *killedSite) change(method, path, body string, want int, actions ...string) (id json.Number, calls []call) {
	k.t.Helper()
	request := k.request(method, path, body)
	request.Header.Set("If-Match", "*")
	status, text, err := sendOnce(request)
	k.kill()
	k.restart()
	var answer struct{ Data struct{ ID json.Number } }
	if err != nil || status != want || json.Unmarshal([]byte(text), &answer) != nil {
		k.t.Fatal(method, path, body, status, text, err)
	}
	return answer.Data.ID, k.calls(actions...)
}

// values returns columns of the models, or old values, that an action got.
func (c call) values(columns ...string) (found [][]any) {
	for _, argument := range c.Arguments {
		model, ok := argument.(map[string]any)
		if !ok {
			found = append(found, []any{argument})
			continue
		}
		var values []any
		for _, column := range columns {
			values = append(values, model[column])
		}
		found = append(found, values)
	}
	return found
}

// afterAnswer: the server dies as soon as it has answered.
func (k *killedSite) afterAnswer() {
	t := k.t
	t.Helper()
	wants := func(c call, want [][]any, columns ...string) {
		t.Helper()
		expect.Equal(t, want, c.values(columns...), c.Action)
	}
	text := func(query string) string { t.Helper(); return k.text(query) }
	id, calls := k.change(http.MethodPost, "/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer":{"first_name":"Ada","last_name":"Neu","email":"ada.neu@example.test"},
		"start_date":%q,"start_time":"09:00"}`, k.bookday), http.StatusCreated, "customer_created", "booking_created", "order_created")
	booking := id.String()
	customer := text("SELECT customer_id FROM {p}bookings WHERE id = " + booking)
	order := text("SELECT i.order_id FROM {p}bookings b JOIN {p}order_items i ON i.id = b.order_item_id WHERE b.id = " + booking)
	wants(calls[0], [][]any{{customer, "Ada", "ada.neu@example.test"}}, "id", "first_name", "email")
	wants(calls[1], [][]any{{booking, "540", "approved", "1", "15"}}, "id", "start_time", "status", "agent_id", "duration")
	wants(calls[2], [][]any{{order, customer, text("SELECT total FROM {p}orders WHERE id = " + order)}}, "id", "customer_id", "total")

	_, calls = k.change(http.MethodPut, "/bookings/"+booking, `{"start_time":"13:00","agent_id":2}`, http.StatusOK, "booking_updated")
	wants(calls[0], [][]any{{booking, "780", "2", "approved"}, {booking, "540", "1", "approved"}}, "id", "start_time", "agent_id", "status")
	_, calls = k.change(http.MethodPut, "/bookings/"+booking, `{"status":"cancelled"}`, http.StatusOK, "booking_updated", "booking_change_status")
	for _, c := range calls {
		wants(c, [][]any{{booking, "cancelled", "780"}, {booking, "approved", "780"}}, "id", "status", "start_time")
	}
	_, calls = k.change(http.MethodPut, "/customers/"+customer, `{"first_name":"Lise"}`, http.StatusOK, "customer_updated")
	wants(calls[0], [][]any{{"Lise", "Neu"}, {"Ada", "Neu"}}, "first_name", "last_name")
	_, calls = k.change(http.MethodPut, "/orders/"+order, `{"customer_comment":"Later"}`, http.StatusOK, "order_updated")
	wants(calls[0], [][]any{{order, "Later"}, {order, text("SELECT ''")}}, "id", "customer_comment")
	id, calls = k.change(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":"12.50"}`, http.StatusCreated, "transaction_created", "order_updated")
	wants(calls[0], [][]any{{id.String(), order, "12.5000"}}, "id", "order_id", "amount")
	wants(calls[1], [][]any{{"partially_paid"}, {"not_paid"}}, "payment_status")
	code := text("SELECT booking_code FROM {p}bookings WHERE id = " + booking)
	_, calls = k.change(http.MethodDelete, "/bookings/"+booking, "", http.StatusOK, "booking_will_be_deleted", "booking_deleted")
	wants(calls[0], [][]any{{calls[1].Arguments[0]}, {code}})
	expect.Equal(t, booking, fmt.Sprint(calls[1].Arguments[0]), "deleted booking")
}

// beforeAnswer: a client repeats requests that the server was killed in, until one is answered.
func (k *killedSite) beforeAnswer() {
	t := k.t
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var want []string
	ids := map[string]bool{}
	for i := range 6 {
		killed := make(chan bool)
		for try := 0; ; try++ {
			request := k.request(http.MethodPost, "/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer_id":1,"start_date":%q,"start_time":"%02d:00"}`, k.bookday, 10+i))
			request.Header.Set("Idempotency-Key", fmt.Sprint("booking ", i))
			if try == 0 {
				pause := time.Duration(random.IntN(25)) * time.Millisecond
				go func() {
					time.Sleep(pause)
					_ = k.server.Process.Kill() // Wait returns the error
					close(killed)
				}()
			}
			status, text, err := sendOnce(request)
			if try == 0 {
				<-killed
				_ = k.server.Wait() // it was killed
				k.restart()
				k.execute(k.db.SQL, "UPDATE {own}idempotency SET claimed_until = created_at") // lets the claim of the dead server run out
			}
			if again := err != nil || strings.Contains(text, "idempotency_in_progress"); again && try < 600 { // the database has to notice that a client is gone
				time.Sleep(20 * time.Millisecond)
				continue
			}
			var answer struct{ Data struct{ ID json.Number } }
			if err != nil || status != http.StatusCreated || json.Unmarshal([]byte(text), &answer) != nil {
				t.Fatal(status, text, err)
			}
			k.repeats += try
			ids[answer.Data.ID.String()] = true
			want = append(want, "booking_created", "order_created")
			break
		}
	}
	if len(ids) != 6 || k.number(fmt.Sprintf("SELECT COUNT(*) FROM {p}bookings WHERE start_date = '%s' AND start_time >= 600", k.bookday)) != 6 {
		t.Errorf("bookings %v", ids)
	}
	for _, c := range k.calls(want...) {
		if id := fmt.Sprint(c.values("id")[0][0]); c.Action == "booking_created" && !ids[id] {
			t.Errorf("booking %s was told twice, or is unknown", id)
		} else if c.Action == "booking_created" {
			delete(ids, id)
		}
	}
	t.Logf("repeated %d times", k.repeats)
}

// whileTold: an extension is still busy when the server dies, and then PHP dies too.
func (k *killedSite) whileTold() {
	t := k.t
	t.Helper()
	book := func(time string) {
		t.Helper()
		k.create("/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":2,"location_id":1,"customer_id":1,"start_date":%q,"start_time":%q}`, k.bookday, time))
		k.s.eventually("an extension that is told", func() bool { return len(k.told()) > k.read })
	}
	gate := filepath.Join(k.Content, "listener-waits")
	hold := func() {
		t.Helper()
		expect.NoError(t, os.WriteFile(gate, nil, 0o600))
	}
	open := func() {
		t.Helper()
		expect.NoError(t, os.Remove(gate))
	}
	hold()
	book("10:00")
	k.kill()
	k.restart()
	k.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Lise"}`) // the new server asks, too
	open()
	k.calls("booking_created", "order_created", "customer_updated")

	hold()
	book("11:00")
	k.kill()
	k.wordpress.KillWorkers(t)
	open()
	k.restart()
	again := k.calls("booking_created", "booking_updated", "order_created")
	expect.Equal(t, again[0].values("id")[:1], again[1].values("id")[:1], "the booking that was created, and the one that was updated")
}
