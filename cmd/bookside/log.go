package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
)

// The values of log.format.
const (
	formatAuto = "auto"
	formatText = "text"
	formatJSON = "json"
)

var logFormats = []string{formatAuto, formatText, formatJSON}

// newLog returns a log that is written to w.
func newLog(w io.Writer, level slog.Level, format string, env []string) *slog.Logger {
	if format == formatText || format == formatAuto && isTerminal(w) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !mayColor(w, env)}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// mayColor reports whether what is written to w may have colors: w is a terminal, and its
// user has not set NO_COLOR.
func mayColor(w io.Writer, env []string) bool { return isTerminal(w) && lookup(env, "NO_COLOR") == "" }

// isTerminal reports whether w is a terminal, and not another device, such as /dev/null.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	return isatty.IsTerminal(file.Fd())
}

// logLevel accepts only the four plain words, unlike slog, which also parses INFO+2.
func logLevel(text string) (slog.Level, error) {
	switch text {
	case "debug", "info", "warn", "error":
		var level slog.Level
		err := level.UnmarshalText([]byte(text))
		return level, err
	default:
		return 0, fmt.Errorf("log level %q", text)
	}
}
