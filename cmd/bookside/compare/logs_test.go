package compare

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	expect.NoError(t, err)
	expect.NoError(t, w.Close())
	return b.String()
}

func texts(requests []Request) []string {
	all := make([]string, len(requests))
	for i, r := range requests {
		all[i] = r.String()
	}
	return all
}

// TestLogLines: the requests in all kinds of logs are found, without their keys.
func TestLogLines(t *testing.T) {
	t.Parallel()
	const base = "/wp-json/latepoint-api/v1"
	tests := []struct{ name, line, want string }{ // want is empty for a line without a GET to the API
		{"nginx", `192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET ` + base + `/bookings?page=2 HTTP/1.1" 200 512 "-" "curl/8"`, "/bookings?page=2"},
		{"nginx, a key", `192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET ` + base + `/bookings?api_key=s3cret&page=2 HTTP/1.1" 200 512 "https://a/?b" "x"`, "/bookings?page=2"},
		{"nginx, a masked key", `192.0.2.7 - - [x] "GET ` + base + `/bookings?page=2&secret_name=*** HTTP/2.0" 200 512 "-" "x" 127.0.0.1:8080 200 0.01`, "/bookings?page=2"},
		{"key of Bookside under another name", `- - - [x] "GET ` + base + `/status?k=lp_live_abc HTTP/1.1" 200 1`, "/status"},
		{"encoded name of a key", `- - - [x] "GET ` + base + `/status?%2561pi_key=s3cret&api%5Fkey=s3cret HTTP/1.1" 200 1`, "/status"},
		{"a key behind a second question mark", `- - - [x] "GET ` + base + `/bookings?page=2?api_key=s3cret&per_page=5 HTTP/1.1" 200 1`, "/bookings?per_page=5"},
		{"a key in the path", `- - - [x] "GET ` + base + `/bookings&api_key=s3cret HTTP/1.1" 200 1`, ""},
		{"a key in the path, encoded", `- - - [x] "GET ` + base + `/bookings%3Fapi%5Fkey=s3cret HTTP/1.1" 200 1`, ""},
		{"key of Bookside in the path", `- - - [x] "GET ` + base + `/bookings/lp_live_abc HTTP/1.1" 200 1`, ""},
		{"a key in the route", `- - - [x] "GET /?rest_route=/latepoint-api/v1/bookings?api_key=s3cret HTTP/1.1" 200 1`, ""},
		{"other names of keys", `- - - [x] "GET ` + base + `/status?x-api-key=s&X-API-Key=s&key[]=s&authorization=s&auth=s&pwd=s HTTP/1.1" 200 1`, "/status"},
		{"a key as a name", `- - - [x] "GET ` + base + `/status?lp_live_abc=&page=1&k=Bearer%20lp_live_abc HTTP/1.1" 200 1`, "/status?page=1"},
		{"Apache, common", `host - frank [22/Nov/2026:10:00:00 +0000] "GET ` + base + `/agents HTTP/1.0" 200 2326`, "/agents"},
		{"Apache, virtual hosts", `example.com:443 192.0.2.7 - - [22/Nov/2026:10:00:00 +0000] "GET ` + base + `/orders/7/invoices/ HTTP/1.1" 200 1 "-" "-"`, "/orders/7/invoices"},
		{"a quote in the URI", `- - - [x] "GET ` + base + `/customers?search=a\x22b&email=\"c HTTP/1.1" 200 1 "-" "GET /x HTTP/1.1"`, "/customers?email=%22c&search=a%22b"},
		{"subdirectory", `- - - [x] "GET /blog/index.php` + base + `/services HTTP/1.1" 200 1`, "/services"},
		{"plain permalinks", `- - - [x] "GET /?rest_route=%2Flatepoint-api%2Fv1%2Fcoupons%2FA%20B&page=1 HTTP/1.1" 200 1`, "/coupons/A%20B?page=1"},
		{"encoded slash", `- - - [x] "GET ` + base + `/coupons/A%2FB HTTP/1.1" 200 1`, "/coupons/A%2FB"},
		{"meta_key is no key", `- - - [x] "GET ` + base + `/bookings?meta_key=a&meta_value=b HTTP/1.1" 200 1`, "/bookings?meta_key=a&meta_value=b"},
		{"Caddy", `{"level":"info","request":{"method":"GET","host":"a","uri":"` + base + `/payments?status=failed&api_key=***"},"status":200}`, "/payments?status=failed"},
		{"Caddy, POST", `{"request":{"method":"POST","uri":"` + base + `/payments"}}`, ""},
		{"Caddy, cut off", `{"request":{"method":"GET","uri":"` + base, ""},
		{"POST", `- - - [x] "POST ` + base + `/bookings HTTP/1.1" 201 1`, ""},
		{"another page", `- - - [x] "GET /wp-json/wp/v2/posts HTTP/1.1" 200 1`, ""},
		{"another version", `- - - [x] "GET ` + base + `0/bookings HTTP/1.1" 200 1`, ""},
		{"no request", `192.0.2.7 - - [x] "\x16\x03\x01" 400 150 "-" "-"`, ""},
		{"the API only as referrer", `- - - [x] "GET / HTTP/1.1" 200 1 "https://a` + base + `/bookings" "-"`, ""},
	}
	for _, test := range tests {
		traffic, err := ReadLogs([]string{write(t, "access.log", test.line+"\n")})
		expect.NoError(t, err, test.name)
		expect.Equal(t, test.want, strings.Join(texts(traffic.Requests), " "), test.name, ": requests")
	}
}

func TestRotatedLogsAreReadOnceEach(t *testing.T) {
	t.Parallel()
	const line = `- - - [x] "GET /wp-json/latepoint-api/v1/bookings/%s HTTP/1.1" 200 1` + "\n"
	directory := t.TempDir()
	for name, text := range map[string]string{
		"access.log":      strings.ReplaceAll(line, "%s", "1") + strings.ReplaceAll(line, "%s", "1"),
		"access.log.1":    strings.ReplaceAll(line, "%s", "2"),
		"access.log.2.gz": gzipped(t, strings.ReplaceAll(line, "%s", "3")+strings.ReplaceAll(line, "%s", "2")+strings.ReplaceAll(strings.ReplaceAll(line, "%s", "3"), "GET", "PUT")),
	} {
		expect.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600))
	}
	traffic, err := ReadLogs([]string{filepath.Join(directory, "access.log*"), filepath.Join(directory, "access.log.1")})
	expect.NoError(t, err)
	expect.Equal(t, []string{"/bookings/1", "/bookings/2", "/bookings/3"}, texts(traffic.Requests), "requests")
	if traffic.Lines != 6 || traffic.Requests[0].times != 2 {
		t.Errorf("%d lines, the first one %d times", traffic.Lines, traffic.Requests[0].times)
	}
	if _, err := ReadLogs([]string{filepath.Join(directory, "nothing*")}); err == nil {
		t.Error("a pattern without files is no error")
	}
	if _, err := ReadLogs([]string{write(t, "broken.gz", gzipped(t, line)[:20])}); err == nil {
		t.Error("a broken gzip file is no error")
	}
	if _, err := ReadLogs([]string{write(t, "long", strings.Repeat("x", maxLine+5))}); err == nil {
		t.Error("a line that is too long is no error")
	}
}

func TestReadList(t *testing.T) {
	t.Parallel()
	list := "# comment\n\n/bookings?page=2&api_key=s\nGET /agents/3\nhttps://example.com/wp-json/latepoint-api/v1/status\n/wp-json/latepoint-api/v1/orders\n"
	traffic, err := ReadList(write(t, "list", list))
	expect.NoError(t, err)
	expect.Equal(t, []string{"/bookings?page=2", "/agents/3", "/status", "/orders"}, texts(traffic.Requests), "requests")
	if _, err := ReadList(write(t, "list", "/status\nPOST /bookings\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a POST in the list: %v", err)
	}
}

// TestPickTakesShapesInTurn: a limit does not leave out any combination of parameters.
func TestPickTakesShapesInTurn(t *testing.T) {
	t.Parallel()
	traffic := &Traffic{seen: map[string]int{}}
	for _, path := range []string{"/bookings/1", "/bookings/2", "/bookings/2", "/bookings?page=1", "/bookings?page=2", "/customers?page=1"} {
		r, _ := parseURI(apiPath + path)
		traffic.add(r)
	}
	want := []string{"/bookings/2", "/bookings?page=1", "/customers?page=1", "/bookings/1"}
	expect.Equal(t, want, texts(traffic.Pick(testRoutes, 4)), "picked")
	expect.Equal(t, 5, len(traffic.Pick(testRoutes, 0)), "without a limit")
}
