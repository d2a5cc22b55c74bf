package wpdb

import (
	"testing"
	"time"
)

// TestServerTimesOutFirst: unless told otherwise, a client waits longer for a statement than the server
// lets it run.
func TestServerTimesOutFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ statement, io, want time.Duration }{
		{0, 0, 15 * time.Second},
		{time.Second, 0, 6 * time.Second},
		{time.Minute, 0, 65 * time.Second},
		{time.Minute, time.Second, time.Second},
	} {
		config, _, err := Config{DSN: "user@tcp(localhost)/site", Prefix: "wp_", StatementTimeout: c.statement, IOTimeout: c.io}.withDefaults()
		if err != nil || config.IOTimeout != c.want || config.MaxOpen != 10 {
			t.Errorf("statements of %v: %v on %d connections (%v), want %v on 10", c.statement, config.IOTimeout, config.MaxOpen, err, c.want)
		}
	}
}
