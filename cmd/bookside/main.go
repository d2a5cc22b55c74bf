// Command bookside serves the booking API of a WordPress site with the
// LatePoint plugin, from the site's own database.
//
// It has the command line, the configuration, the listeners and the mail client,
// and wires the other packages together; rules, formats and SQL are theirs. It
// may import every package but cmd/demo and fixtures.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // small images have no zone database
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	p := program{env: withSystemConfig(os.Environ(), systemConfig), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now}
	os.Exit(report(os.Stderr, p.run(ctx, os.Args[1:])))
}
