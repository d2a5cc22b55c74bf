package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/bookside/compare"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers"
)

func (p *program) compare() *cobra.Command {
	command := &cobra.Command{
		Use:   "compare [FILE…]",
		Short: "compare the answers of PHP and Bookside",
		Long: `Sends the same requests to the PHP extension and to Bookside and shows where their answers differ, so
that you can check with your own traffic that clients will only notice the speed. It changes nothing.

The requests are the GETs of access logs (--log: nginx and Apache in the combined format, Caddy in
JSON, also rotated and gzipped ones), or everything in the API's own document with values from the
site's lists (--crawl), or a list of paths (--requests). Keys in logs are neither used nor printed:
both sides get the keys you name.

Each request goes to PHP, to Bookside, and to PHP again. Differences between PHP's two answers are
noise and do not count. Status, headers and JSON are compared: missing and additional keys, types,
values, the order of lists. Deliberate differences are listed separately, with the reason.

It sends at most --rate requests a second to PHP, pauses when PHP becomes slower, and stops if that
does not help. If interrupted, it reports the results so far.

  bookside compare --php https://example.com --php-key-file key --log /var/log/nginx/access.log*
  bookside compare --php https://example.com --php-key-file key --crawl --html compare.html

With --writes it compares what requests write, on two restored copies of the database: PHP runs on
the first one, Bookside on the second one. Each request of --scenario is sent to both, and the rows
that they leave are compared. Mails must be off on both, and a row that is written into each copy
must be visible through its server, or nothing is sent. Never use it on a live site.

  bookside compare --php http://php.test --php-key-file key --bookside http://127.0.0.1:8080 \
    --writes --scenario writes.http --on-copy @dsn-of-php @dsn-of-bookside`,
	}
	flags := command.Flags()
	var c compareCommand
	flags.StringVar(&c.php, "php", "", "`URL` of the site, such as https://example.com")
	flags.StringVar(&c.phpKeyFile, "php-key-file", "", "`FILE` with a key of the PHP extension")
	flags.StringVar(&c.bookside, "bookside", "http://127.0.0.1:8080", "`URL` of Bookside")
	flags.StringVar(&c.keyFile, "key-file", "", "`FILE` with a key of Bookside; without it, the same key is sent")
	flags.Func("log", "compare the GETs of this access log; `FILES` may be several, or a pattern", func(name string) error {
		c.logs = append(c.logs, name)
		return nil
	})
	flags.BoolVar(&c.crawl, "crawl", false, "compare every route, filter, order, page and id of the API")
	flags.StringVar(&c.requests, "requests", "", "compare the paths in this `FILE`, one in each line")
	flags.Float64Var(&c.rate, "rate", 2, "send PHP at most this `NUMBER` of requests a second; 0 for no pause")
	flags.IntVar(&c.most, "max", 2000, "compare at most this `NUMBER` of different requests of the logs; 0 for all")
	flags.IntVar(&c.samples, "samples", 3, "with --crawl, try this `NUMBER` of values of each parameter, and of records of each kind")
	flags.Func("ignore", "ignore what is at these JSON `PATHS`, such as $.data[*].notes, separated by commas; can be repeated", c.addIgnored)
	flags.StringVar(&c.html, "html", "", "also write the result to this `FILE`, as a page that needs nothing else")
	flags.BoolVar(&c.json, "json", false, "print the result as JSON")
	flags.BoolVar(&c.personal, "show-personal-data", false, "do not mask names, addresses, telephone numbers and texts in examples")
	flags.BoolVar(&c.writes, "writes", false, "compare what requests write, on two copies of the site")
	flags.StringVar(&c.scenario, "scenario", "", "with --writes, the `FILE` with the requests to send")
	flags.StringVar(&c.copyA, "on-copy", "", "with --writes, the databases of PHP and of Bookside: two `DSN`s, or @FILE for a file with one")
	flags.StringVar(&c.prefix, "prefix", settings.DefaultPrefix, "with --writes, the table `PREFIX` of the site")
	command.RunE = func(command *cobra.Command, operands []string) error {
		if err := c.takeOperands(operands); err != nil {
			return err
		}
		result, err := p.runComparison(command.Context(), c)
		if err != nil {
			return err
		}
		return p.reportComparison(c, result)
	}
	return command
}

// compareCommand are the flags of compare.
type compareCommand struct {
	php, phpKeyFile, bookside, keyFile string
	logs                               []string
	crawl                              bool
	requests                           string
	rate                               float64
	most, samples                      int
	ignore                             []compare.Pattern
	html                               string
	json, personal                     bool
	writes                             bool
	scenario, copyA, copyB, prefix     string
}

func (c *compareCommand) addIgnored(text string) error {
	for _, path := range strings.Split(text, ",") {
		pattern, err := compare.ParsePattern(path)
		if err != nil {
			return err
		}
		c.ignore = append(c.ignore, pattern)
	}
	return nil
}

// takeOperands processes the operands after the first value of --on-copy or --log, and validates the flags.
func (c *compareCommand) takeOperands(operands []string) error {
	switch {
	case c.copyA != "" && len(operands) == 1:
		c.copyB = operands[0]
	case len(c.logs) > 0:
		c.logs = append(c.logs, operands...)
	case len(operands) > 0:
		return usageErrorf("%d words are left over; other files than those of --log have flags of their own", len(operands)) // one may be a DSN
	}
	sources := 0
	for _, given := range []bool{len(c.logs) > 0, c.crawl, c.requests != "", c.writes} {
		if given {
			sources++
		}
	}
	switch {
	case c.php == "" || c.phpKeyFile == "":
		return usageErrorf("write --php and --php-key-file")
	case sources != 1:
		return usageErrorf("write one of --log, --crawl, --requests and --writes")
	case c.writes && (c.scenario == "" || c.copyB == ""):
		return usageErrorf("--writes needs --scenario FILE and --on-copy DSN_A DSN_B")
	case !c.writes && (c.scenario != "" || c.copyA != ""):
		return usageErrorf("--scenario and --on-copy are for --writes")
	case c.rate < 0 || c.most < 0 || c.samples < 1:
		return usageErrorf("--rate and --max must not be negative, and --samples is at least 1")
	}
	return nil
}

// readKey reads a key from a file.
func readKey(flagName, file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", usageErrorf("%s: %v", flagName, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// sides returns the two servers.
func (c *compareCommand) sides() (php, bookside *compare.Side, err error) {
	phpKey, err := readKey("--php-key-file", c.phpKeyFile)
	if err != nil {
		return nil, nil, err
	}
	key := phpKey
	if c.keyFile != "" {
		if key, err = readKey("--key-file", c.keyFile); err != nil {
			return nil, nil, err
		}
	}
	if php, err = compare.NewSide(c.php, phpKey); err != nil {
		return nil, nil, usageErrorf("--php: %v", err)
	}
	if bookside, err = compare.NewSide(c.bookside, key); err != nil {
		return nil, nil, usageErrorf("--bookside: %v", err)
	}
	return php, bookside, nil
}

func (p *program) runComparison(ctx context.Context, c compareCommand) (*compare.Result, error) {
	php, bookside, err := c.sides()
	if err != nil {
		return nil, err
	}
	scenario, err := c.readScenario()
	if err != nil {
		return nil, err
	}
	progress := newProgressLine(p.stderr)
	defer progress.clear()
	o := compare.Options{PHP: php, Bookside: bookside, Rate: c.rate, Ignore: c.ignore, ShowPersonal: c.personal, Now: p.now, Progress: progress.show}
	for _, read := range handlers.Reads() {
		o.Routes = append(o.Routes, compare.Route(read))
	}
	traffic, err := c.traffic() // read before anything is sent
	if err != nil {
		return nil, err
	}
	if err := canWritePage(c.html); err != nil {
		return nil, err
	}
	run, err := compare.Start(ctx, o)
	if err != nil {
		return nil, exit.Errorf(exit.Failure, err, "nothing was compared: %v", err)
	}
	if c.writes {
		return c.write(ctx, run, scenario)
	}
	requests, source, err := c.choose(ctx, run, traffic)
	if err != nil {
		return nil, err
	}
	result := run.Compare(ctx, requests)
	result.Source = source
	return result, nil
}

// traffic reads the requests from files, or returns nil if they come from elsewhere.
func (c *compareCommand) traffic() (*compare.Traffic, error) {
	var t *compare.Traffic
	var err error
	switch {
	case len(c.logs) > 0:
		t, err = compare.ReadLogs(c.logs)
	case c.requests != "":
		t, err = compare.ReadList(c.requests)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, exit.Errorf(exit.Usage, err, "%v", err)
	}
	if len(t.Requests) == 0 {
		return nil, exit.Errorf(exit.Usage, nil, "there is no GET of the API, %s/wp-json/latepoint-api/v1/…, in %d lines of %s",
			strings.TrimRight(c.php, "/"), t.Lines, cmp.Or(c.requests, strings.Join(c.logs, ", ")))
	}
	return t, nil
}

// choose returns the requests to compare, and where they come from.
func (c *compareCommand) choose(ctx context.Context, run *compare.Run, t *compare.Traffic) ([]compare.Request, string, error) {
	if t == nil {
		requests, err := run.Crawl(ctx, c.samples)
		if err != nil {
			return nil, "", exit.Errorf(exit.Failure, err, "nothing was compared: %v", err)
		}
		return requests, "a crawl of the API", nil
	}
	if c.requests != "" {
		return run.Pick(t, 0), fmt.Sprintf("%d requests of a list", t.GETs), nil
	}
	requests := run.Pick(t, c.most)
	return requests, fmt.Sprintf("%d different requests of %d GETs in %d log files (%d of %d different ones; %d requests with other methods are never sent)",
		len(requests), t.GETs, t.Files, len(requests), len(t.Requests), t.Others), nil
}

// reportComparison prints the result and returns an error for its exit code.
func (p *program) reportComparison(c compareCommand, result *compare.Result) error {
	var printing error
	if c.html != "" {
		printing = writeComparisonPage(c.html, result)
	}
	if c.json {
		printing = errors.Join(printing, p.printJSON(result))
	} else {
		printing = errors.Join(printing, p.print(result.Text()))
	}
	switch {
	case printing != nil:
		return printing
	case result.Outcome == compare.Different:
		return exit.Errorf(exit.Different, nil, "the answers of PHP and Bookside differ")
	case result.Outcome == compare.Incomplete:
		return exit.Errorf(exit.Incomplete, nil, "the comparison is not complete")
	default:
		return nil
	}
}

// canWritePage reports a file that cannot be written before a run that may take hours. It leaves an
// existing file unchanged.
func canWritePage(name string) error {
	if name == "" {
		return nil
	}
	_, missing := os.Stat(name)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return usageErrorf("--html: %v", err)
	}
	if err := file.Close(); err != nil {
		return usageErrorf("--html: %v", err)
	}
	if errors.Is(missing, os.ErrNotExist) {
		return os.Remove(name)
	}
	return nil
}

func writeComparisonPage(name string, result *compare.Result) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // examples are masked, but still not for everybody
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return result.WritePage(file)
}
