package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/settings"
)

func TestLogFormats(t *testing.T) {
	t.Parallel()
	for format, text := range map[string]bool{settings.FormatAuto: false, settings.FormatJSON: false, settings.FormatText: true} { // a buffer is not a terminal
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := newLog(&out, "warn", format, nil)
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
