package bookings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

func TestCreateCustomer(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	full := s.Write(http.MethodPost, "/customers", apitest.FullCustomer).Want(http.StatusCreated)
	apitest.Golden(t, "customer_created", full.Body)
	least := s.Write(http.MethodPost, "/customers", `{"first_name":"Rita","last_name":"Neu"}`).Want(http.StatusCreated)
	apitest.Golden(t, "customer_created_least", least.Body)
	for _, a := range []apitest.Answer{full, least} {
		read := s.Get(fmt.Sprintf("/customers/%v", a.At("data", "id"))).Want(http.StatusOK).At("data").(map[string]any)
		created := a.At("data").(map[string]any)
		if _, isNumber := created["id"].(json.Number); !isNumber || fmt.Sprint(created["id"]) != read["id"] {
			t.Errorf("id %v, read %v", created["id"], read["id"])
		}
		created["id"] = read["id"]
		expect.Equal(t, read, created, "created and read differ")
	}
}

func TestUpdateCustomer(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA())
	a := s.Write(http.MethodPut, "/customers/9", apitest.FullCustomerPatch).Want(http.StatusOK)
	apitest.Golden(t, "customer_updated", a.Body)
	read := s.Get("/customers/9").Want(http.StatusOK)
	apitest.Golden(t, "customer_updated_read", read.Body)
	before := s.Database.Snapshot(t)
	for name, body := range map[string]string{
		"nothing": "", "an empty object": "{}", "an empty list": "[]", "unknown fields": `{"id":5,"uuid":"x","cms_user_id":1,"wordpress_user_id":1,"password":"x"}`,
		"no fields": `{"custom_fields":{}}`, "none of a list": `{"custom_fields":[]}`, "what there is": apitest.FullCustomerPatch,
	} {
		expect.Equal(t, string(a.Body), string(s.Write(http.MethodPut, "/customers/9", body).Want(http.StatusOK).Body), fmt.Sprintf("the same change again, as %s", name))
	}
	apitest.WantNoWrites(t, "no changes", before)
}

// wantUpdateRejected checks for a 400 as a WordPressError that names exactly these fields.
func wantUpdateRejected(t testing.TB, where string, a apitest.Answer, fields ...string) {
	t.Helper()
	var body struct {
		Code, Message string
		Data          struct {
			Status  int
			Details map[string]string
		}
	}
	err := json.Unmarshal(a.Body, &body)
	if err != nil || a.Status != http.StatusBadRequest || body.Code != "customer_update_failed" || body.Data.Status != http.StatusBadRequest || !strings.HasPrefix(body.Message, "Error updating customer: ") {
		t.Errorf("%s: %d %.500s", where, a.Status, a.Body)
	}
	apitest.WantDetails(t, where, fields, body.Data.Details)
}

// TestRejectedCustomers sends invalid customers to both routes: the response names the fields in the
// route's shape, and nothing is written.
func TestRejectedCustomers(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.Database.Snapshot(t)
	long := strings.Repeat("ü", 40_000)
	manyFields := func(n int) string {
		fields := map[string]int{}
		for i := range n {
			fields[fmt.Sprint("cf_", i)] = i
		}
		text, err := json.Marshal(fields)
		expect.NoError(t, err)
		return `"custom_fields":` + string(text)
	}
	for body, want := range map[string]apitest.Rejection{
		manyFields(201):                     apitest.Unprocessable("custom_fields"),
		`"first_name":"<b>"`:                apitest.Unprocessable("first_name"),
		`"email":"rita"`:                    apitest.Unprocessable("email"),
		`"email":"CUSTOMER12@example.test"`: apitest.Unprocessable("email"),
		`"notes":"` + long + `"`:            apitest.Unprocessable("notes"),
		`"gender":"man"`:                    apitest.Unprocessable("gender"),
		`"custom_fields":{"cf_a":["x"],"cf_b":{"c":1},"cf_c":1}`: apitest.BadRequest("custom_fields.cf_a", "custom_fields.cf_b"),
		`"custom_fields":{"cf_a":"` + long + `"}`:                apitest.Unprocessable("custom_fields.cf_a"),
		`"custom_fields":{"a\nb":"x"}`:                           apitest.Unprocessable("custom_fields.a\nb"),
		`"custom_fields":{"` + long[:400] + `":"x"}`:             apitest.Unprocessable("custom_fields." + long[:400]),
		`"custom_fields":{"address":"x","Gender":"x","timezone_name":"x","VERIFIED_contact_values":"x","password_x":"x","Password_reset_token_created_at":"","ok":"x"}`: apitest.Unprocessable(
			"custom_fields.address", "custom_fields.Gender", "custom_fields.timezone_name", "custom_fields.VERIFIED_contact_values",
			"custom_fields.password_x", "custom_fields.Password_reset_token_created_at"),
		`"custom_fields":{"vérified_contact_valueš":"x","pässword_x":"x","cïty":null,"größe":"x"}`: apitest.Unprocessable(
			"custom_fields.vérified_contact_valueš", "custom_fields.pässword_x", "custom_fields.cïty"),
		`"first_name":[],"email":"x","status":"x","custom_fields":{"city":"x","cf_a":[]},"country":"x"`: apitest.BadRequest(
			"first_name", "email", "status", "custom_fields.city", "custom_fields.cf_a", "country"),
	} {
		where := fmt.Sprintf("%.80s", body)
		wantUpdateRejected(t, "PUT "+where, s.Write(http.MethodPut, "/customers/9", "{"+body+"}"), want.Fields...)
		post := body
		for _, name := range []string{"first_name", "last_name"} {
			if !strings.Contains(body, `"`+name+`"`) {
				post += `,"` + name + `":"X"`
			}
		}
		want.Check(t, "POST "+where, s.Write(http.MethodPost, "/customers", "{"+post+"}"))
	}
	apitest.WantNoWrites(t, "refused customers", before)
	wantUpdateRejected(t, "a blank name", s.Write(http.MethodPut, "/customers/9", `{"first_name":" ","status":"pending"}`), "first_name", "status")
	apitest.BadRequest("first_name", "last_name", "email").Check(t, "blank", s.Write(http.MethodPost, "/customers", `{"first_name":"","last_name":" ","email":"x"}`))
	apitest.BadRequest("cms_user_id").Check(t, "an odd user", s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","cms_user_id":"x"}`))
	s.Write(http.MethodPut, "/customers/9", "{"+manyFields(200)+"}").Want(http.StatusOK)
	reused := s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","email":"customer12@example.test"}`)
	expect.Equal(t, `{"status":"error","error":{"code":"validation_failed","message":"Validation failed","details":{"email":"This email belongs to another customer"}}}`, string(reused.Body), "an address in use")
	conflict := s.Write(http.MethodPut, "/customers/9", `{"email":"customer12@example.test"}`)
	expect.Equal(t, `{"code":"customer_update_failed","message":"Error updating customer: email: This email belongs to another customer","data":{"status":400,"details":{"email":"This email belongs to another customer"}}}`, string(conflict.Body), "conflict")
}

func TestDeleteCustomer(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA())
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE customer_id = 268")
	before := s.Database.Snapshot(t)
	if a := s.Write(http.MethodDelete, "/customers/268", "").Want(http.StatusBadRequest); string(a.Body) !=
		`{"code":"customer_has_bookings","message":"Cannot delete customer with existing bookings","data":{"status":400,"booking_count":4}}` {
		t.Errorf("%s", a.Body)
	}
	apitest.WantNoWrites(t, "a customer with bookings", before)
	created := s.Write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B","custom_fields":{"cf_a":"x"}}`).Want(http.StatusCreated)
	path := fmt.Sprintf("/customers/%v", created.At("data", "id"))
	gone := s.Write(http.MethodDelete, path, "").Want(http.StatusOK)
	expect.Equal(t, fmt.Sprintf(`{"success":true,"message":"Customer deleted successfully","data":{"deleted_customer_id":%v,"deleted_at":"2026-11-21 00:43:00"}}`, created.At("data", "id")), string(gone.Body), "answer to the deletion")
	s.Get(path).Want(http.StatusNotFound)
	s.Write(http.MethodDelete, path, "").Want(http.StatusNotFound)
}

// TestEmailIsUnique: of a hundred concurrent requests for the same e-mail address, to two servers, one
// succeeds.
func TestEmailIsUnique(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	servers := []*apitest.Server{s, apitest.NewServer(t, s.Database)}
	var created sync.Map
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			s, email := servers[i%2], "rita.neu@example.test"
			if i%3 == 0 {
				email = "Rita.NEU@example.test"
			}
			if i%10 == 0 { // an existing customer wants it too
				a := s.Write(http.MethodPut, fmt.Sprintf("/customers/%d", 20+i), `{"email":"`+email+`"}`)
				if a.Status == http.StatusOK {
					created.Store(i, true)
					return
				}
				wantUpdateRejected(t, "PUT", a, "email")
				return
			}
			a := s.Write(http.MethodPost, "/customers", fmt.Sprintf(`{"first_name":"Rita %d","last_name":"Neu","email":"%s"}`, i, email))
			if a.Status == http.StatusCreated {
				created.Store(i, true)
				return
			}
			apitest.Unprocessable("email").Check(t, "POST", a)
		})
	}
	all.Wait()
	succeeded := 0
	created.Range(func(any, any) bool { succeeded++; return true })
	if n := s.Count("latepoint_customers", "email = 'rita.neu@example.test'"); n != 1 || succeeded != 1 {
		t.Errorf("%d customers have the e-mail address, %d requests succeeded", n, succeeded)
	}
}

// TestLettersThatTablesLack: the tables of older sites hold no emoji, or only western letters, and fields with others are rejected.
func TestLettersThatTablesLack(t *testing.T) {
	t.Parallel()
	for charset, letter := range map[string]string{"utf8mb3": "🎁", "latin1": "Ω"} {
		s := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings())
		body := strings.ReplaceAll(`{"first_name":"X","last_name":"X","notes":"X","city":"X","custom_fields":{"X":"x","cf_a":"X"}}`, "X", letter)
		before := s.Database.Snapshot(t)
		expect.Equal(t, "x", s.Write(http.MethodPost, "/customers", body).Want(http.StatusCreated).At("data", "custom_fields").(map[string]any)[letter], "custom_fields")
		before.Restore(t)
		s.Database.Execute(t, "ALTER TABLE wp_latepoint_customers CONVERT TO CHARACTER SET "+charset, "ALTER TABLE wp_latepoint_customer_meta CONVERT TO CHARACTER SET "+charset)
		old := apitest.NewServer(t, s.Database)
		rejected := old.Write(http.MethodPost, "/customers", body)
		apitest.Unprocessable("first_name", "last_name", "notes", "city", "custom_fields."+letter, "custom_fields.cf_a").Check(t, charset, rejected)
		expect.Equal[any](t, "Has characters that the site's database cannot store, such as '"+letter+"'", rejected.At("error", "details", "city"), "city")
		wantUpdateRejected(t, "PUT", old.Write(http.MethodPut, "/customers/9", `{"first_name":"`+letter+`"}`), "first_name")
		old.Write(http.MethodPost, "/customers", `{"first_name":"Zoë","last_name":"Größe","notes":"12 € „so“","custom_fields":{"größe":"ü"}}`).Want(http.StatusCreated)
	}
}

// TestCustomersHaveNoTags: texts that appear in the site's mails never contain a tag.
func TestCustomersHaveNoTags(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>ok`
	a := s.Write(http.MethodPost, "/customers", strings.ReplaceAll(`{"first_name":"E","last_name":"E","notes":"E","admin_notes":"E","address":"E","city":"E","state":"E","zipcode":"E","custom_fields":{"cf_a":"E"}}`, `:"E"`, `:"`+evil+`"`)).Want(http.StatusCreated)
	if strings.ContainsAny(string(a.Body), "<>") || strings.Count(string(a.Body), `"ok"`) != 9 {
		t.Errorf("%s", a.Body)
	}
}

// TestCustomFieldsWithoutTable: a custom field is not written if its name cannot be recorded, because it
// could not be read back.
func TestCustomFieldsWithoutTable(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "DROP TABLE wp_bookside_customer_fields")
	before := s.Database.Snapshot(t)
	s.Write(http.MethodPost, "/customers", `{"first_name":"Ute","last_name":"Neu","email":"ute.neu@example.test","custom_fields":{"favourite_chair":"b"}}`).Want(http.StatusServiceUnavailable)
	apitest.WantNoWrites(t, "without the table", before)
	s.Write(http.MethodPost, "/customers", `{"first_name":"Ute","last_name":"Neu","email":"ute.neu@example.test"}`).Want(http.StatusCreated)
}

// TestMetaOfAddOnsIsNoCustomField: a name under which others store data about customers cannot become a
// custom field, which would show and overwrite their data. A name that the settings define can.
func TestMetaOfAddOnsIsNoCustomField(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.Small(apitest.Now))
	s.Database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (5, 'stripe_customer_id', 'cus_5'), (5, 'allergies', 'nuts')", "DELETE FROM wp_latepoint_settings WHERE name = 'custom_fields_for_customer'",
		`INSERT INTO wp_latepoint_settings (name, value) VALUES ('custom_fields_for_customer', '{"allergies":{"id":"allergies"}}')`)
	for _, request := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodPut, "/customers/6", http.StatusBadRequest, `{"custom_fields":{"stripe_customer_id":"x"}}`},
		{http.MethodPut, "/customers/5", http.StatusBadRequest, `{"custom_fields":{"Stripe_Customer_ID":""}}`},
		{http.MethodPost, "/customers", http.StatusUnprocessableEntity, `{"first_name":"Ann","last_name":"Lee","email":"ann.lee@example.com","custom_fields":{"stripe_customer_id":"x"}}`},
	} {
		a := s.Write(request.method, request.path, request.body).Want(request.status)
		apitest.WantContains(t, "custom_fields.stripe_customer_id", strings.ToLower(string(a.Body)), "%s %s", request.method, request.path)
	}
	s.Write(http.MethodPut, "/customers/6", `{"custom_fields":{"allergies":"none","colour":"red"}}`).Want(http.StatusOK)
	s.Write(http.MethodPut, "/customers/5", `{"custom_fields":{"colour":"blue"}}`).Want(http.StatusOK) // written by the API earlier
	want := map[string]any{"allergies": "nuts", "colour": "blue"}
	expect.Equal[any](t, want, s.Get("/customers/5").Want(http.StatusOK).At("data", "custom_fields"), "custom fields")
}

// TestCustomFieldsAreBounded: a customer's custom fields have a total limit, because lists, changes and
// webhooks send all of them. Fields that already exceed it can be made smaller.
func TestCustomFieldsAreBounded(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.Small(apitest.Now))
	fields := func(prefix string, size int) string {
		var sent []string
		for i := range 3 {
			sent = append(sent, fmt.Sprintf(`"cf_%s%d":"%s"`, prefix, i, strings.Repeat("x", size)))
		}
		return `{"custom_fields":{` + strings.Join(sent, ",") + `}}`
	}
	s.Write(http.MethodPut, "/customers/5", fields("a", 60_000)).Want(http.StatusOK)
	a := s.Write(http.MethodPut, "/customers/5", fields("b", 60_000)).Want(http.StatusBadRequest)
	apitest.WantContains(t, "at most 262144 bytes together", string(a.Body), "answer")
	s.Write(http.MethodPut, "/customers/5", fields("a", 59_000)).Want(http.StatusOK)
	s.Database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (5, 'cf_php0', REPEAT('y', 65000)), (5, 'cf_php1', REPEAT('y', 65000)), (5, 'cf_php2', REPEAT('y', 65000))")
	s.Write(http.MethodPut, "/customers/5", `{"custom_fields":{"cf_a0":""}}`).Want(http.StatusOK)
	s.Write(http.MethodPut, "/customers/5", `{"custom_fields":{"cf_a0":"x"}}`).Want(http.StatusBadRequest)
}

// TestCustomFieldsThatDifferInCase: the database treats names that differ only in case as one, and so does
// the plugin: they share a row.
func TestCustomFieldsThatDifferInCase(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.Small(apitest.Now))
	const rows = "SELECT GROUP_CONCAT(meta_key, '=', meta_value) FROM wp_latepoint_customer_meta WHERE object_id = 5 AND meta_key = 'cf_case'"
	for _, sent := range []string{`{"CF_CASE":"one","cf_case":"two"}`, `{"cf_Case":"two"}`, `{"CF_CASE":"one","CF_OTHER":"four","cf_casE":"three","cf_case":"two"}`, `{"CF_CASE":"one","cf_case":"two"}`} {
		s.Write(http.MethodPut, "/customers/5", `{"custom_fields":`+sent+`}`).Want(http.StatusOK)
		expect.Equal(t, "CF_CASE=two", apitest.Scalar[string](t, s, rows), fmt.Sprintf("after %s", sent))
	}
	// A name in other letters does not look like an add-on's, either.
	for id, sent := range []string{5: `{"Allergies":"nuts"}`, 6: `{"allergies":"milk"}`, 7: `{"ALLERGIES":""}`} {
		if sent != "" {
			s.Write(http.MethodPut, fmt.Sprintf("/customers/%d", id), `{"custom_fields":`+sent+`}`).Want(http.StatusOK)
		}
	}
	s.Database.Execute(t, "INSERT INTO wp_latepoint_customer_meta (object_id, meta_key, meta_value) VALUES (8, 'Addon_Token', 'secret'), (8, 'AllerGies', 'secret')")
	for _, name := range []string{"addon_token", "ADDON_TOKEN", "allergies", "Allergies"} {
		for _, value := range []string{"x", ""} {
			s.Write(http.MethodPut, "/customers/8", fmt.Sprintf(`{"custom_fields":{%q:%q}}`, name, value)).Want(http.StatusBadRequest)
		}
	}
	expect.Equal(t, "secret,secret", apitest.Scalar[string](t, s, "SELECT GROUP_CONCAT(meta_value) FROM wp_latepoint_customer_meta WHERE object_id = 8 AND meta_key IN ('addon_token', 'allergies')"), "metadata of an add-on")
}

// userOf returns what WordPress finds about a customer's user: columns of the
// user, and metadata as stored.
func userOf(s *apitest.Server, customer any) map[string]string {
	s.T.Helper()
	user := map[string]string{}
	for _, row := range s.Query(`
		SELECT n.name, CASE n.name WHEN 'user_login' THEN u.user_login WHEN 'user_nicename' THEN u.user_nicename WHEN 'user_email' THEN u.user_email
			WHEN 'display_name' THEN u.display_name ELSE m.meta_value END
		FROM wp_latepoint_customers AS c
		JOIN wp_users AS u ON u.ID = c.wordpress_user_id
		JOIN (SELECT 'user_login' AS name UNION SELECT 'user_nicename' UNION SELECT 'user_email' UNION SELECT 'display_name' UNION SELECT 'nickname'
			UNION SELECT 'first_name' UNION SELECT 'last_name' UNION SELECT 'wp_capabilities') AS n
		LEFT JOIN wp_usermeta AS m ON m.user_id = u.ID AND m.meta_key = n.name
		WHERE c.id = ?`, fmt.Sprint(customer)).Rows {
		if row[1] != nil {
			user[row[0].(string)] = row[1].(string)
		}
	}
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
	s := apitest.UsersSite(t)
	const object, list = `O:12:"Some_Class":1:{s:4:"file";s:11:"/etc/passwd";}`, `a:1:{i:0;O:12:"Some_Class":0:{}}`
	created := s.Write(http.MethodPost, "/customers", `{"first_name":`+asJSON(object)+`,"last_name":`+asJSON(list)+`,"email":"rita.neu@example.test"}`).Want(http.StatusCreated)
	customer := created.At("data", "id")
	expect.Equal(t, object, created.At("data", "first_name"), "the customer's first name")
	user := userOf(s, customer)
	if diff := cmp.Diff(map[string]string{
		"user_login": "rita.neu@example.test", "user_nicename": "rita-neuexample-test", "user_email": "rita.neu@example.test", "display_name": object + " " + list,
		"nickname": "rita.neu@example.test", "first_name": serializeText(object), "last_name": serializeText(list), "wp_capabilities": `a:1:{s:18:"latepoint_customer";b:1;}`,
	}, user); diff != "" {
		t.Error(diff)
	}
	check := func(how, name, want string) {
		t.Helper()
		expect.Equal(t, want, userOf(s, customer)[name], fmt.Sprintf("%s: %s is stored", how, name))
	}
	path := fmt.Sprintf("/customers/%v", customer)
	s.Write(http.MethodPut, path, `{"first_name":"Rita","last_name":`+asJSON(object)+`}`).Want(http.StatusOK)
	check("changed", "first_name", "Rita")
	check("changed", "last_name", serializeText(object))

	booking := s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", fmt.Sprint(customer))).Want(http.StatusCreated)
	s.Write(http.MethodPut, fmt.Sprintf("/bookings/%v", booking.At("data", "id")), `{"customer":{"first_name":`+asJSON(object)+`}}`).Want(http.StatusOK)
	check("changed with a booking", "first_name", serializeText(object))

	fresh := s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", "",
		"customer", `{"first_name":`+asJSON(object)+`,"last_name":"N;","email":"rita.neu2@example.test"}`)).Want(http.StatusCreated)
	customer = fresh.At("data", "customer", "id")
	check("new with a booking", "first_name", serializeText(object))
	check("new with a booking", "last_name", `s:2:"N;";`)
	bulk := s.Write(http.MethodPost, "/bookings/bulk", `{"bookings":[`+apitest.Friday("start_time", `"15:00"`, "customer_id", "",
		"customer", `{"first_name":"E:7:\"Foo:Bar\";","last_name":"b:1;x","email":"rita.neu3@example.test"}`)+`]}`)
	if got := bulk.At("results", "success", 0, "data", "customer", "id"); got != nil {
		customer = got
		check("new with many bookings", "first_name", serializeText(`E:7:"Foo:Bar";`))
		check("new with many bookings", "last_name", serializeText("b:1;x"))
	} else {
		t.Errorf("%s", bulk.Body)
	}
	t.Run("read by PHP", func(t *testing.T) {
		for _, name := range []string{"first_name", "last_name", "wp_capabilities"} {
			want := map[string]string{"wp_capabilities": "array"}[name]
			if want == "" {
				want = "string"
			}
			php := exec.CommandContext(t.Context(), fixtures.RequireTool(t, "php"), "-r", `echo gettype(unserialize(stream_get_contents(STDIN)));`)
			php.Stdin = strings.NewReader(userOf(s, customer)[name])
			if got, err := php.Output(); err != nil || string(got) != want {
				t.Errorf("%s is an %s in PHP, error %v", name, got, err)
			}
		}
	})
}

// TestOtherTextsNeverBecomePHPObjects: no other text of a request is
// unserialized, not even if the customer's user exists.
func TestOtherTextsNeverBecomePHPObjects(t *testing.T) {
	s := apitest.UsersSite(t)
	const object = `O:12:"Some_Class":0:{}`
	before := s.Database.Snapshot(t)
	s.Write(http.MethodPut, "/customers/5", strings.ReplaceAll(`{"first_name":X,"last_name":X,"notes":X,"admin_notes":X,"address":X,"city":X,"state":X,"zipcode":X,"custom_fields":{"cf_a":X}}`,
		"X", asJSON(object))).Want(http.StatusOK)
	names := 0
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		switch change.Table {
		case "usermeta":
			names++
			expect.Equal[any](t, serializeText(object), change.Changed["meta_value"][1], "metadata of the user is stored")
		case "options", "sitemeta", "latepoint_settings", "latepoint_sessions":
			t.Errorf("%s %s", change.Op, change.Table)
		}
	}
	expect.Equal(t, 2, names, "changed names of the user")
}

// TestUsersEqualThoseOfWordPress: a user's names and login are those that
// WordPress derives from the customer.
func TestUsersEqualThoseOfWordPress(t *testing.T) {
	s := apitest.UsersSite(t)
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
		created := s.Write(http.MethodPost, "/customers", fmt.Sprintf(`{"first_name":%s,"last_name":%s,"email":%s}`, asJSON(c.first), asJSON(c.last), asJSON(c.email))).Want(http.StatusCreated)
		user := userOf(s, created.At("data", "id"))
		delete(user, "wp_capabilities")
		expect.Equal(t, c.want, user, i)
		expect.Equal[any](t, c.email, created.At("data", "email"), fmt.Sprintf("%d: the customer's e-mail", i))
	}
	s.Write(http.MethodPut, "/customers/5", `{"first_name":"R & B","email":"r&b@example.test"}`).Want(http.StatusOK)
	if user := userOf(s, 5); user["first_name"] != "R &amp; B" || user["user_email"] != "r&b@example.test" {
		t.Errorf("changed: %v", user)
	}
}

// askFor sends a request for a WordPress user, and returns the body and the code of an error.
func askFor(s *apitest.Server, user keys.Key, method, target, body string) (status int, answer, code string) {
	s.T.Helper()
	user.Kind = keys.User
	r := httptest.NewRequestWithContext(s.T.Context(), method, "/v1"+target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	status, _, text := handlers.AskFor(s.Handler, user, r)
	var failure struct {
		Code  string
		Error struct{ Code string }
	}
	if err := json.Unmarshal(text, &failure); err != nil {
		s.T.Fatalf("%s: %v", text, err)
	}
	return status, string(text), failure.Code + failure.Error.Code
}

// TestRequestsForUsers: what WordPress asks for a user needs no key, is limited by the user's rights alone, and is entered
// into the journal as theirs. Nobody else can ask in the name of a user.
func TestRequestsForUsers(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA(), func(o *handlers.Options) {
		o.RateLimit.Enabled, o.RateLimit.Live.PerMinute = true, 1
	})
	const day = "2026-12-07"
	at := func(agent any, start string) string {
		return fmt.Sprintf(`{"service_id":1,"agent_id":%v,"location_id":1,"customer_id":1,"start_date":%q,"start_time":%q}`, agent, day, start)
	}
	writer := keys.Key{UserID: 77, Permissions: []string{"write_bookings"}, Scope: domain.Scope{Agents: []int64{2}}}
	free := func() []string {
		t.Helper()
		_, body, _ := askFor(s, keys.Key{Permissions: []string{"read_availability"}}, http.MethodGet, "/availability?service_id=1&agent_id=2&date="+day, "")
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
	status, body, _ := askFor(s, writer, http.MethodPost, "/bookings", at(`"any"`, starts[0]))
	var made struct {
		Data struct {
			ID    int64
			Agent struct{ ID json.Number }
		}
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated || made.Data.Agent.ID != "2" {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if status, body, _ := askFor(s, writer, http.MethodPut, fmt.Sprint("/bookings/", made.Data.ID), `{"status":"cancelled"}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	var entered, remembered int
	query := fmt.Sprintf("SELECT (SELECT COUNT(*) FROM wp_bookside_change_inbox WHERE resource = 'bookings' AND resource_id = %d AND origin = 'site' AND actor_id = 77), (SELECT COUNT(*) FROM wp_bookside_booking_customers)", made.Data.ID)
	if err := s.Database.SQL.QueryRowContext(t.Context(), query).Scan(&entered, &remembered); err != nil || entered != 2 || remembered != 0 {
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
		if status, body, code := askFor(s, c.user, c.method, c.path, c.body); code != c.want {
			t.Errorf("%s: %d %s, want %s", name, status, body, c.want)
		}
	}
	s.Do(http.MethodGet, "/v1/availability?service_id=1&agent_id=2&date="+day, nil).Want(http.StatusUnauthorized)
}
