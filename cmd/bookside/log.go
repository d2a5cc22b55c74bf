package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lmittmann/tint"
)

// The values of log.format.
const (
	formatAuto = "auto"
	formatText = "text"
	formatJSON = "json"
)

var logFormats = []string{formatAuto, formatText, formatJSON}

// newLog returns a log that is written to w. Colors are for terminals whose users have not
// set NO_COLOR.
func newLog(w io.Writer, level slog.Level, format string, env []string) *slog.Logger {
	terminal := isTerminal(w)
	if format == formatText || format == formatAuto && terminal {
		noColor := slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, "NO_COLOR=") && entry != "NO_COLOR=" })
		return slog.New(tint.NewHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: noColor || !terminal}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
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
