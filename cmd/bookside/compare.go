package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/bookside/compare"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/handlers"
)

func (p *program) compare() *cobra.Command {
	command := &cobra.Command{
		Use:   "compare",
		Short: "compare the answers of PHP and Bookside",
		Long: `Sends the GETs of access logs, or of a list of paths, to the PHP extension and to Bookside and shows
where their answers differ, by route and field, so that you can check with your own traffic that clients
will only notice the speed. It changes nothing.

Logs are those of nginx and Apache in the combined format, and of Caddy in JSON, also rotated and
gzipped ones. Keys in them are neither used nor printed: both sides get the keys you name. Known
differences are decisions of Bookside, and do not count. Where the answers differ, PHP is asked again;
what it answers differently itself does not count either. The examples contain data of customers.

  bookside compare --php https://example.com --php-key-file key --log '/var/log/nginx/access.log*'`,
		Args: cobra.NoArgs,
	}
	flags := command.Flags()
	var c compareCommand
	flags.StringVar(&c.php, "php", "", "`URL` of the site, such as https://example.com")
	flags.StringVar(&c.phpKeyFile, "php-key-file", "", "`FILE` with a key of the PHP extension")
	flags.StringVar(&c.bookside, "bookside", "http://127.0.0.1:8080", "`URL` of Bookside")
	flags.StringVar(&c.keyFile, "key-file", "", "`FILE` with a key of Bookside; without it, the same key is sent")
	flags.StringArrayVar(&c.logs, "log", nil, "compare the GETs of this access log; a `FILE` or a pattern in quotes; can be repeated")
	flags.StringVar(&c.requests, "requests", "", "compare the paths in this `FILE`, one in each line")
	flags.Float64Var(&c.rate, "rate", 2, "compare at most this `NUMBER` of requests a second; 0 for no pause")
	flags.IntVar(&c.most, "max", 2000, "compare at most this `NUMBER` of different requests; 0 for all")
	flags.BoolVar(&c.json, "json", false, "print the result as JSON")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if c.php == "" || c.phpKeyFile == "" {
			return usageErrorf("write --php and --php-key-file")
		}
		if (len(c.logs) > 0) == (c.requests != "") {
			return usageErrorf("write one of --log and --requests")
		}
		if c.rate < 0 || c.most < 0 {
			return usageErrorf("--rate and --max must not be negative")
		}
		run, err := c.run()
		if err != nil {
			return err
		}
		traffic, err := c.traffic() // read before anything is sent
		if err != nil {
			return err
		}
		if err := run.Try(command.Context()); err != nil {
			return exit.Errorf(exit.Failure, err, "nothing was compared: %v", err)
		}
		result := run.Compare(command.Context(), traffic.Pick(run.Routes, c.most))
		if c.json {
			err = p.printJSON(result)
		} else {
			err = p.print(result.Text())
		}
		switch incomplete := result.Err(); {
		case err != nil:
			return err
		case result.Different():
			return exit.Errorf(exit.Different, nil, "the answers of PHP and Bookside differ")
		case incomplete != nil:
			return exit.Errorf(exit.Incomplete, incomplete, "%v", incomplete)
		default:
			return nil
		}
	}
	return command
}

// compareCommand are the flags of compare.
type compareCommand struct {
	php, phpKeyFile, bookside, keyFile string
	logs                               []string
	requests                           string
	rate                               float64
	most                               int
	json                               bool
}

// run returns the comparison of both servers.
func (c compareCommand) run() (r compare.Run, err error) {
	phpKey, err := readKey("--php-key-file", c.phpKeyFile)
	if err != nil {
		return r, err
	}
	key := phpKey
	if c.keyFile != "" {
		if key, err = readKey("--key-file", c.keyFile); err != nil {
			return r, err
		}
	}
	r = compare.Run{Rate: c.rate, Routes: handlers.Reads()}
	if r.PHP, err = compare.NewSide(c.php, phpKey); err != nil {
		return r, usageErrorf("--php: %v", err)
	}
	if r.Bookside, err = compare.NewSide(c.bookside, key); err != nil {
		return r, usageErrorf("--bookside: %v", err)
	}
	return r, nil
}

// readKey reads a key from a file.
func readKey(flagName, file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", usageErrorf("%s: %v", flagName, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// traffic reads the requests.
func (c compareCommand) traffic() (t *compare.Traffic, err error) {
	if c.requests != "" {
		t, err = compare.ReadList(c.requests)
	} else {
		t, err = compare.ReadLogs(c.logs)
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
