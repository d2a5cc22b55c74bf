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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/docker/load"
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
	folder   load.Folder
	program  string
	duration time.Duration
	rounds   int
	clients  []int
	rows     []row

	facts   []string // of the machine and the versions
	results results
}

func run(ctx context.Context, args []string) (err error) {
	b := &bench{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&b.program, "program", "", "a bookside to measure instead of this source")
	flags.DurationVar(&b.duration, "duration", 5*time.Second, "of each measurement")
	flags.IntVar(&b.rounds, "rounds", 1, "the best of so many measurements counts")
	bookings := flags.String("bookings", "2000", "bookings of the sample site; several numbers for as many sites, one after the other")
	clients := flags.String("clients", "1,16,64", "clients at a time")
	only := flags.String("rows", "", "what is measured, such as 'create,sync'; everything, if empty")
	svg := flags.String("svg", "", "a file for the results as a picture")
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
	if b.folder, err = load.NewFolder(); err != nil {
		return err
	}
	defer func() { err = b.folder.Remove(err) }()
	if b.program == "" {
		if b.program, err = b.folder.Build(ctx); err != nil {
			return err
		}
	}
	if err := b.measureSites(ctx, sizes); err != nil {
		return err
	}
	fmt.Println(strings.Join(b.facts, ", "))
	if err := b.results.table(os.Stdout); err != nil || *svg == "" {
		return err
	}
	return os.WriteFile(*svg, []byte(b.results.picture(strings.Join(b.facts, ", "))), 0o644) //nolint:gosec // a picture for everybody
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
		private, err := b.folder.Database(ctx)
		if err != nil {
			return err
		}
		defer private.Kill()
		server = private.DSN("")
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
	dsn, db, err := load.CreateDatabase(ctx, server, name)
	if err != nil {
		return err
	}
	defer func() {
		_, dropErr := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name)
		err = errors.Join(err, dropErr, db.Close())
	}()
	if err := fixtures.Grow(ctx, db, size, func(int) {}); err != nil {
		return err
	}
	return b.measureSite(ctx, dsn, size)
}

// measureSite measures the rows on a site with this many bookings, with Bookside and all others.
func (b *bench) measureSite(ctx context.Context, dsn string, size int) error {
	server, err := load.NewServer(ctx, b.program, "bookside", os.DevNull, "BOOKSIDE_DB__DSN="+dsn)
	if err != nil {
		return err
	}
	if server.Key, err = server.NewKey(ctx, "benchmark", "read,write,read_changes"); err != nil {
		return err
	}
	if size > 0 { // our own sample
		if _, err := server.Run(ctx, "indexes", "--apply"); err != nil {
			return err
		}
	}
	if err := server.Launch(); err != nil {
		return err
	}
	defer server.Kill()
	if _, err := server.Wait(ctx); err != nil {
		return err
	}
	if b.facts == nil {
		if err := b.describe(ctx, server, dsn); err != nil {
			return err
		}
	}
	ours := &target{Client: server.Client}
	err = ours.learn(ctx)
	var other *target
	if url := os.Getenv("PHP_URL"); url != "" {
		other = &target{Client: load.NewClient(strings.TrimSuffix(url, "/"), os.Getenv("PHP_KEY"), slices.Max(b.clients))}
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
func (b *bench) describe(ctx context.Context, server *load.Server, dsn string) error {
	version, err := server.Run(ctx, "version")
	if err != nil {
		return err
	}
	version, _, _ = strings.Cut(version, "\n")
	db, err := load.Open(dsn, nil)
	if err != nil {
		return err
	}
	var database string
	if err := errors.Join(db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&database), db.Close()); err != nil {
		return err
	}
	b.facts = []string{time.Now().Format(time.DateOnly), version, database, runtime.Version(), fmt.Sprintf("%d cores of %s for everything", runtime.NumCPU(), processor())}
	return nil
}

// processor returns the name of the processor.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// measure measures a row with a system.
func (b *bench) measure(ctx context.Context, r row, system string, t *target, dsn string, clients, size int) error {
	next, err := r.start(t, ctx)
	if err != nil {
		return err
	}
	var busy, taken atomic.Int64
	do := func(ctx context.Context, n int) error {
		request, err := next(n)
		if err != nil {
			return err
		}
		a, _, err := t.Ask(ctx, request, func() { busy.Add(1) })
		if err != nil {
			return err
		}
		lost, err := judge(request, a)
		if lost {
			taken.Add(1)
		}
		return err
	}
	end := func() error { return nil }
	if system == bareSQL {
		if do, end, err = bare(ctx, dsn, t.Key, next); err != nil {
			return err
		}
	}
	rate, err := load.Measure(ctx, clients, b.duration, do)
	if err == nil {
		b.results.add(measured{r.name, size, clients, system}, rate, int(busy.Load()), int(taken.Load()))
	}
	return errors.Join(err, end())
}

// judge reports whether a slot was taken, and returns an error if a request failed otherwise.
func judge(r load.Request, a load.Answer) (taken bool, err error) {
	switch {
	case a.Status == http.StatusOK || a.Status == http.StatusCreated:
		return false, nil
	case r.Method == http.MethodPost && a.Status == http.StatusConflict:
		return true, nil
	}
	return false, fmt.Errorf("%s: %s", r, a)
}
