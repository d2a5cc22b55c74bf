package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// costRows are single kinds of requests, whose costs are measured one after the other.
var costRows = []row{
	{name: "status", start: same("/status")},
	{name: "a booking", start: drawn(func(t *target, r *rand.Rand) string { return fmt.Sprint("/bookings/", one(r, t.bookings)) })},
	{name: "a customer", start: drawn(func(t *target, r *rand.Rand) string { return fmt.Sprint("/customers/", one(r, t.customers)) })},
	{name: "an order", start: drawn(func(t *target, r *rand.Rand) string { return fmt.Sprint("/orders/", one(r, t.orders)) })},
	{name: "20 bookings", start: same("/bookings")},
	{name: "20 bookings from a day on", start: drawn(func(t *target, r *rand.Rand) string { return "/bookings?status=approved&date_from=" + one(r, t.days) })},
	{name: "20 bookings of an agent", start: drawn(func(t *target, r *rand.Rand) string { return fmt.Sprint("/bookings?agent_id=", one(r, t.agents)) })},
	{name: "20 customers", start: same("/customers?per_page=20")},
	{name: "20 orders", start: same("/orders?per_page=20")},
	{name: "20 payments", start: same("/payments?per_page=20")},
	{name: "services", start: same("/services?per_page=50")},
	{name: "agents", start: same("/agents")},
	{name: "free times of a day", start: drawn(func(t *target, r *rand.Rand) string {
		day := 1 + r.IntN(30)
		return availability(one(r, t.services), one(r, t.agents), day, day)
	})},
	{name: "free times of a fortnight, any agent", start: drawn((*target).widget)},
	{name: "create a booking", start: (*target).creates},
}

// same returns a row that asks for the same path again and again.
func same(path string) func(*target, context.Context) (draw, error) {
	return drawn(func(*target, *rand.Rand) string { return path })
}

// cost is what a request costs on average.
type cost struct {
	name           string
	trips          float64       // round trips to the database that the client waits for
	statements     float64       // that the database ran, with those of the work that follows
	ours, database time.Duration // CPU time; the database's is 0 if it is not a process of this run
}

// measureCosts measures what each kind of requests costs, with one client.
func (b *bench) measureCosts(ctx context.Context, t *target, dsn string, server *process) (err error) {
	db, err := openDatabase(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, r := range costRows {
		fmt.Fprintln(os.Stderr, "cost:", r.name)
		next, err := r.start(t, ctx)
		if err != nil {
			return err
		}
		before, err := b.used(ctx, server, db)
		if err != nil {
			return err
		}
		reached, err := measureRate(ctx, 1, b.duration, asking(t, next, new(atomic.Int64), new(atomic.Int64)))
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		after, err := b.used(ctx, server, db)
		if err != nil {
			return err
		}
		n := time.Duration(reached.requests)
		each := func(first, last int) float64 { return float64(last-first) / float64(n) }
		b.costs = append(b.costs, cost{r.name, each(before.trips, after.trips), each(before.statements, after.statements), (after.ours - before.ours) / n, (after.database - before.database) / n})
	}
	return nil
}

// usage is what a server and its database have used since they began.
type usage struct {
	ours, database    time.Duration // CPU time
	trips, statements int
}

func (b *bench) used(ctx context.Context, server *process, db *sql.DB) (u usage, err error) {
	if u.ours, err = server.used(); err != nil {
		return u, err
	}
	if b.database != nil {
		if u.database, err = b.database.used(); err != nil {
			return u, err
		}
	}
	if u.trips, err = server.trips(); err != nil {
		return u, err
	}
	var name string
	return u, db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &u.statements)
}

// tick is the unit of the times in /proc.
const tick = 10 * time.Millisecond

// used returns how much CPU time the program has used.
func (p *process) used() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q is no line of times", text)
	}
	user, userErr := strconv.Atoi(fields[11])
	system, systemErr := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick, errors.Join(userErr, systemErr)
}

// trips returns how many round trips to the database the server has logged.
func (p *process) trips() (trips int, err error) {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(content) {
		if line[0] != '{' { // what it says to a person
			continue
		}
		var logged struct{ Queries int }
		if err := json.Unmarshal(line, &logged); err != nil {
			return 0, fmt.Errorf("%s: %w", p.log, err)
		}
		trips += logged.Queries
	}
	return trips, nil
}

// costTable prints a table in Markdown of what requests cost.
func costTable(out io.Writer, costs []cost) error {
	var text strings.Builder
	text.WriteString("| Request | Round trips | Statements | CPU of Bookside, ms | CPU of the database, ms |\n|---|--:|--:|--:|--:|\n")
	for _, c := range costs {
		database := "–"
		if c.database > 0 {
			database = milliseconds(c.database)
		}
		fmt.Fprintf(&text, "| %s | %.1f | %.1f | %s | %s |\n", c.name, c.trips, c.statements, milliseconds(c.ours), database)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
