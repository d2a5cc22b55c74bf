package server

import (
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	c.Server.TrustedProxies = []string{"10.0.0.0/8", "192.0.2.1", "::1"}
	options, err := handlerOptions(c)
	expect.NoError(t, err)
	var got []string
	for _, network := range options.TrustedProxies {
		got = append(got, network.String())
	}
	expect.Equal(t, []string{"10.0.0.0/8", "192.0.2.1/32", "::1/128"}, got)
}

// TestPlatformAsksWordPress: without an answer it refuses, unless the owner wants it to go on.
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
}

// TestPlatformRefusesWhatExtensionsDecide: writes are refused only if the owner asks for it.
func TestPlatformRefusesWhatExtensionsDecide(t *testing.T) {
	t.Parallel()
	c := settings.Default()
	if NewPlatform(c, new(wpdb.DB), time.Now).Config.RefuseIgnored {
		t.Error("it refuses by default")
	}
	c.Extensions.Unknown = settings.RefuseUnknown
	if !NewPlatform(c, new(wpdb.DB), time.Now).Config.RefuseIgnored {
		t.Error("it does not refuse")
	}
}
