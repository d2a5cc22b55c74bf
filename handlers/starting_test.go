package handlers_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bookside/bookside/handlers"
)

// TestStarting: while the site is being opened, requests wait for a while and are then served; those that
// come too early get a 503 that says when to retry.
func TestStarting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opened time.Duration // when the site is open
		want   int
	}{
		"in time":  {2 * time.Second, http.StatusNoContent},
		"too late": {4 * time.Second, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.DiscardHandler)
				s := handlers.NewStarting(time.Now, log, handlers.Options{BasePaths: []string{"/v1"}}, 3*time.Second)
				time.AfterFunc(test.opened, func() {
					s.Open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
				})
				ask := func() *httptest.ResponseRecorder {
					recorder := httptest.NewRecorder()
					s.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/bookings", nil))
					return recorder
				}
				answer := ask()
				body, _ := io.ReadAll(answer.Result().Body)
				if answer.Code != test.want || answer.Code == http.StatusServiceUnavailable && answer.Header().Get("Retry-After") == "" {
					t.Errorf("%d %v %s, want %d", answer.Code, answer.Header(), body, test.want)
				}
				time.Sleep(test.opened)
				if answer := ask(); answer.Code != http.StatusNoContent {
					t.Errorf("after the start: %d", answer.Code)
				}
			})
		})
	}
}
