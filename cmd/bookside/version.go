package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"bookside/handlers/monitor"
)

func (p *program) version() *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long:  `Prints the version, the commit it was built from if that is known, and the Go version.`,
	}
	command.RunE = func(_ *cobra.Command, _ []string) error {
		return p.print(versionText())
	}
	return command
}

func versionText() string {
	b := build()
	commit := ""
	if b.Commit != "" {
		commit = " (commit " + b.Commit + ")"
	}
	return fmt.Sprintf("bookside %s%s, %s %s/%s\n", b.Version, commit, b.Go, runtime.GOOS, runtime.GOARCH)
}

// build returns what is known about the build of the program.
func build() monitor.Build {
	b := monitor.Build{Version: "unknown", Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(info.Main.Version, b.Version)
		b.Commit = commitOf(info.Settings)
	}
	return b
}

func commitOf(settings []debug.BuildSetting) string {
	var revision, changed string
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				changed = ", changed"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}
