package extensions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/companiontest"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// newCompanion returns a companion that reports what it is asked in begun, and answers once there is a value in answers.
func newCompanion(t *testing.T) (to *extensions.Companion, begun chan string, answers chan struct{}) {
	t.Helper()
	clock := fixtures.NewClock(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))
	db := wpdbtest.Open(t, fixtures.New(t, fixtures.Small(clock.Now())), 4)
	begun, answers = make(chan string, 10), make(chan struct{}, 10)
	to = companiontest.New(t, db, clock.Now, func(action string, _ json.RawMessage) (int, any) {
		begun <- action
		<-answers
		return http.StatusOK, map[string]any{}
	})
	return to, begun, answers
}

// askShortly asks without waiting long for the answer.
func askShortly(t *testing.T, to *extensions.Companion, what string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return to.Ask(ctx, what, nil, &struct{}{})
}

// TestLateRequestsCount: requests that WordPress goes on with after nobody waits for them any more count as in progress, so that
// PHP's workers are never all ours.
func TestLateRequestsCount(t *testing.T) {
	t.Parallel()
	to, begun, answers := newCompanion(t)
	for range 2 {
		expect.Error(t, extensions.ErrBroken, askShortly(t, to, "slow"))
	}
	if err := askShortly(t, to, "next"); !errors.Is(err, extensions.ErrAway) || errors.Is(err, extensions.ErrBroken) || errors.Is(err, extensions.ErrBusy) {
		t.Errorf("%v, want that WordPress is at work still", err)
	}
	for range 3 {
		answers <- struct{}{}
	}
	expect.Succeeded(t, to.Ask(t.Context(), "last", nil, &struct{}{}))
	close(begun)
	var all []string
	for what := range begun {
		all = append(all, what)
	}
	if len(all) != 3 || all[2] != "last" {
		t.Errorf("begun %q", all)
	}
}

// TestRequestsAreWithdrawn: a request that has not been begun when nobody waits for it any more is never begun.
func TestRequestsAreWithdrawn(t *testing.T) {
	t.Parallel()
	to, begun, answers := newCompanion(t)
	answers <- struct{}{}
	companionAt := to.Loopback
	arrives, done := make(chan struct{}), make(chan struct{})
	queue := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		defer close(done)
		body, err := io.ReadAll(in.Body)
		expect.Succeeded(t, err)
		<-arrives
		out, err := http.NewRequestWithContext(context.WithoutCancel(in.Context()), in.Method, companionAt+in.RequestURI, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		out.Host, out.Header = in.Host, in.Header
		if answer, err := http.DefaultClient.Do(out); err == nil {
			_ = answer.Body.Close()
		}
	}))
	t.Cleanup(queue.Close)
	to.Loopback = queue.URL
	if err := askShortly(t, to, "queued"); !errors.Is(err, extensions.ErrAway) || errors.Is(err, extensions.ErrBroken) {
		t.Errorf("%v, want that it was not begun", err)
	}
	close(arrives)
	<-done
	expect.Equal(t, 0, len(begun), "it was begun nevertheless")
}
