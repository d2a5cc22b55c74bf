package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

func TestLogFormats(t *testing.T) {
	t.Parallel()
	for format, text := range map[string]bool{formatAuto: false, formatJSON: false, formatText: true} { // a buffer is no terminal
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := newLog(&out, slog.LevelWarn, format, nil)
			log.Info("too much")
			log.Warn("bookings overlap", "agent_id", 7)
			line := out.String()
			if strings.Count(line, "\n") != 1 || strings.Contains(line, "\x1b") || !strings.Contains(line, "bookings overlap") {
				t.Errorf("log %q", line)
			}
			if json.Valid([]byte(line)) == text {
				t.Errorf("%q is JSON: %v", line, !text)
			}
		})
	}
}
