package server

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/bookside/bookside/handlers/monitor"
)

// Build returns the known facts about the program's build.
func Build() monitor.Build {
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
