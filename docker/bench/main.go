// Command bench measures requests of a site's clients, with Bookside, with PHP if a site with it is named,
// and with the bare SQL statements that Bookside runs for them. README.md explains its use and results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/fixtures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // nothing is left for stop to do
	}
}

// The systems that are compared.
const (
	bookside = "Bookside"
	php      = "PHP"
	bareSQL  = "bare SQL"
)

// bench is a run of the benchmark.
type bench struct {
	folder   string // for what is built and for files of servers
	program  string
	duration time.Duration
	rounds   int
	clients  []int
	rows     []row

	onlyCosts bool
	database  *process // the private one, if there is one

	facts   []string // of the machine and the versions
	results results
	costs   []cost
}

func run(ctx context.Context, args []string) (err error) {
	b := &bench{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&b.program, "program", "", "a bookside to measure instead of this source")
	flags.DurationVar(&b.duration, "duration", 5*time.Second, "of each measurement")
	flags.BoolVar(&b.onlyCosts, "costs", false, "measure what single requests cost, instead of rates")
	flags.IntVar(&b.rounds, "rounds", 1, "the best of so many measurements counts")
	bookings := flags.String("bookings", "2000", "bookings of the sample site; several numbers for as many sites, one after the other")
	clients := flags.String("clients", "1,16,64", "clients at a time")
	only := flags.String("rows", "", "what is measured, such as 'create,sync'; everything, if empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	sizes, err := numbers(*bookings)
	if err == nil {
		b.clients, err = numbers(*clients)
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if *only == "" || slices.Contains(strings.Split(*only, ","), r.name) {
			b.rows = append(b.rows, r)
		}
	}
	if len(b.rows) == 0 {
		return fmt.Errorf("no row has a name of %q", *only)
	}
	if b.folder, err = os.MkdirTemp("", "bookside-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	if b.program == "" {
		b.program = filepath.Join(b.folder, "bookside")
		if _, err := output(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.program, "./cmd/bookside"); err != nil {
			return err
		}
	}
	if err := b.measureSites(ctx, sizes); err != nil {
		return err
	}
	fmt.Print(strings.Join(b.facts, ", "), "\n\n")
	if b.onlyCosts {
		return costTable(os.Stdout, b.costs)
	}
	return b.results.table(os.Stdout)
}

func numbers(text string) (found []int, err error) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of bookings or clients", word)
		}
		found = append(found, n)
	}
	return found, nil
}

// measureSites measures one site after the other: the one of BOOKSIDE_DB__DSN, or samples on the server of
// BOOKSIDE_TEST_DSN or on a private one.
func (b *bench) measureSites(ctx context.Context, sizes []int) error {
	if dsn := os.Getenv("BOOKSIDE_DB__DSN"); dsn != "" {
		return b.measureSite(ctx, dsn, 0)
	}
	server := os.Getenv("BOOKSIDE_TEST_DSN")
	if server == "" {
		private, err := startDatabase(ctx, filepath.Join(b.folder, "database"))
		if err != nil {
			return err
		}
		defer private.kill()
		server, b.database = private.dsn, private.process
	}
	for _, size := range sizes {
		if err := b.measureSample(ctx, server, size); err != nil {
			return err
		}
	}
	return nil
}

// measureSample creates a sample site, measures it and drops it.
func (b *bench) measureSample(ctx context.Context, server string, size int) (err error) {
	name := fmt.Sprint("bookside_bench_", size)
	fmt.Fprintf(os.Stderr, "filling a site of %d bookings\n", size)
	dsn, db, err := createDatabase(ctx, server, name)
	if err != nil {
		return err
	}
	defer func() {
		_, dropErr := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name)
		err = errors.Join(err, dropErr, db.Close())
	}()
	if err := fixtures.Load(ctx, db, fixtures.Grown(size)); err != nil {
		return err
	}
	return b.measureSite(ctx, dsn, size)
}

// createIndexes runs the statements that the program recommends.
func createIndexes(ctx context.Context, server *server, dsn string) (err error) {
	printed, err := server.run(ctx, "indexes")
	if err != nil {
		return err
	}
	db, err := openDatabase(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "--") {
			continue
		}
		if _, err := db.ExecContext(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// measureSite measures the rows on a site with this many bookings, with Bookside and all others.
func (b *bench) measureSite(ctx context.Context, dsn string, size int) error {
	server, err := newServer(ctx, b.program, dsn)
	if err != nil {
		return err
	}
	own, err := server.newClient(ctx, slices.Max(b.clients))
	if err != nil {
		return err
	}
	if size > 0 { // our own sample
		if err := createIndexes(ctx, server, dsn); err != nil {
			return err
		}
	}
	log := os.DevNull
	if b.onlyCosts {
		log = filepath.Join(b.folder, fmt.Sprint(size, ".log"))
	}
	running, err := server.launch(ctx, log, own)
	if err != nil {
		return err
	}
	defer running.kill()
	if b.facts == nil {
		if err := b.describe(ctx, server, dsn); err != nil {
			return err
		}
	}
	ours := &target{client: own}
	err = ours.learn(ctx)
	if b.onlyCosts {
		if err == nil {
			err = b.measureCosts(ctx, ours, dsn, running)
		}
		return err
	}
	var other *target
	if url := os.Getenv("PHP_URL"); url != "" {
		other = &target{client: newClient(strings.TrimSuffix(url, "/"), os.Getenv("PHP_KEY"), slices.Max(b.clients))}
		err = errors.Join(err, other.learn(ctx))
	}
	if err != nil {
		return err
	}
	for round := range b.rounds {
		for _, r := range b.rows {
			for _, clients := range b.clients {
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %d clients\n", round+1, b.rounds, r.name, clients)
				for system, t := range map[string]*target{bookside: ours, php: other, bareSQL: ours} {
					if t == nil || system == php && r.ours {
						continue
					}
					if err := b.measure(ctx, r, system, t, dsn, clients, size); err != nil {
						return fmt.Errorf("%s, %s, %d clients: %w", r.name, system, clients, err)
					}
				}
			}
		}
	}
	return nil
}

// describe notes the machine and the versions.
func (b *bench) describe(ctx context.Context, server *server, dsn string) error {
	version, err := server.run(ctx, "version")
	if err != nil {
		return err
	}
	version, _, _ = strings.Cut(version, "\n")
	db, err := openDatabase(dsn)
	if err != nil {
		return err
	}
	var databaseVersion string
	if err := errors.Join(db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&databaseVersion), db.Close()); err != nil {
		return err
	}
	b.facts = []string{time.Now().Format(time.DateOnly), version, databaseVersion, fmt.Sprint(runtime.NumCPU(), " cores for everything")}
	return nil
}

// measure measures a row with a system.
func (b *bench) measure(ctx context.Context, r row, system string, t *target, dsn string, clients, size int) error {
	next, err := r.start(t, ctx)
	if err != nil {
		return err
	}
	var busy, taken atomic.Int64
	do := asking(t, next, &busy, &taken)
	end := func() error { return nil }
	if system == bareSQL {
		if do, end, err = bare(ctx, dsn, t.key, next); err != nil {
			return err
		}
	}
	reached, err := measureRate(ctx, clients, b.duration, do)
	if err == nil {
		b.results.add(measured{r.name, size, clients, system}, reached, int(busy.Load()), int(taken.Load()))
	}
	return errors.Join(err, end())
}

// asking returns a function that sends the n-th request, and counts the answers that asked to retry and the slots
// that were taken.
func asking(t *target, next draw, busy, taken *atomic.Int64) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		request, err := next(n)
		if err != nil {
			return err
		}
		a, times, err := t.ask(ctx, request)
		if err != nil {
			return err
		}
		busy.Add(int64(times))
		lost, err := judge(request, a)
		if lost {
			taken.Add(1)
		}
		return err
	}
}

// judge reports whether a slot was taken, and returns an error if a request failed otherwise.
func judge(r request, a answer) (taken bool, err error) {
	switch {
	case a.status == http.StatusOK || a.status == http.StatusCreated:
		return false, nil
	case r.method == http.MethodPost && a.status == http.StatusConflict:
		return true, nil
	}
	return false, fmt.Errorf("%s: %s", r, a)
}
