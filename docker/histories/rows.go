package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// witness writes and reads its own rows without Bookside: if those are lost, the database lost them. Its
// transactions compete for a row, as Bookside's do.
type witness struct {
	mu        sync.Mutex
	last      int64
	confirmed []int64
	reads     int
	stale     []string
}

// witnessSQL creates the witness's tables.
var witnessSQL = []string{
	"CREATE DATABASE witness", "CREATE TABLE witness.confirmed (id bigint PRIMARY KEY)",
	"CREATE TABLE witness.contested (n bigint NOT NULL)", "INSERT INTO witness.contested VALUES (0)",
}

// testify inserts rows through a node, and reads them through any.
func (t *trial) testify(ctx context.Context, n *node) {
	w := &t.witness
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		w.mu.Lock()
		w.last++
		id := w.last
		w.mu.Unlock()
		if insert(ctx, n.site, id) != nil {
			continue // nobody was told that it exists
		}
		w.mu.Lock()
		w.confirmed = append(w.confirmed, id)
		w.mu.Unlock()
		other := t.nodes[rand.IntN(len(t.nodes))]
		var found int
		if err := other.site.QueryRowContext(ctx, "SELECT COUNT(*) FROM witness.confirmed WHERE id = ?", id).Scan(&found); err != nil {
			continue
		}
		w.mu.Lock()
		w.reads++
		if found == 0 {
			w.stale = append(w.stale, fmt.Sprintf("%s row %d, inserted through %s, is not there for a read through %s", time.Now().Format(time.TimeOnly), id, n.Name, other.Name))
		}
		w.mu.Unlock()
	}
}

// insert inserts a row of the witness.
func insert(ctx context.Context, db *sql.DB, id int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after COMMIT it does nothing
	if _, err := tx.ExecContext(ctx, "UPDATE witness.contested SET n = n + 1"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO witness.confirmed (id) VALUES (?)", id); err != nil {
		return err
	}
	return tx.Commit()
}

// loss is what was confirmed but is missing on a node.
type loss struct {
	bookings, cancellations []int64
	plain                   []int64
}

// missing reads the rows of a node.
func (t *trial) missing(ctx context.Context, n *node) (l loss, err error) {
	plain := map[int64]bool{}
	if err := each(ctx, n.site, "SELECT id, '', '' FROM witness.confirmed", func(id int64, _, _ string) { plain[id] = true }); err != nil {
		return l, err
	}
	for _, id := range t.witness.confirmed {
		if !plain[id] {
			l.plain = append(l.plain, id)
		}
	}
	type booking struct{ code, status string }
	bookings := map[int64]booking{}
	err = each(ctx, n.site, "SELECT id, booking_code, status FROM wp_latepoint_bookings", func(id int64, code, status string) { bookings[id] = booking{code, status} })
	if err != nil {
		return l, err
	}
	for _, c := range t.chapters {
		for id, code := range c.made {
			if bookings[id].code != code {
				l.bookings = append(l.bookings, id)
			}
		}
		for id := range c.cancelled {
			if bookings[id].status != "cancelled" {
				l.cancellations = append(l.cancellations, id)
			}
		}
	}
	return l, nil
}

// each reads rows of a number and two texts.
func each(ctx context.Context, db *sql.DB, query string, do func(id int64, one, other string)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	for rows.Next() {
		var id int64
		var one, other string
		if err := rows.Scan(&id, &one, &other); err != nil {
			return err
		}
		do(id, one, other)
	}
	return rows.Err()
}

// checksums returns the checksums of the tables that histories write, on a node.
func checksums(ctx context.Context, n *node) (sums string, err error) {
	for _, table := range []string{"wp_latepoint_bookings", "wp_latepoint_order_items", "wp_latepoint_orders", "wp_bookside_holds", "witness.confirmed"} {
		var name, sum string
		if err := n.site.QueryRowContext(ctx, "CHECKSUM TABLE "+table).Scan(&name, &sum); err != nil {
			return "", err
		}
		sums += name + " " + sum + "\n"
	}
	return sums, nil
}
