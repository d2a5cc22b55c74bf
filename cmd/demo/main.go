// Command demo serves a sample site, or one that fixtures describe, with a database engine inside the
// process or on a server: a site to try, and one for tests of other programs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // small images have no zone database

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // small images have no root certificates

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/cmd/internal/printable"
	"github.com/bookside/bookside/fixtures/sitefile"
)

// program is what the program is called: demo from a clone, bookside-demo in a release.
var program = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], time.Now, os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintln(printable.Writer{To: os.Stderr}, complaint(err))
		os.Exit(1)
	}
}

// complaint returns an error as it is printed: mistakes in fixtures begin with their places, as editors expect.
func complaint(err error) string {
	var mistakes sitefile.Errors
	switch {
	case errors.As(err, &mistakes):
		return mistakes.Error()
	case errors.Is(err, context.Canceled):
		return program + ": stopped"
	default:
		return program + ": " + err.Error()
	}
}

// run runs the program. It serves until the context ends.
func run(ctx context.Context, args []string, now domain.Clock, stdout, stderr io.Writer) error {
	c, err := listening(os.Environ())
	if err != nil {
		return err
	}
	root := serve(c, now)
	root.AddCommand(load(now), dump(now), fixtureFiles(now), check(c.Admin.Listen), reset(c.Admin.Listen))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// newCommand returns a command without work.
func newCommand(use, short, long string, args cobra.PositionalArgs) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Args: args, DisableFlagsInUseLine: true}
}
