// Command changes makes changes through the API and by plain SQL while servers and the
// database are killed, receives the webhooks about them, and compares.
//
//	KEY=lp_live_… SECRET=whsec_… changes -urls http://127.0.0.1:8091,http://127.0.0.1:8092 \
//	  -dsn 'root@unix(/tmp/x/socket)/site' -listen 127.0.0.1:9000 -duration 10m
//
// The receiver answers every second request with 500. Every change that was confirmed must
// be in the journal, every entry of the journal must be received, and those of one record
// in the order of their numbers.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	_ "github.com/go-sql-driver/mysql"
	webhook "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "changes:", err)
		os.Exit(1)
	}
}

func run() error {
	urls := flag.String("urls", "", "URLs of the servers, separated by commas")
	dsn := flag.String("dsn", "", "data source name of the database")
	listen := flag.String("listen", "127.0.0.1:9000", "address of the receiver")
	duration := flag.Duration("duration", time.Minute, "duration of the load")
	patience := flag.Duration("patience", 15*time.Minute, "how long to wait afterwards for everything to arrive")
	flag.Parse()
	verifier, err := webhook.NewWebhook(os.Getenv("SECRET"))
	if err != nil {
		return fmt.Errorf("SECRET: %w", err)
	}
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		return fmt.Errorf("open %s: %w", *dsn, err)
	}
	defer func() { _ = db.Close() }()
	t := &trial{urls: strings.Split(*urls, ","), key: os.Getenv("KEY"), db: db, verifier: verifier, received: map[entry]int{}, last: map[record]int64{},
		client: &http.Client{Timeout: 20 * time.Second}}
	receiver := &http.Server{Addr: *listen, Handler: http.HandlerFunc(t.receive), ReadHeaderTimeout: 10 * time.Second}
	go func() { t.problem(receiver.ListenAndServe()) }()
	defer func() { _ = receiver.Close() }()

	ctx, cancel := context.WithTimeout(context.Background(), *duration)
	defer cancel()
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() { t.writeByAPI(ctx) })
		writers.Go(func() { t.writeBySQL(ctx) })
	}
	writers.Wait()
	t.mu.Lock()
	t.reliable = true
	t.mu.Unlock()
	if err := t.settle(*patience); err != nil {
		return err
	}
	return t.compare()
}

type record struct {
	resource string
	id       int64
}

type entry struct {
	record
	number int64
}

// trial is shared by the writers and the receiver.
type trial struct {
	urls     []string
	key      string
	db       *sql.DB
	verifier *webhook.Webhook
	client   *http.Client

	mu        sync.Mutex
	reliable  bool // whether the receiver accepts everything
	requests  int
	refused   int
	received  map[entry]int
	last      map[record]int64 // the number received last
	confirmed []record         // created, by the API and by SQL
	updates   int
	problems  []string
}

func (t *trial) problem(err error) {
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems = append(t.problems, err.Error())
}

// receive answers every second request with 500, and notes the others.
func (t *trial) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return // the server was killed while it was sending
	}
	if err := t.verifier.Verify(body, r.Header); err != nil {
		t.problem(fmt.Errorf("signature: %w", err))
	}
	var event struct {
		Data struct {
			Number   int64  `json:"number"`
			Resource string `json:"resource"`
			ID       int64  `json:"resource_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		t.problem(fmt.Errorf("body %q: %w", body, err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	if !t.reliable && mathrand.N(2) == 0 {
		t.refused++
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	of := record{event.Data.Resource, event.Data.ID}
	key := entry{of, event.Data.Number}
	if t.received[key] == 0 && event.Data.Number < t.last[of] {
		t.problems = append(t.problems, fmt.Sprintf("%s %d: %d was received first after %d", of.resource, of.id, event.Data.Number, t.last[of]))
	}
	t.received[key]++
	t.last[of] = max(t.last[of], event.Data.Number)
	w.WriteHeader(http.StatusNoContent)
}

// pause lets the database recover after an error.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// writeByAPI creates customers and changes them.
func (t *trial) writeByAPI(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		url := t.urls[n%len(t.urls)] + "/v1/customers"
		id, err := t.send(http.MethodPost, url, fmt.Sprintf(`{"first_name":"A","last_name":"B","email":"%d.%d@example.test"}`, mathrand.Int64(), n))
		if err != nil {
			pause(ctx, 200*time.Millisecond)
			continue
		}
		t.note(record{"customers", id})
		for range 3 {
			if _, err := t.send(http.MethodPut, fmt.Sprint(url, "/", id), fmt.Sprintf(`{"notes":"%d"}`, mathrand.Int64())); err == nil {
				t.note(record{})
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// note counts a confirmed change; that of a new record by its id.
func (t *trial) note(created record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if created == (record{}) {
		t.updates++
		return
	}
	t.confirmed = append(t.confirmed, created)
}

func (t *trial) send(method, url, body string) (id int64, err error) {
	// Not the context of the load: a request that was sent is waited for.
	request, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-API-Key", t.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		return 0, cmp.Or(err, fmt.Errorf("status %d", response.StatusCode))
	}
	var written struct {
		Data struct {
			ID json.Number `json:"id"`
		} `json:"data"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	if err := decoder.Decode(&written); err != nil {
		return 0, err
	}
	return written.Data.ID.Int64()
}

// writeBySQL creates customers, and changes them in a way that leaves no trace.
func (t *trial) writeBySQL(ctx context.Context) {
	for ctx.Err() == nil {
		result, err := t.db.ExecContext(context.Background(), "INSERT INTO wp_latepoint_customers (first_name, last_name, email, status, created_at, updated_at) VALUES ('S', 'Q', ?, 'active', '2020-01-01', '2020-01-01')",
			fmt.Sprintf("%d@example.test", mathrand.Int64()))
		if err != nil {
			pause(ctx, 200*time.Millisecond)
			continue
		}
		if id, err := result.LastInsertId(); err == nil {
			t.note(record{"customers", id})
			if _, err := t.db.ExecContext(context.Background(), "UPDATE wp_latepoint_customers SET notes = 'changed' WHERE id = ?", id); err == nil {
				t.note(record{})
			}
		}
		pause(ctx, 250*time.Millisecond)
	}
}

// settle waits until the journal has everything and every delivery has arrived.
func (t *trial) settle(patience time.Duration) error {
	end := time.Now().Add(patience)
	for quiet := 0; quiet < 15; {
		if time.Now().After(end) {
			return errors.New("changes are still unknown, or deliveries waiting")
		}
		time.Sleep(time.Second)
		// Deliveries whose next try is in an hour are tried now.
		if _, err := t.db.ExecContext(context.Background(), "UPDATE wp_bookside_webhook_deliveries SET due_at = UTC_TIMESTAMP() WHERE status = 'waiting'"); err != nil {
			continue
		}
		// Rows of plain SQL that were inserted while no server led are found when all rows are looked at again.
		var waiting, inbox, behind, unknown int64
		err := t.db.QueryRowContext(context.Background(), "SELECT (SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE status NOT IN ('delivered', 'failed')), (SELECT COUNT(*) FROM wp_bookside_change_inbox), "+
			"(SELECT COUNT(*) FROM wp_bookside_changes WHERE number > (SELECT MIN(position) FROM wp_bookside_webhooks)), "+
			"(SELECT COUNT(*) FROM wp_latepoint_customers AS c WHERE c.first_name IN ('A', 'S') AND NOT EXISTS (SELECT 1 FROM wp_bookside_changes AS h WHERE h.resource = 'customers' AND h.resource_id = c.id))").
			Scan(&waiting, &inbox, &behind, &unknown)
		if quiet++; err != nil || waiting+inbox+behind+unknown > 0 {
			quiet = 0
		}
	}
	return nil
}

// compare compares what was confirmed with the journal, and the journal with what was
// received.
func (t *trial) compare() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows, err := t.db.QueryContext(context.Background(), "SELECT number, resource, resource_id, kind, origin FROM wp_bookside_changes ORDER BY number")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	journal := map[entry]bool{}
	created := map[record]int{}
	origins := map[string]int{}
	var previous int64
	for rows.Next() {
		var e entry
		var kind, origin string
		if err := rows.Scan(&e.number, &e.resource, &e.id, &kind, &origin); err != nil {
			return err
		}
		if e.number != previous+1 {
			t.problems = append(t.problems, fmt.Sprintf("%d follows %d in the journal", e.number, previous))
		}
		previous = e.number
		journal[e] = true
		origins[origin]++
		if kind == "created" {
			created[e.record]++
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, r := range t.confirmed {
		if created[r] != 1 {
			t.problems = append(t.problems, fmt.Sprintf("%s %d was created, and has %d entries about that", r.resource, r.id, created[r]))
		}
	}
	twice := 0
	for e := range journal {
		switch n := t.received[e]; {
		case n == 0 && e.resource == "customers":
			t.problems = append(t.problems, fmt.Sprintf("change %d of %s %d was not received", e.number, e.resource, e.id))
		case n > 1:
			twice += n - 1
		}
	}
	fmt.Printf("confirmed: %d records created, %d changes of them\n", len(t.confirmed), t.updates)
	fmt.Printf("journal: %d entries (%d api, %d found)\n", len(journal), origins["api"], origins["found"])
	fmt.Printf("receiver: %d requests, %d answered with 500, %d changes received, %d once more\n", t.requests, t.refused, len(t.received), twice)
	if len(t.problems) > 0 {
		return fmt.Errorf("%d problems, such as\n%s", len(t.problems), strings.Join(t.problems[:min(len(t.problems), 20)], "\n"))
	}
	return nil
}
