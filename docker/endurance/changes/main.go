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
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bookside/docker/load"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "changes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	urls := flag.String("urls", "", "URLs of the servers, separated by commas")
	dsn := flag.String("dsn", "", "data source name of the database")
	listen := flag.String("listen", "127.0.0.1:9000", "address of the receiver")
	duration := flag.Duration("duration", time.Minute, "duration of the load")
	patience := flag.Duration("patience", 15*time.Minute, "how long to wait afterwards for everything to arrive")
	flag.Parse()
	t := &trial{}
	var err error
	if t.db, err = load.Open(*dsn, nil); err != nil {
		return err
	}
	defer func() { _ = t.db.Close() }()
	for _, url := range strings.Split(*urls, ",") {
		t.servers = append(t.servers, load.NewClient(url+"/v1", os.Getenv("KEY"), 4))
	}
	t.receiver, err = load.NewReceiver(ctx, *listen, &t.Tally, func(string) bool { return !t.reliable.Load() && mathrand.N(2) == 0 })
	if err != nil {
		return err
	}
	defer func() { _ = t.receiver.Close() }()
	if err := t.receiver.Verify(os.Getenv("SECRET")); err != nil {
		return err
	}

	until, cancel := context.WithTimeout(ctx, *duration)
	defer cancel()
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() { t.writeByAPI(until) })
		writers.Go(func() { t.writeBySQL(until) })
	}
	writers.Wait()
	t.reliable.Store(true)
	if err := t.settle(ctx, *patience); err != nil {
		return err
	}
	return t.compare(ctx)
}

// trial is shared by the writers and the receiver.
type trial struct {
	load.Tally
	servers  []*load.Client
	db       *sql.DB
	receiver *load.Receiver
	reliable atomic.Bool // whether the receiver accepts everything

	mu        sync.Mutex
	confirmed []int64 // ids of customers that were created, by the API and by SQL
}

// pause lets the database recover after an error.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// created notes a customer.
func (t *trial) created(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.confirmed = append(t.confirmed, id)
}

// writeByAPI creates customers and changes them.
func (t *trial) writeByAPI(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		server := t.servers[n%len(t.servers)]
		id, err := send(server, load.Post("/customers", map[string]string{"first_name": "A", "last_name": "B", "email": fmt.Sprintf("%d.%d@example.test", mathrand.Int64(), n)}))
		if err != nil {
			pause(ctx, 200*time.Millisecond)
			continue
		}
		t.created(id)
		for range 3 {
			if _, err := send(server, load.Put(fmt.Sprint("/customers/", id), map[string]string{"notes": fmt.Sprint(mathrand.Int64())})); err == nil {
				t.Count("changes")
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// send sends a request, and returns the id of the record if it was confirmed.
func send(server *load.Client, r load.Request) (id int64, err error) {
	// Not until the end of the load: a request that was sent is waited for.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	a, err := server.Send(ctx, r)
	if err != nil {
		return 0, err
	}
	return a.ID()
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
			t.created(id)
			if _, err := t.db.ExecContext(context.Background(), "UPDATE wp_latepoint_customers SET notes = 'changed' WHERE id = ?", id); err == nil {
				t.Count("changes")
			}
		}
		pause(ctx, 250*time.Millisecond)
	}
}

// settle waits until the journal has everything and every delivery has arrived.
func (t *trial) settle(ctx context.Context, patience time.Duration) error {
	end := time.Now().Add(patience)
	for quiet := 0; quiet < 15; {
		if time.Now().After(end) {
			return errors.New("changes are still unknown, or deliveries waiting")
		}
		time.Sleep(time.Second)
		// Deliveries whose next try is in an hour are tried now.
		if _, err := t.db.ExecContext(ctx, "UPDATE wp_bookside_webhook_deliveries SET due_at = UTC_TIMESTAMP() WHERE status = 'waiting'"); err != nil {
			continue
		}
		// Rows of plain SQL that were inserted while no server led are found when all rows are looked at again.
		var waiting, inbox, behind, unknown int64
		err := t.db.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM wp_bookside_webhook_deliveries WHERE status NOT IN ('delivered', 'failed')), (SELECT COUNT(*) FROM wp_bookside_change_inbox), "+
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
func (t *trial) compare(ctx context.Context) error {
	rows, err := t.db.QueryContext(ctx, "SELECT number, resource, resource_id, kind, origin FROM wp_bookside_changes ORDER BY number")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	created, origins := map[int64]int{}, map[string]int{}
	var c load.Change
	for previous := int64(0); rows.Next(); previous = c.Number {
		if err := rows.Scan(&c.Number, &c.Resource, &c.ID, &c.Kind, &c.Origin); err != nil {
			return err
		}
		if c.Number != previous+1 {
			t.Problem("%d follows %d in the journal", c.Number, previous)
		}
		origins[c.Origin]++
		if c.Resource != "customers" {
			continue
		}
		t.receiver.Check(c)
		if c.Kind == "created" {
			created[c.ID]++
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range t.confirmed {
		if created[id] != 1 {
			t.Problem("customer %d was created, and has %d entries about that", id, created[id])
		}
	}
	fmt.Printf("confirmed: %d records created, %d changes of them\n", len(t.confirmed), t.Counted("changes"))
	fmt.Printf("journal: %d entries (%d api, %d found)\n", c.Number, origins["api"], origins["found"])
	fmt.Printf("receiver: %d requests answered with 500, %d changes received, %d once more\n", t.Counted("webhooks refused"), t.Counted("webhooks"), t.Counted("webhooks again"))
	return t.Err()
}
