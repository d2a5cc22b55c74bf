package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestLog: a buffer is not a terminal, so it gets JSON.
func TestLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := newLog(&out, "warn", nil)
	log.Info("too much")
	log.Warn("bookings overlap", "agent_id", 7)
	if line := out.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "bookings overlap") || !json.Valid([]byte(line)) {
		t.Errorf("log %q", line)
	}
}
