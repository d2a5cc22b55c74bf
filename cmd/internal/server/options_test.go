package server

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

// TestRequestMemory: the memory for requests follows the runtime's limit, unless it is
// configured.
func TestRequestMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		configured    int
		limit, wanted int64
	}{
		"no limit":             {0, math.MaxInt64, 128 << 20},
		"the unit's limit":     {0, 192 << 20, 128 << 20},
		"a higher limit":       {0, 3 << 30, 2 << 30},
		"a limit too low":      {0, 32 << 20, 64 << 20},
		"configured":           {100, 192 << 20, 100 << 20},
		"configured, no limit": {100, math.MaxInt64, 100 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var c settings.Config
			c.Server.MemoryMiB = test.configured
			if got := requestMemory(c, test.limit); got != test.wanted {
				t.Errorf("%s: %d bytes, want %d", name, got, test.wanted)
			}
		})
	}
}

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	c.Server.TrustedProxies = []string{"10.0.0.0/8", "192.0.2.1", "::1"}
	options, err := handlerOptions(c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, network := range options.TrustedProxies {
		got = append(got, network.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.0/8", "192.0.2.1/32", "::1/128"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPlatformAsksWordPress: unless the owner does not want it.
func TestPlatformAsksWordPress(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	if asker := NewPlatform(c, new(wpdb.DB), time.Now).Asker; asker == nil || asker.Serve {
		t.Error("by default it does not ask, or goes on without an answer")
	}
	c.Extensions.Unreachable = settings.ServeUnreachable
	if !NewPlatform(c, new(wpdb.DB), time.Now).Asker.Serve {
		t.Error("it does not go on without an answer")
	}
	c.Extensions.Ask = settings.AskNever
	if NewPlatform(c, new(wpdb.DB), time.Now).Asker != nil {
		t.Error("it asks")
	}
}

// TestPlatformRefusesWhatExtensionsDecide: writes are refused only if the owner asks for it.
func TestPlatformRefusesWhatExtensionsDecide(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	if NewPlatform(c, new(wpdb.DB), time.Now).RefuseIgnored {
		t.Error("it refuses by default")
	}
	c.Extensions.Unknown = settings.RefuseUnknown
	if !NewPlatform(c, new(wpdb.DB), time.Now).RefuseIgnored {
		t.Error("it does not refuse")
	}
}
