package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"github.com/bookside/bookside/cmd/internal/settings"
)

// newLog returns a log that writes to w: text for people in a terminal, and JSON elsewhere.
func newLog(w io.Writer, name string, env []string) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(name)) // always a valid log.level
	if isTerminal(w) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !mayColor(w, env)}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// mayColor reports whether output to w may have colors: w is a terminal, and its user has not set NO_COLOR.
func mayColor(w io.Writer, env []string) bool {
	return isTerminal(w) && settings.Lookup(env, "NO_COLOR") == ""
}

// isTerminal reports whether w is a terminal and not another device, such as /dev/null.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	return isatty.IsTerminal(file.Fd())
}
