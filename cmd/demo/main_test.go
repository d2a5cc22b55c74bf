package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var curlLine = regexp.MustCompile(`^curl -H 'X-API-Key: (lp_test_\w+)' '(http://[^']+)'$`)

// TestDemo starts the demo on a free port and does what its curl line says.
func TestDemo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	output, printed := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-listen", "127.0.0.1:0"}, time.Now, printed, io.Discard)
		_ = printed.Close()
	}()
	var key, url string
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if found := curlLine.FindStringSubmatch(lines.Text()); found != nil {
			key, url = found[1], found[2]
		}
		if strings.HasPrefix(lines.Text(), "listening on ") {
			break
		}
	}
	if url == "" {
		t.Fatalf("no curl line was printed: %v", <-ended)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list struct {
		Success    bool
		Data       []map[string]any
		Pagination struct{ Total int }
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || !list.Success || len(list.Data) != 2 || list.Pagination.Total < 250 {
		t.Errorf("status %d, success %v, %d of %d bookings", response.StatusCode, list.Success, len(list.Data), list.Pagination.Total)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the demo ended with %v", err)
	}
}
