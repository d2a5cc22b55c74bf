package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
)

const aboutVersion = `Prints the version, the commit it was built from where that is known, and the Go version.`

func (p *program) version(*flag.FlagSet) action {
	return func(context.Context, []string) error {
		return p.print(versionText())
	}
}

func versionText() string {
	version, commit := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(info.Main.Version, version)
		commit = commitOf(info.Settings)
	}
	return fmt.Sprintf("bookside %s%s, %s %s/%s\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
	return " (commit " + revision + changed + ")"
}
