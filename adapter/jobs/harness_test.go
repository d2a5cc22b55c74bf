package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// exchange is a site with webhooks, a journal that a test fills, and receivers.
type exchange struct {
	t        *testing.T
	database *fixtures.Database
	db       *wpdb.DB
	log      *fixtures.Buffer
	vault    Vault
	store    *HookStore
	keys     *keys.Store
	options  WorkerOptions
	*fixtures.Clock

	number int64 // of the last entry
}

func newExchange(t *testing.T) *exchange {
	t.Helper()
	x := &exchange{t: t, database: fixtures.New(t, fixtures.Legacy()), log: &fixtures.Buffer{}, Clock: fixtures.NewClock(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))}
	x.db = wpdbtest.Open(t, x.database, 4)
	x.options = WorkerOptions{Encode: encodeEntry}
	x.store, x.keys = x.storeOn(x.db), keys.NewStore(x.db, x.Now, rand.Reader)
	return x
}

func (x *exchange) storeOn(db *wpdb.DB) *HookStore {
	return NewHookStore(db, x.Now, rand.Reader, x.vault, journal.New(db, x.Now))
}

func encodeEntry(e journal.Entry) ([]byte, error) {
	return fmt.Appendf(nil, `{"number":%d,"resource":%q,"resource_id":%d,"kind":%q}`, e.Number, e.Resource, e.ID, e.Kind), nil
}

// worker returns the worker of another server.
func (x *exchange) worker() *Worker { return x.workerOn(x.db) }

func (x *exchange) workerOn(db *wpdb.DB) *Worker {
	return NewWorker(x.storeOn(db), keys.NewStore(db, x.Now, rand.Reader), slog.New(slog.NewTextHandler(x.log, nil)), x.options)
}

// work runs a worker until nothing is left to do at this time.
func (w *Worker) work(ctx context.Context) error {
	for {
		more, err := w.round(ctx, ctx)
		if err != nil {
			return err
		}
		if w.total > 0 {
			w.collect(<-w.results)
			continue
		}
		if !more && len(w.finished) == 0 {
			return nil
		}
	}
}

func (x *exchange) work() {
	x.t.Helper()
	expect.NoError(x.t, x.worker().work(x.t.Context()))
}

// change is an entry of the journal.
type change struct {
	resource journal.Resource
	id       int64
	kind     journal.Kind
	facts    journal.BookingFacts
}

func booking(id int64) change {
	return change{journal.Bookings, id, journal.Updated, journal.BookingFacts{}}
}

// enter adds entries to the journal.
func (x *exchange) enter(changes ...change) {
	x.t.Helper()
	prefix := x.db.Prefix()
	for _, c := range changes {
		x.number++
		x.exec("INSERT INTO "+prefix+"bookside_changes (number, resource, resource_id, kind, origin, at, old_status, new_status, agent_id, service_id, location_id) "+
			"VALUES (?, ?, ?, ?, 'found', ?, ?, ?, ?, ?, ?)", x.number, string(c.resource), c.id, string(c.kind), x.Now().Format(time.DateTime),
			wpdb.NullIfZero(c.facts.OldStatus), wpdb.NullIfZero(c.facts.NewStatus), wpdb.NullIfZero(c.facts.AgentID), wpdb.NullIfZero(c.facts.ServiceID), wpdb.NullIfZero(c.facts.LocationID))
	}
	x.exec("INSERT INTO "+prefix+"bookside_change_positions (name, position) VALUES ('journal', ?) ON DUPLICATE KEY UPDATE position = VALUES(position)", x.number)
}

func (x *exchange) exec(statement string, args ...any) {
	x.t.Helper()
	_, err := x.database.SQL.ExecContext(x.t.Context(), statement, args...)
	expect.NoError(x.t, err)
}

// value reads a value from the database.
func value[T any](x *exchange, query string, args ...any) (v T) {
	x.t.Helper()
	if err := x.database.SQL.QueryRowContext(x.t.Context(), query, args...).Scan(&v); err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
	return v
}

// event is a request that a receiver received.
type event struct {
	id     string
	header http.Header
	body   []byte
	Type   string          `json:"type"`
	At     time.Time       `json:"timestamp"`
	Data   json.RawMessage `json:"data"`
	entry  struct {
		Number     int64  `json:"number"`
		Resource   string `json:"resource"`
		ResourceID int64  `json:"resource_id"`
	}
}

// record identifies the record of an event.
func (e event) record() string { return fmt.Sprint(e.entry.Resource, " ", e.entry.ResourceID) }

// receiver is a receiver of events that answers as a test says.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	events []event
	reply  func(w http.ResponseWriter, e event) // nil answers 204
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		e := event{id: request.Header.Get(standardwebhooks.HeaderWebhookID), header: request.Header, body: body}
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err == nil {
			err = json.Unmarshal(e.Data, &e.entry)
		}
		if err != nil || request.Method != http.MethodPost {
			t.Errorf("%s with the body %q: %v", request.Method, body, err)
		}
		r.mu.Lock()
		r.events = append(r.events, e)
		reply := r.reply
		r.mu.Unlock()
		if reply == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		reply(w, e)
	}))
	t.Cleanup(r.Close)
	return r
}

// answer makes the receiver answer with a status from now on.
func (r *receiver) answer(status int) {
	r.answerBy(func(w http.ResponseWriter, _ event) { w.WriteHeader(status) })
}

func (r *receiver) answerBy(reply func(http.ResponseWriter, event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = reply
}

// took returns the events since the last call.
func (r *receiver) took() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// types returns the types of the events since the last call.
func (r *receiver) types() []string {
	types := []string{}
	for _, e := range r.took() {
		types = append(types, e.Type)
	}
	return types
}

// newDelivery returns an exchange with a webhook for all events.
func newDelivery(t *testing.T) (*exchange, *receiver, Hook) {
	t.Helper()
	x, r := newExchange(t), newReceiver(t)
	_, hook := x.add(r, "*")
	return x, r, hook
}

// add adds a webhook to a receiver and returns its secret.
func (x *exchange) add(r *receiver, events ...string) (secret string, hook Hook) {
	x.t.Helper()
	return x.addHook(x.store, NewHook{URL: r.URL, Filter: HookFilter{Events: events}, Private: true})
}

func (x *exchange) addHook(store *HookStore, n NewHook) (secret string, hook Hook) {
	x.t.Helper()
	secret, hook, err := store.Add(x.t.Context(), n)
	expect.NoError(x.t, err)
	return secret, hook
}

// hook reads a webhook.
func (x *exchange) hook(id int64) Hook {
	x.t.Helper()
	h, found, err := x.store.Find(x.t.Context(), id)
	if err != nil || !found {
		x.t.Fatalf("webhook %d: found %v, error %v", id, found, err)
	}
	return h
}

// deliveries reads the deliveries of a webhook, newest first.
func (x *exchange) deliveries(id int64) []Delivery {
	x.t.Helper()
	found, _, err := x.store.Deliveries(x.t.Context(), id, DeliveryFilter{Limit: 1000})
	expect.NoError(x.t, err)
	return found
}

// tries reads the tries of all deliveries of a webhook, in order.
func (x *exchange) tries(id int64) (all []Try) {
	x.t.Helper()
	deliveries := x.deliveries(id)
	found, err := x.store.Tries(x.t.Context(), deliveries)
	expect.NoError(x.t, err)
	for i := len(deliveries) - 1; i >= 0; i-- {
		all = append(all, found[deliveries[i].ID]...)
	}
	return all
}
