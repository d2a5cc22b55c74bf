package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	webhook "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Change is an entry of the journal, as the API and webhooks show it.
type Change struct {
	Number    int64  `json:"number"`
	Resource  string `json:"resource"`
	ID        int64  `json:"resource_id"`
	Kind      string `json:"kind"`
	Origin    string `json:"origin"`
	OldStatus string `json:"old_status"`
	NewStatus string `json:"new_status"`
}

// Record is the resource and the id of a record.
type Record struct {
	Resource string
	ID       int64
}

// Record returns the record that changed.
func (c Change) Record() Record { return Record{c.Resource, c.ID} }

type delivery struct {
	Record
	number int64
}

// Receiver receives webhooks. It checks their signatures, and that the changes of a record come in order;
// repeated ones may be late. Its tally counts "webhooks", "webhooks refused" and "webhooks again".
type Receiver struct {
	*Tally
	URL    string
	Close  func() error
	refuse func(id string) bool

	mu       sync.Mutex
	verifier *webhook.Webhook
	received map[delivery]bool
	last     map[Record]int64 // the last number received
}

// NewReceiver listens on a free port. It answers 500 to messages whose id refuse returns true for.
func NewReceiver(ctx context.Context, tally *Tally, refuse func(id string) bool) (*Receiver, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{Tally: tally, URL: "http://" + listener.Addr().String(), refuse: refuse, received: map[delivery]bool{}, last: map[Record]int64{}}
	server := &http.Server{Handler: http.HandlerFunc(r.receive), ReadHeaderTimeout: time.Minute}
	r.Close = server.Close
	go func() { _ = server.Serve(listener) }() // until Close
	return r, nil
}

// Verify sets the secret of the signatures, before the first webhook comes.
func (r *Receiver) Verify(secret string) error {
	verifier, err := webhook.NewWebhook(secret)
	if err != nil {
		return fmt.Errorf("secret of a webhook: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verifier = verifier
	return nil
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err != nil {
		return // the server was killed while sending
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.verifier == nil {
		w.WriteHeader(http.StatusInternalServerError) // it will come again
		return
	}
	if err := r.verifier.Verify(body, request.Header); err != nil {
		r.Problem("signature: %v", err)
	}
	var event struct{ Data Change }
	if err := json.Unmarshal(body, &event); err != nil {
		r.Problem("body %q: %v", body, err)
	}
	if r.refuse(request.Header.Get("Webhook-Id")) {
		r.Count("webhooks refused")
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	record, number := event.Data.Record(), event.Data.Number
	switch d := (delivery{record, number}); {
	case r.received[d]:
		r.Count("webhooks again")
	case number < r.last[record]:
		r.Problem("%s %d: %d was received first after %d", record.Resource, record.ID, number, r.last[record])
		fallthrough
	default:
		r.received[d] = true
		r.Count("webhooks")
	}
	r.last[record] = max(r.last[record], number)
	w.WriteHeader(http.StatusNoContent)
}

// Check notes a change that was not received as a problem.
func (r *Receiver) Check(c Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.received[delivery{c.Record(), c.Number}] {
		r.Problem("change %d of %s %d was not received", c.Number, c.Resource, c.ID)
	}
}
