package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/settings"
)

// TestDevices: a device other than a terminal does not count as one.
func TestDevices(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	if isTerminal(null) || mayColor(null, nil) {
		t.Errorf("%s is taken for a terminal", os.DevNull)
	}
}

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
