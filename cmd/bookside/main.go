// Command bookside serves the booking API of a WordPress site with the
// LatePoint plugin, from the site's own database.
//
// It reads the configuration, wires the other packages together, holds the
// command line and talks to the mail server; rules, shapes and SQL are theirs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // sites name their zone, and small images know none
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the first
	p := program{env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now}
	os.Exit(report(os.Stderr, p.run(ctx, os.Args[1:])))
}
