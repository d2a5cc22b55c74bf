package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"github.com/bookside/bookside/cmd/internal/printable"
	"github.com/bookside/bookside/cmd/internal/settings"
)

// newLog returns a log that writes to w: text for people in a terminal, whose values are filtered because its colors would
// not pass, and JSON elsewhere.
func newLog(w io.Writer, name string, env []string) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(name)) // always a valid log.level
	if terminal := terminalOf(w); terminal != nil {
		return slog.New(tint.NewTextHandler(terminal, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !mayColor(env), ReplaceAttr: printableValue}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

func printableValue(_ []string, a slog.Attr) slog.Attr {
	if text := a.Value.String(); printable.Text(text) != text {
		a.Value = slog.StringValue(printable.Text(text))
	}
	return a
}

// mayColor reports whether output to a terminal may have colors: its user has not set NO_COLOR.
func mayColor(env []string) bool { return settings.Lookup(env, "NO_COLOR") == "" }

// terminalOf returns the terminal to which w writes; nil for anything else, such as /dev/null.
func terminalOf(w io.Writer) *os.File {
	if filtered, ok := w.(printable.Writer); ok {
		w = filtered.To
	}
	if file, ok := w.(*os.File); ok && isatty.IsTerminal(file.Fd()) {
		return file
	}
	return nil
}
