package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"

	"bookside/handlers"
)

const aboutVersion = `Prints the version, the commit it was built from if that is known, and the Go version.`

func (p *program) version(*flag.FlagSet) action {
	return func(context.Context, []string) error {
		return p.print(versionText())
	}
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
func build() handlers.Build {
	b := handlers.Build{Version: "unknown", Go: runtime.Version()}
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
