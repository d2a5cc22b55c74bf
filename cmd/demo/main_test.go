package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures/expect"
)

var (
	curlLine    = regexp.MustCompile(`^curl -H 'X-API-Key: (lp_test_\w+)' '(http://[^']+)/bookings\?per_page=2'$`)
	consoleLine = regexp.MustCompile(`^console +(http://[^ ]+)`)
	epoch       = regexp.MustCompile(`"cursor":"[a-z0-9]+-([0-9]+)"`)
)

// demo is a running program.
type demo struct {
	lines      []string // that it printed until it listened
	key        string
	api, admin string // addresses, such as http://127.0.0.1:8080/v1
}

// startDemo starts the program on free ports. It ends with the test, without an error.
func startDemo(t *testing.T, now domain.Clock, args ...string) demo {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	output, printed := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append(args, "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0"), now, printed, io.Discard)
		_ = printed.Close()
	}()
	var d demo
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		d.lines = append(d.lines, lines.Text())
		if found := curlLine.FindStringSubmatch(lines.Text()); found != nil {
			d.key, d.api = found[1], found[2]
		}
		if found := consoleLine.FindStringSubmatch(lines.Text()); found != nil {
			d.admin = found[1]
		}
		if strings.HasPrefix(lines.Text(), "listening on ") {
			break
		}
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the demo ended with %v", err)
		}
	})
	if d.api == "" || d.admin == "" {
		t.Fatalf("no address was printed: %q", d.lines)
	}
	return d
}

// line returns the line that begins with a word.
func (d demo) line(word string) string {
	for _, line := range d.lines {
		if strings.HasPrefix(line, word+" ") {
			return line
		}
	}
	return ""
}

// TestDemo starts the demo and follows its curl line.
func TestDemo(t *testing.T) {
	d := startDemo(t, time.Now)
	var list struct {
		Success    bool
		Data       []map[string]any
		Pagination struct{ Total int }
	}
	if status := ask(t, http.MethodGet, d.api+"/bookings?per_page=2", d.key, "", &list); status != http.StatusOK || !list.Success || len(list.Data) != 2 || list.Pagination.Total < 250 {
		t.Errorf("status %d, success %v, %d of %d bookings", status, list.Success, len(list.Data), list.Pagination.Total)
	}
	day, found := strings.CutPrefix(d.lines[0][strings.LastIndex(d.lines[0], " ")+1:], d.api+"/bookings?")
	if status := ask(t, http.MethodGet, d.api+"/bookings?"+day, d.key, "", &list); !found || !strings.HasPrefix(d.lines[0], "making a small practice ") || status != http.StatusOK {
		t.Errorf("the first line is %q, its day's status %d", d.lines[0], status)
	}
	wantPage(t, strings.TrimSuffix(d.api, "/v1")+"/docs", "swagger-ui")
	wantPage(t, d.admin, `action="/console/login"`)
	wantWrites(t, d.api+"/bookings", d.key)
}

// TestHelp: a request for help succeeds.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--help", "-h"} {
		if printed, err := output(t, flag); err != nil || !strings.Contains(printed, "--listen") || !strings.Contains(printed, "\n  "+program+" [flags]\n") {
			t.Errorf("%s: %v, %q", flag, err, printed)
		}
	}
	for _, wrong := range [][]string{{"--lisen", "x"}, {"lode"}, {"load", "dsn"}, {"dump", "--now", "today 08:00", "--anonymise", "dsn"}, {"fixtures", "chek"}} {
		if _, err := output(t, wrong...); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

// output runs the program and returns what it prints.
func output(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var printed strings.Builder
	err := run(t.Context(), args, clock, &printed, &printed)
	return printed.String(), err
}

func clock() time.Time { return time.Date(2027, 1, 11, 7, 0, 0, 0, time.UTC) }

// wantPage opens a page that must contain some HTML.
func wantPage(t *testing.T, url, html string) {
	t.Helper()
	response, err := http.Get(url) //nolint:noctx // the test has a time limit
	expect.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), html) {
		t.Errorf("%s: status %d, %v, %.300s", url, response.StatusCode, err, body)
	}
}

// wantWrites creates, moves and deletes a booking.
func wantWrites(t *testing.T, bookings, key string) {
	t.Helper()
	day := time.Now().AddDate(0, 0, 1)
	for day.Weekday() != time.Wednesday {
		day = day.AddDate(0, 0, 1)
	}
	date := day.Format(time.DateOnly)
	var free struct {
		Data struct {
			Slots []string `json:"available_slots"`
		}
	}
	available := strings.Replace(bookings, "/bookings", "/availability", 1) + "?service_id=2&agent_id=1&date=" + date
	if status := ask(t, http.MethodGet, available, key, "", &free); status != http.StatusOK || len(free.Data.Slots) < 2 {
		t.Fatalf("status %d, free on %s: %v", status, date, free.Data.Slots)
	}
	first, last := free.Data.Slots[0], free.Data.Slots[len(free.Data.Slots)-1]
	var created struct {
		Data struct {
			ID    int
			Start string `json:"start_time"`
		}
	}
	body := `{"service_id":2,"agent_id":1,"start_date":"` + date + `","start_time":"` + first + `","customer":{"first_name":"A","last_name":"B","email":"a@example.org"}}`
	if status := ask(t, http.MethodPost, bookings, key, body, &created); status != http.StatusCreated || created.Data.Start != first {
		t.Fatalf("create: status %d, %+v", status, created)
	}
	booking := bookings + "/" + strconv.Itoa(created.Data.ID)
	if status := ask(t, http.MethodPut, booking, key, `{"start_time":"`+last+`"}`, &created); status != http.StatusOK || created.Data.Start != last {
		t.Errorf("move: status %d, %+v", status, created)
	}
	expect.Equal(t, http.StatusOK, ask(t, http.MethodDelete, booking+"?force=true", key, "", nil), "delete: status")
}

// ask sends a request and decodes the response.
func ask(t *testing.T, method, url, key, body string, into any) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	expect.NoError(t, err)
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	expect.NoError(t, err)
	if into != nil {
		err = json.NewDecoder(response.Body).Decode(into)
	}
	expect.NoError(t, errors.Join(err, response.Body.Close()))
	return response.StatusCode
}
