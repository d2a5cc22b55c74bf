package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// usersSite serves a site that creates a WordPress user for each of its
// customers.
func usersSite(t *testing.T) *server {
	t.Helper()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.MakeCustomersUsers(t)
	return s
}

// userOf returns what WordPress finds about a customer's user: columns of the
// user, and metadata as stored.
func (s *server) userOf(customer any) map[string]string {
	s.t.Helper()
	rows, err := s.database.SQL.QueryContext(s.t.Context(), `
		SELECT n.name, CASE n.name WHEN 'user_login' THEN u.user_login WHEN 'user_nicename' THEN u.user_nicename WHEN 'user_email' THEN u.user_email
			WHEN 'display_name' THEN u.display_name ELSE m.meta_value END
		FROM wp_latepoint_customers AS c
		JOIN wp_users AS u ON u.ID = c.wordpress_user_id
		JOIN (SELECT 'user_login' AS name UNION SELECT 'user_nicename' UNION SELECT 'user_email' UNION SELECT 'display_name' UNION SELECT 'nickname'
			UNION SELECT 'first_name' UNION SELECT 'last_name' UNION SELECT 'wp_capabilities') AS n
		LEFT JOIN wp_usermeta AS m ON m.user_id = u.ID AND m.meta_key = n.name
		WHERE c.id = ?`, fmt.Sprint(customer))
	noError(s.t, err)
	defer rows.Close()
	user := map[string]string{}
	for rows.Next() {
		var name string
		var value *string
		noError(s.t, rows.Scan(&name, &value))
		if value != nil {
			user[name] = *value
		}
	}
	noError(s.t, rows.Err())
	return user
}

// asJSON encodes a text as requests do.
func asJSON(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// serializeText returns a text as WordPress stores one that looks serialised.
func serializeText(text string) string { return fmt.Sprintf("s:%d:", len(text)) + `"` + text + `";` }

// TestNamesNeverBecomePHPObjects: a customer's name never becomes a PHP object,
// however it reaches the WordPress user: in a new or changed customer, or with
// a booking.
func TestNamesNeverBecomePHPObjects(t *testing.T) {
	t.Parallel()
	s := usersSite(t)
	const object, list = `O:12:"Some_Class":1:{s:4:"file";s:11:"/etc/passwd";}`, `a:1:{i:0;O:12:"Some_Class":0:{}}`
	created := s.write(http.MethodPost, "/customers", `{"first_name":`+asJSON(object)+`,"last_name":`+asJSON(list)+`,"email":"rita.neu@example.test"}`).want(http.StatusCreated)
	customer := created.at("data", "id")
	wantEqual(t, object, created.at("data", "first_name"), "the customer's first name")
	user := s.userOf(customer)
	if diff := cmp.Diff(map[string]string{
		"user_login": "rita.neu@example.test", "user_nicename": "rita-neuexample-test", "user_email": "rita.neu@example.test", "display_name": object + " " + list,
		"nickname": "rita.neu@example.test", "first_name": serializeText(object), "last_name": serializeText(list), "wp_capabilities": `a:1:{s:18:"latepoint_customer";b:1;}`,
	}, user); diff != "" {
		t.Error(diff)
	}
	check := func(how, name, want string) {
		t.Helper()
		wantEqual(t, want, s.userOf(customer)[name], "%s: %s is stored", how, name)
	}
	path := fmt.Sprintf("/customers/%v", customer)
	s.write(http.MethodPut, path, `{"first_name":"Rita","last_name":`+asJSON(object)+`}`).want(http.StatusOK)
	check("changed", "first_name", "Rita")
	check("changed", "last_name", serializeText(object))

	booking := s.write(http.MethodPost, "/bookings", friday("customer_id", fmt.Sprint(customer))).want(http.StatusCreated)
	s.write(http.MethodPut, fmt.Sprintf("/bookings/%v", booking.at("data", "id")), `{"customer":{"first_name":`+asJSON(object)+`}}`).want(http.StatusOK)
	check("changed with a booking", "first_name", serializeText(object))

	fresh := s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", "",
		"customer", `{"first_name":`+asJSON(object)+`,"last_name":"N;","email":"rita.neu2@example.test"}`)).want(http.StatusCreated)
	customer = fresh.at("data", "customer", "id")
	check("new with a booking", "first_name", serializeText(object))
	check("new with a booking", "last_name", `s:2:"N;";`)
	bulk := s.write(http.MethodPost, "/bookings/bulk", `{"bookings":[`+friday("start_time", `"15:00"`, "customer_id", "",
		"customer", `{"first_name":"E:7:\"Foo:Bar\";","last_name":"b:1;x","email":"rita.neu3@example.test"}`)+`]}`)
	if got := bulk.at("results", "success", 0, "data", "customer", "id"); got != nil {
		customer = got
		check("new with many bookings", "first_name", serializeText(`E:7:"Foo:Bar";`))
		check("new with many bookings", "last_name", serializeText("b:1;x"))
	} else {
		t.Errorf("%s", bulk.body)
	}
	t.Run("read by PHP", func(t *testing.T) {
		for _, name := range []string{"first_name", "last_name", "wp_capabilities"} {
			want := map[string]string{"wp_capabilities": "array"}[name]
			if want == "" {
				want = "string"
			}
			php := exec.CommandContext(t.Context(), fixtures.RequireTool(t, "php"), "-r", `echo gettype(unserialize(stream_get_contents(STDIN)));`)
			php.Stdin = strings.NewReader(s.userOf(customer)[name])
			if got, err := php.Output(); err != nil || string(got) != want {
				t.Errorf("%s is an %s in PHP, error %v", name, got, err)
			}
		}
	})
}

// TestOtherTextsNeverBecomePHPObjects: no other text of a request is
// unserialized, not even if the customer's user exists.
func TestOtherTextsNeverBecomePHPObjects(t *testing.T) {
	t.Parallel()
	s := usersSite(t)
	const object = `O:12:"Some_Class":0:{}`
	before := s.database.Snapshot(t)
	s.write(http.MethodPut, "/customers/5", strings.ReplaceAll(`{"first_name":X,"last_name":X,"notes":X,"admin_notes":X,"address":X,"city":X,"state":X,"zipcode":X,"custom_fields":{"cf_a":X}}`,
		"X", asJSON(object))).want(http.StatusOK)
	names := 0
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		switch change.Table {
		case "usermeta":
			names++
			wantEqual(t, serializeText(object), change.Changed["meta_value"][1], "metadata of the user is stored")
		case "options", "sitemeta", "latepoint_settings", "latepoint_sessions":
			t.Errorf("%s %s", change.Op, change.Table)
		}
	}
	wantEqual(t, 2, names, "changed names of the user")
}

// TestUsersEqualThoseOfWordPress: a user's names and login are those that
// WordPress derives from the customer.
func TestUsersEqualThoseOfWordPress(t *testing.T) {
	t.Parallel()
	s := usersSite(t)
	for i, c := range []struct {
		first, last, email string
		want               map[string]string
	}{
		{`O'Brien "OB" & Sons`, `back\slash`, "o'neill+tag@example.test", map[string]string{
			"user_login": "oneilltag@example.test", "user_nicename": "oneilltagexample-test", "user_email": "o'neill+tag@example.test", "nickname": "oneilltag@example.test",
			"first_name": `O'Brien "OB" &amp; Sons`, "last_name": "backslash", "display_name": `O'Brien "OB" &amp; Sons backslash`,
		}},
		{"a<b", "&eacute; &bogus; 1 < 2 > 0 < b >", "a&b@example.test", map[string]string{
			"user_login": "ab@example.test", "user_nicename": "abexample-test", "user_email": "a&b@example.test", "nickname": "ab@example.test",
			"first_name": "a&lt;b", "last_name": "&eacute; &amp;bogus; 1  0 &lt; b &gt;", "display_name": "a&lt;b &eacute; &amp;bogus; 1  0 &lt; b &gt;",
		}},
		{"A", "B", "a+b@example.test", map[string]string{}}, // the login is taken
	} {
		t.Run(c.email, func(t *testing.T) {
			created := s.write(http.MethodPost, "/customers", fmt.Sprintf(`{"first_name":%s,"last_name":%s,"email":%s}`, asJSON(c.first), asJSON(c.last), asJSON(c.email))).want(http.StatusCreated)
			user := s.userOf(created.at("data", "id"))
			delete(user, "wp_capabilities")
			wantEqual(t, c.want, user, "%d", i)
			wantEqual(t, c.email, created.at("data", "email"), "%d: the customer's e-mail", i)
		})
	}
	s.write(http.MethodPut, "/customers/5", `{"first_name":"R & B","email":"r&b@example.test"}`).want(http.StatusOK)
	if user := s.userOf(5); user["first_name"] != "R &amp; B" || user["user_email"] != "r&b@example.test" {
		t.Errorf("changed: %v", user)
	}
}

// askFor sends a request for a WordPress user, and returns the body and the code of an error.
func (s *server) askFor(user keys.Key, method, target, body string) (status int, answer, code string) {
	s.t.Helper()
	user.Kind = keys.User
	r := httptest.NewRequestWithContext(s.t.Context(), method, "/v1"+target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	status, _, text := handlers.AskFor(s.handler, user, r)
	var failure struct {
		Code  string
		Error struct{ Code string }
	}
	if err := json.Unmarshal(text, &failure); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return status, string(text), failure.Code + failure.Error.Code
}

// TestRequestsForUsers: what WordPress asks for a user needs no key, is limited by the user's rights alone, and is entered
// into the journal as theirs. Nobody else can ask in the name of a user.
func TestRequestsForUsers(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.New(t, fixtures.SiteA()), func(o *handlers.Options) {
		o.RateLimit.Enabled, o.RateLimit.Live.PerMinute = true, 1
	})
	const day = "2026-12-07"
	at := func(agent any, start string) string {
		return fmt.Sprintf(`{"service_id":1,"agent_id":%v,"location_id":1,"customer_id":1,"start_date":%q,"start_time":%q}`, agent, day, start)
	}
	writer := keys.Key{UserID: 77, Permissions: []string{"write_bookings"}, Scope: domain.Scope{Agents: []int64{2}}}
	free := func() []string {
		t.Helper()
		_, body, _ := s.askFor(keys.Key{Permissions: []string{"read_availability"}}, http.MethodGet, "/availability?service_id=1&agent_id=2&date="+day, "")
		var found struct {
			Data struct {
				Starts []string `json:"available_slots"`
			}
		}
		if err := json.Unmarshal([]byte(body), &found); err != nil || len(found.Data.Starts) < 3 {
			t.Fatalf("%s: %v", body, err)
		}
		return found.Data.Starts
	}
	starts := free()
	status, body, _ := s.askFor(writer, http.MethodPost, "/bookings", at(`"any"`, starts[0]))
	var made struct {
		Data struct {
			ID    int64
			Agent struct{ ID json.Number }
		}
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated || made.Data.Agent.ID != "2" {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if status, body, _ := s.askFor(writer, http.MethodPut, fmt.Sprint("/bookings/", made.Data.ID), `{"status":"cancelled"}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	var entered, remembered int
	query := fmt.Sprintf("SELECT (SELECT COUNT(*) FROM wp_bookside_change_inbox WHERE resource = 'bookings' AND resource_id = %d AND origin = 'site' AND actor_id = 77), (SELECT COUNT(*) FROM wp_bookside_booking_customers)", made.Data.ID)
	if err := s.database.SQL.QueryRowContext(t.Context(), query).Scan(&entered, &remembered); err != nil || entered != 2 || remembered != 0 {
		t.Errorf("%d changes of the user, and %d records of a key: %v", entered, remembered, err)
	}
	for name, c := range map[string]struct {
		user         keys.Key
		method, path string
		body         string
		want         string
	}{
		"another agent":         {writer, http.MethodPost, "/bookings", at(1, starts[1]), "outside_key_limits"},
		"another's booking":     {keys.Key{Permissions: writer.Permissions, Scope: domain.Scope{Agents: []int64{1}}}, http.MethodPut, fmt.Sprint("/bookings/", made.Data.ID), `{"status":"approved"}`, "booking_not_found"},
		"without a permission":  {keys.Key{}, http.MethodPost, "/bookings", at(2, starts[1]), "insufficient_permissions"},
		"beyond the permission": {writer, http.MethodGet, "/customers/1", "", "insufficient_permissions"},
	} {
		if status, body, code := s.askFor(c.user, c.method, c.path, c.body); code != c.want {
			t.Errorf("%s: %d %s, want %s", name, status, body, c.want)
		}
	}
	if got := s.do(http.MethodGet, "/v1/availability?service_id=1&agent_id=2&date="+day, nil); got.status != http.StatusUnauthorized {
		t.Errorf("without a user and a key: %d", got.status)
	}
}
