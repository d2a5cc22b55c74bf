package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	status, asked := http.StatusOK, ""
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path + r.Header.Get("X-API-Key")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("why"))
	}))
	defer console.Close()
	_, port, err := net.SplitHostPort(console.Listener.Addr().String())
	expect.NoError(t, err)
	if printed, err := output(t, "check", "--console", "0.0.0.0:"+port); err != nil || printed != "ready\n" || asked != "GET /readyz" {
		t.Errorf("%v, %q, asked for %s", err, printed, asked)
	}
	if printed, err := output(t, "reset", "--console", "127.0.0.1:"+port, "--key", "?k"); err != nil || printed != "reset\n" || asked != "POST /reset?k" {
		t.Errorf("%v, %q, asked for %s", err, printed, asked)
	}
	status = http.StatusServiceUnavailable
	if _, err := output(t, "check", "--console", "127.0.0.1:"+port); err == nil || !strings.Contains(err.Error(), "503 Service Unavailable why") {
		t.Errorf("a demo that is not ready: %v", err)
	}
	if _, err := output(t, "check", "--console", port); err == nil {
		t.Error("an address without a host is accepted")
	}
}

// TestListening: the environment says where the demo listens, and nothing about a real site.
func TestListening(t *testing.T) {
	t.Parallel()
	c, err := listening([]string{"BOOKSIDE_SERVER__LISTEN=0.0.0.0:80", "BOOKSIDE_ADMIN__LISTEN=0.0.0.0:81", "BOOKSIDE_ADMIN__HOSTS=demo, other", "BOOKSIDE_LOG__LEVEL=debug"})
	expect.NoError(t, err)
	want := settings.Default()
	want.Server.Listen, want.Admin.Listen, want.Admin.Hosts = "0.0.0.0:80", "0.0.0.0:81", []string{"demo", "other"}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreFields(settings.Config{}, "DB.Prefix")); diff != "" {
		t.Error(diff)
	}
}

// TestReachable: the printed address works on the machine that runs the container.
func TestReachable(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{"127.0.0.1:0": "127.0.0.1:", "0.0.0.0:0": "localhost:", ":0": "localhost:"} {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", listen)
		expect.NoError(t, err)
		if got := reachable(listener); !strings.HasPrefix(got, want) || strings.HasSuffix(got, ":0") {
			t.Errorf("%s is reached at %s", listen, got)
		}
		expect.Succeeded(t, listener.Close())
	}
}
