package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/internal/server"
)

func (p *program) version() *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long:  `Prints the version, the commit it was built from if known, and the Go version.`,
	}
	command.RunE = func(_ *cobra.Command, _ []string) error {
		return p.print(versionText())
	}
	return command
}

func versionText() string {
	b := server.Build()
	commit := ""
	if b.Commit != "" {
		commit = " (commit " + b.Commit + ")"
	}
	return fmt.Sprintf("bookside %s%s, %s %s/%s\n", b.Version, commit, b.Go, runtime.GOOS, runtime.GOARCH)
}
