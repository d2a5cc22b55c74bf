package records_test

import (
	"bufio"
	"bytes"
	std "cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// rows returns the rows of a table without the names of its columns.
func rows(a apitest.Answer) (names []string, rows [][]string) {
	a.T.Helper()
	all, err := csv.NewReader(bytes.NewReader(a.Body)).ReadAll()
	if err != nil || len(all) == 0 {
		a.T.Fatalf("%v in %.500q", err, a.Body)
	}
	return all[0], all[1:]
}

// ids returns the cells of the column of ids.
func ids(a apitest.Answer) []string {
	a.T.Helper()
	names, rows := rows(a)
	at := slices.Index(names, "id")
	if at < 0 {
		a.T.Fatalf("no column id in %v", names)
	}
	cells := []string{}
	for _, row := range rows {
		cells = append(cells, row[at])
	}
	return cells
}

// exportedLists are the paths of all lists with other formats.
var exportedLists = []string{"/bookings", "/customers", "/agents", "/services", "/services/categories", "/locations", "/payments", "/orders", "/coupons"}

// TestTablesOfAllLists: each list as a table, with nested records and with fields that exist only on
// request.
func TestTablesOfAllLists(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	for _, path := range append(slices.Clone(exportedLists), "/bookings?include_meta=true", "/services?include=category,agents,locations", "/customers?search=nobody") {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			join := "?"
			if strings.Contains(path, "?") {
				join = "&"
			}
			a := s.Export(path+join+"per_page=100000", "text/csv").Want(http.StatusOK)
			name := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-", ",", "-").Replace(path), "-")
			lines := bytes.SplitAfter(a.Body, []byte("\r\n"))
			apitest.GoldenFile(t, filepath.Join("tables", name+".csv"), bytes.Join(lines[:min(6, len(lines))], nil))
			want := []string{}
			for page := 1; ; page++ {
				listed := s.Get(fmt.Sprintf("%s%sper_page=100&page=%d", path, join, page)).Want(http.StatusOK)
				for _, record := range listed.Records() {
					want = append(want, fmt.Sprint(record["id"]))
				}
				expect.Equal(t, "Accept", listed.Header.Get("Vary"), "JSON: Vary")
				if len(listed.Records()) < 100 {
					break
				}
			}
			byID(want)
			expect.Equal(t, want, ids(a), fmt.Sprintf("records, of %d", len(want)))
			for name, value := range map[string]string{
				"Content-Type": "text/csv; charset=utf-8", "Vary": "Accept", "X-Total-Count": fmt.Sprint(len(want)), "Link": "", "ETag": "", "Cache-Control": "no-store",
			} {
				expect.Equal(t, value, a.Header.Get(name), name)
			}
			if disposition := a.Header.Get("Content-Disposition"); !strings.HasPrefix(disposition, "attachment; filename=") || !strings.HasSuffix(disposition, `.csv"`) {
				t.Errorf("Content-Disposition is %q", disposition)
			}
		})
	}
}

// byID sorts ids that are texts.
func byID(ids []string) {
	slices.SortFunc(ids, func(a, b string) int { return std.Or(std.Compare(len(a), len(b)), std.Compare(a, b)) })
}

// TestLongTables: a list of several chunks has its records by id, and ends where per_page says.
func TestLongTables(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA())
	for _, query := range fixtures.Sample([]string{"", "sort=customer_name&order=asc", "status=approved&sort=created_at", "search=a&sort=id"}, 3) {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			var want []string
			for _, id := range (listing{path: "/bookings"}).allIDs(t, s, query) {
				want = append(want, fmt.Sprint(id))
			}
			byID(want)
			whole := s.Export("/bookings?per_page=100000&"+query, "text/csv").Want(http.StatusOK)
			if got := ids(whole); len(want) <= 500 || !slices.Equal(want, got) {
				t.Errorf("%d of %d records:\n%s", len(got), len(want), cmp.Diff(want, got))
			}
			part := s.Export("/bookings?per_page=700&page=2&api_key=secret&%61pi_key=secret&"+query, "text/csv").Want(http.StatusOK)
			expect.Equal(t, want[700:min(1400, len(want))], ids(part), "page 2")
			expect.Equal(t, fmt.Sprint(len(want)), part.Header.Get("X-Total-Count"), "page 2: the total")
			next := ""
			if len(want) > 1400 {
				next = strings.TrimSuffix("<?per_page=700&"+query, "&") + `&page=3>; rel="next"`
			}
			expect.Equal(t, next, part.Header.Get("Link"), "page 2: the next one")
		})
	}
}

// TestAccept: only a client that names another format gets it, and only if it does not prefer JSON.
func TestAccept(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA().WithFewBookings())
	const jsonType, table, calendar = "application/json; charset=UTF-8", "text/csv; charset=utf-8", "text/calendar; charset=utf-8"
	want := s.Get("/bookings?per_page=3").Want(http.StatusOK)
	for accept, form := range map[string]string{
		"":                                  jsonType,
		"*/*":                               jsonType,
		"application/json":                  jsonType,
		"text/html,*/*;q=0.8":               jsonType,
		"text/csv;q=0":                      jsonType,
		"application/json, text/csv":        jsonType,
		"text/csv;q=0.5, application/json":  jsonType,
		"text/csv;q=0.5, */*;q=0.6":         jsonType,
		"text/csv":                          table,
		"Text/CSV ; header=present":         table,
		"*/*, text/csv":                     table,
		"text/csv, application/json":        table,
		"text/csv;q=0.2, */*;q=0.1":         table,
		"text/calendar":                     calendar,
		"text/csv;q=0.5,text/calendar;q=.6": calendar,
	} {
		a := s.Do(http.MethodGet, "/v1/bookings?per_page=3", http.Header{"X-Api-Key": {s.Key}, "Accept": {accept}}).Want(http.StatusOK)
		expect.Equal(t, form, a.Header.Get("Content-Type"), fmt.Sprintf("%q", accept))
		if form == jsonType && (!bytes.Equal(a.Body, want.Body) || a.Header.Get("ETag") != want.Header.Get("ETag")) {
			t.Errorf("%q: other JSON", accept)
		}
	}
	for _, path := range []string{"/status", "/bookings/53", "/orders/40/transactions"} {
		if a := s.Export(path, "text/csv, text/calendar"); a.Header.Get("Content-Type") != jsonType || a.Header.Get("Vary") != "Accept" {
			t.Errorf("%s: %s, Vary %q", path, a.Header.Get("Content-Type"), a.Header.Get("Vary"))
		}
	}
	expect.Equal(t, jsonType, s.Export("/customers", "text/calendar").Want(http.StatusOK).Header.Get("Content-Type"), "customers")
}

// TestExportsRefuseWhatListsRefuse: errors are in JSON, as without a format.
func TestExportsRefuseWhatListsRefuse(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA().WithFewBookings())
	for path, field := range map[string]string{"/bookings?per_page=100001": "per_page", "/bookings?page=70368744177665": "page", "/bookings?date_from=tomorrow": "date_from"} {
		for _, accept := range []string{"text/csv", "text/calendar"} {
			if a := s.Export(path, accept).Want(http.StatusBadRequest); a.At("error", "details", field) == nil {
				t.Errorf("%s as %s: %s", path, accept, a.Body)
			}
		}
	}
	s.Get("/bookings?per_page=101").Want(http.StatusBadRequest)
	s.Export("/bookings?page=70368744177664&per_page=100000", "text/csv").Want(http.StatusOK)
	s.Key = s.NewKey("read_agents")
	s.Export("/bookings", "text/csv").Want(http.StatusForbidden)
}

// TestExportsOfLimitedKeys: a key gets in a table what it gets in JSON: records within its scope, nothing
// that needs a permission it lacks, and personal data masked if it masks them. A calendar contains nothing
// that could be masked.
func TestExportsOfLimitedKeys(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	for name, key := range map[string]keys.NewKey{
		"limits":      {Permissions: []string{"read"}, Scope: domain.Scope{Agents: []int64{1}}},
		"mask":        {Permissions: []string{"read"}, MaskPersonal: true},
		"permissions": {Permissions: []string{"read_bookings", "read_services", "read_coupons", "read_customers"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limited := *s
			limited.Key, _ = apitest.CreateKey(t, s.Keys, key)
			for _, path := range exportedLists {
				listed := limited.Get(path + "?per_page=100")
				a := limited.Export(path+"?per_page=100000", "text/csv").Want(listed.Status)
				if a.Status != http.StatusOK {
					continue
				}
				names, rows := rows(a)
				for _, record := range listed.Records() {
					i := slices.IndexFunc(rows, func(row []string) bool { return row[slices.Index(names, "id")] == fmt.Sprint(record["id"]) })
					if i < 0 {
						t.Errorf("%s: no row of %v", path, record["id"])
						continue
					}
					if customer, ok := record["customer"].(map[string]any); ok {
						record["customer.email"] = customer["email"]
					}
					for at, name := range names {
						if text, ok := record[name].(string); ok && strings.TrimPrefix(rows[i][at], "'") != text {
							t.Errorf("%s: %s is %q, not %q", path, name, rows[i][at], text)
						}
					}
				}
			}
			listed := limited.Get("/bookings?per_page=100&sort=id&order=asc").Records()
			calendar := string(limited.Export("/bookings?per_page=100", "text/calendar").Want(http.StatusOK).Body)
			if events := strings.Count(calendar, "BEGIN:VEVENT"); events != len(listed) || events == 0 || name == "mask" && strings.Contains(calendar, "customer") {
				t.Errorf("%d events of %d bookings: %.500s", events, len(listed), calendar)
			}
		})
	}
}

// TestCalendarOfBookings: events have the times of bookings, and those without a time are left
// out.
func TestCalendarOfBookings(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET start_time = NULL WHERE id = (SELECT * FROM (SELECT MIN(id) FROM wp_latepoint_bookings) x)")
	bookings := s.Get("/bookings?per_page=100&sort=id&order=asc").Want(http.StatusOK).Records()
	a := s.Export("/bookings?per_page=100&sort=id&order=asc", "text/calendar").Want(http.StatusOK)
	lines := bytes.SplitAfter(a.Body, []byte("END:VEVENT\r\n"))
	apitest.GoldenFile(t, filepath.Join("tables", "bookings.ics"), bytes.Join(lines[:3], nil))
	calendar, err := ics.ParseCalendar(bytes.NewReader(a.Body))
	expect.NoError(t, err)
	events := calendar.Events()
	if len(events) != len(bookings)-1 || len(events) < 5 {
		t.Fatalf("%d events of %d bookings", len(events), len(bookings))
	}
	for i, event := range events[:5] {
		start, err := event.GetStartAt()
		detail := s.Get("/bookings/" + fmt.Sprint(bookings[i+1]["id"])).Want(http.StatusOK)
		want, _ := time.Parse(time.RFC3339, fmt.Sprint(detail.At("data", "start_datetime")))
		if err != nil || !start.Equal(want) || !strings.HasPrefix(event.Id(), fmt.Sprint(bookings[i+1]["booking_code"], "@")) {
			t.Errorf("event %s starts at %v, not %v", event.Id(), start, want)
		}
	}
	if a := s.Export("/bookings?search=nobody", "text/calendar").Want(http.StatusOK); !strings.HasPrefix(string(a.Body), "BEGIN:VCALENDAR\r\n") || !strings.HasSuffix(string(a.Body), "END:VCALENDAR\r\n") {
		t.Errorf("no bookings: %q", a.Body)
	}
}

// TestExportsCountBySize: a request counts once per hundred records or part of it, and one that counts as
// too many is rejected before anything is sent.
func TestExportsCountBySize(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA(), apitest.LimitRate(20, 1000))
	left := func(a apitest.Answer) string { return a.Header.Get("X-RateLimit-Remaining") }
	for _, c := range []struct{ path, left string }{
		{"/bookings?per_page=100", "19"}, {"/bookings?per_page=101", "17"}, {"/bookings?per_page=1000", "7"}, {"/bookings?per_page=100000&page=2", "6"}, {"/bookings?per_page=1990&page=2", "5"},
	} {
		expect.Equal(t, c.left, left(s.Export(c.path, "text/csv").Want(http.StatusOK)), fmt.Sprintf("%s: requests left", c.path))
	}
	a := s.Export("/bookings?per_page=100000", "text/csv").Want(http.StatusTooManyRequests)
	apitest.WantContains(t, "counts as 20", fmt.Sprint(a.At("error", "message")), "message")
	head := s.Do(http.MethodHead, "/v1/bookings?per_page=100000", http.Header{"X-Api-Key": {s.Key}, "Accept": {"text/csv"}}).Want(http.StatusOK)
	if len(head.Body) > 0 || head.Header.Get("Content-Type") != "text/csv; charset=utf-8" || head.Header.Get("X-Total-Count") != "2000" || left(head) != "3" {
		t.Errorf("HEAD: %q %v", head.Body, head.Header)
	}
}

// download is a response that a client has begun to read.
type download struct {
	status int
	length int64 // negative if unknown
	body   io.Reader
}

// connect sends a request over a connection with small buffers, so that the server waits while a long response is not read, and
// returns the beginning of the response.
func connect(t *testing.T, s *apitest.Server, request string) download {
	t.Helper()
	client := apitest.Dial(t, s.Listen())
	apitest.Say(t, client, request+"X-API-Key: "+s.Key+"\r\nHost: test\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReaderSize(client, 1024), nil) //nolint:bodyclose // ends with its connection
	expect.NoError(t, err)
	return download{response.StatusCode, response.ContentLength, response.Body}
}

const longTable = "GET /v1/bookings?per_page=100000 HTTP/1.1\r\nAccept: text/csv\r\n"

// TestSlowClientsHoldNoConnection: while a client does not read, others can use the only database
// connection, and its export continues afterwards. The time limit of a request does not apply to a whole
// export.
func TestSlowClientsHoldNoConnection(t *testing.T) {
	t.Parallel()
	s := apitest.NewServerOver(t, fixtures.Shared(t, fixtures.SiteA()), 1, time.Minute, func(o *handlers.Options) { o.MaxConcurrent, o.RequestTimeout = 1, 5*time.Second })
	response := connect(t, s, longTable)
	s.Get("/bookings?per_page=1").Want(http.StatusOK)
	expect.Equal(t, 0, s.Platform.PoolStats().InUse, "connections in use")
	table, err := io.ReadAll(response.body)
	expect.NoError(t, err)
	if want := s.Export("/bookings?per_page=100000", "text/csv").Want(http.StatusOK); !bytes.Equal(want.Body, table) {
		t.Errorf("%d bytes, not %d", len(table), len(want.Body))
	}
}

// TestBrokenExportsAreNoticed: an export that cannot continue breaks off the connection.
func TestBrokenExportsAreNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit time.Duration
		spoil func(t *testing.T, s *apitest.Server)
	}{
		"the key is revoked": {time.Minute, func(t *testing.T, s *apitest.Server) { revoke(t, s) }},
		"the plugin is switched off": {time.Minute, func(t *testing.T, s *apitest.Server) {
			s.Database.Execute(t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
		}},
		"the client does not read": {3 * time.Second, func(t *testing.T, s *apitest.Server) { waitUntilAborted(t, s) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Own(t, fixtures.SiteA(), func(o *handlers.Options) { o.RequestTimeout = c.limit })
			response := connect(t, s, longTable)
			if response.status != http.StatusOK || response.length >= 0 {
				t.Fatalf("%d, %d bytes", response.status, response.length)
			}
			c.spoil(t, s)
			table, err := io.ReadAll(response.body)
			if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) || len(table) > 1<<20 {
				t.Errorf("%d bytes, then %v", len(table), err)
			}
			waitUntilAborted(t, s)
			if line := s.Log.Last(t); line.Route != "/v1/bookings" || line.Status != http.StatusOK || !strings.Contains(s.Log.String(), `"code":"aborted"`) {
				t.Errorf("log: %+v", line)
			}
		})
	}
}

// TestExportsEndWhenTheirKeyIsChanged: an export shows what its key may see from the first part to the
// last, or it breaks off. Other changes of a key do not matter.
func TestExportsEndWhenTheirKeyIsChanged(t *testing.T) {
	t.Parallel()
	shared := fixtures.Shared(t, fixtures.SiteA())
	one, none, mask, name := []int64{1}, []int64{}, true, "another"
	for what, c := range map[string]struct {
		key   keys.NewKey
		patch keys.Patch
		whole bool
	}{
		"limited":           {keys.NewKey{Permissions: []string{"read"}}, keys.Patch{Agents: &one}, false},
		"limits are lifted": {keys.NewKey{Permissions: []string{"read"}, Scope: domain.Scope{Locations: []int64{1}}}, keys.Patch{Locations: &none}, false},
		"masked":            {keys.NewKey{Permissions: []string{"read"}}, keys.Patch{MaskPersonal: &mask}, false},
		"fewer permissions": {keys.NewKey{Permissions: []string{"read"}}, keys.Patch{Permissions: []string{"read_bookings"}}, false},
		"renamed":           {keys.NewKey{Permissions: []string{"read"}}, keys.Patch{Name: &name}, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := apitest.NewServer(t, shared)
			secret, key := apitest.CreateKey(t, s.Keys, c.key)
			s.Key = secret
			response := connect(t, s, longTable)
			if _, found, err := s.Keys.Restrict(t.Context(), key.ID, c.patch); err != nil || !found {
				t.Fatal(found, err)
			}
			table, err := io.ReadAll(response.body)
			if c.whole {
				if err != nil || bytes.Count(table, []byte("\r\n")) < 1000 {
					t.Errorf("%d bytes, then %v", len(table), err)
				}
				return
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || len(table) == 0 {
				t.Errorf("%d bytes, then %v", len(table), err)
			}
			waitUntilAborted(t, s)
			apitest.WantContains(t, "what the key may see was changed", s.Log.String(), "the log")
		})
	}
}

func revoke(t *testing.T, s *apitest.Server) {
	t.Helper()
	s.Database.Execute(t, "UPDATE wp_bookside_api_keys SET status = 'revoked'")
}

// waitUntilAborted waits until a response was aborted and its request logged.
func waitUntilAborted(t *testing.T, s *apitest.Server) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(s.Log.String(), `"code":"aborted"`); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was aborted: %s", s.Log.String())
		}
	}
}

// TestExportsOverOldConnections: a client that could not distinguish a broken export from a complete one
// gets one with its length, or none.
func TestExportsOverOldConnections(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	for _, c := range []struct {
		request string
		status  int
	}{
		{"GET /v1/bookings?per_page=500 HTTP/1.0\r\nAccept: text/csv\r\n", http.StatusOK},
		{"GET /v1/bookings?per_page=501 HTTP/1.0\r\nAccept: text/csv\r\n", http.StatusHTTPVersionNotSupported},
		{"GET /v1/bookings?per_page=500 HTTP/1.1\r\nAccept: text/csv\r\nX-Bookside-Forwarded: 1\r\n", http.StatusOK},
		{"GET /v1/bookings?per_page=501 HTTP/1.1\r\nAccept: text/csv\r\nX-Bookside-Forwarded: 1\r\n", http.StatusHTTPVersionNotSupported},
	} {
		response := connect(t, s, c.request)
		body, err := io.ReadAll(response.body)
		if err != nil || response.status != c.status || response.length != int64(len(body)) {
			t.Errorf("%q: %d, %d of %d bytes, %v", c.request, response.status, len(body), response.length, err)
		}
	}
}

// TestTooManyExports: exports beyond the limit are refused at once, but JSON is not.
func TestTooManyExports(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA(), func(o *handlers.Options) { o.MaxExports = 1 })
	response := connect(t, s, longTable)
	a := s.Export("/customers", "text/csv").Want(http.StatusServiceUnavailable)
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.Get("/customers").Want(http.StatusOK)
	if _, err := io.Copy(io.Discard, response.body); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); s.Export("/customers", "text/csv").Status != http.StatusOK; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the place is not free again")
		}
	}
}

// TestExportsAreShared: a key has at most half of the places for exports.
func TestExportsAreShared(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA(), func(o *handlers.Options) { o.MaxExports = 4 })
	for range 2 {
		connect(t, s, longTable)
	}
	s.Export("/customers", "text/csv").Want(http.StatusServiceUnavailable)
	s.Do(http.MethodGet, "/v1/customers", http.Header{"X-Api-Key": {s.NewKey("read")}, "Accept": {"text/csv"}}).Want(http.StatusOK)
}

// TestLargeRecordsMakeSmallChunks: records of which a chunk would be too large are read in smaller
// chunks.
func TestLargeRecordsMakeSmallChunks(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET notes = REPEAT('x', 60000)")
	a := s.Export("/customers?per_page=100000", "text/csv").Want(http.StatusOK)
	if ids, want := ids(a), s.Texts("SELECT id FROM wp_latepoint_customers ORDER BY created_at DESC, id DESC"); len(ids) != len(want) || len(ids) < 30 {
		t.Errorf("%d of %d customers", len(ids), len(want))
	}
}
