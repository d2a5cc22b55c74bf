package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// definedFields are custom fields of bookings as Pro Features stores their definitions: the others are
// required of nobody, only of staff, or under conditions.
const definedFields = `{"cf_reason":{"id":"cf_reason","label":"Reason for visit","type":"textarea","required":"on","visibility":"public"},` +
	`"cf_terms":{"id":"cf_terms","label":"Terms","type":"checkbox","required":"on","visibility":"admin_agent"},` +
	`"cf_secret":{"id":"cf_secret","label":"Secret","type":"text","required":"on","visibility":"hidden"},` +
	`"cf_many":{"id":"cf_many","label":"Allergies","type":"multiselect","required":"off","visibility":"public","options":"Milk\nNuts"},` +
	`"cf_count":{"id":"cf_count","label":"Count","type":"number","required":"off"},` +
	`"cf_other":{"id":"cf_other","label":"Of another service","type":"text","required":"on","conditional":"on","conditions":{"cfc_1":{"property":"service","operator":"not_equal","value":"4"}}},` +
	`"cf_file":{"id":"cf_file","label":"Referral","type":"file_upload","required":"off","visibility":"public"}}`

// filled has values for the required ones.
const filled = `"cf_reason":"Back pain","cf_terms":"on"`

// fieldsSite is proSite with custom fields of bookings.
func fieldsSite(t *testing.T, definitions string) *server {
	t.Helper()
	s := proSite(t)
	s.define(t, definitions)
	return s
}

func (s *server) define(t testing.TB, definitions string) {
	t.Helper()
	s.database.Execute(t, setting("custom_fields_for_booking", strings.ReplaceAll(definitions, `\`, `\\`)))
}

// fieldsOf returns the meta of a booking except its keys, and its order item's custom fields and the
// members next to them.
func (s *server) fieldsOf(t testing.TB, booking any) (meta []string, item string) {
	t.Helper()
	return rowsOf(t, s.database, "SELECT CONCAT(meta_key, '=', meta_value) FROM wp_latepoint_booking_meta WHERE object_id = ? AND meta_key NOT LIKE 'key_to_manage%' ORDER BY id", booking),
		rowOf(t, s.database, "SELECT SUBSTRING(i.item_data, LOCATE('\"total_attendees\"', i.item_data)) FROM wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?", booking)
}

// TestCustomFieldsOfBooking: a booking stores its custom fields as the add-on's listeners do, and shows
// them.
func TestCustomFieldsOfBooking(t *testing.T) {
	s := fieldsSite(t, definedFields)
	fields := []string{"extras", `[{"id":7}]`, "custom_fields", `{"cf_terms":true,"cf_many":["Nuts","","Milk & <b>honey</b> \u00e4/b"],"cf_reason":" <b>Back</b>\npain ","cf_count":0,"cf_secret":"x","cf_other":"y"}`}
	possible := s.write(http.MethodPost, "/bookings", friday(append(fields, "dry_run", `true`)...)).want(http.StatusOK)
	made := s.write(http.MethodPost, "/bookings", friday(fields...)).want(http.StatusCreated)
	id := fmt.Sprint(made.at("data", "id"))
	expect.Equal(t, s.get("/bookings/"+id).at("data"), made.at("data"), "created and read differ")
	want := map[string]any{"cf_reason": "Back\npain", "cf_terms": "on", "cf_many": `["Nuts","Milk & honey \u00e4\/b"]`}
	for title, shown := range map[string]any{
		"created": made.at("data", "meta"), "tried": possible.at("data", "meta"),
		"listed": s.get("/bookings?include_meta=1&customer_id=9&date_from=2027-02-05&date_to=2027-02-05").records()[0]["meta"],
	} {
		expect.Equal(t, any(want), shown, title)
	}
	// "0" has no row, nor have fields that no form shows, or fields of another service.
	meta, item := s.fieldsOf(t, id)
	expect.Equal(t, []string{"cf_reason=Back\npain", "cf_terms=on", `cf_many=["Nuts","Milk & honey \u00e4\/b"]`}, meta, "meta")
	expect.Equal(t, `"total_attendees":1,"custom_fields":{"cf_reason":"Back\npain","cf_terms":"on","cf_secret":"x","cf_many":"[\"Nuts\",\"Milk & honey \\u00e4\\\/b\"]","cf_count":"0","cf_other":"y"},"service_extras_ids":"7:1"}`, item, "item data")
	form := s.send(http.MethodPost, "/v1/bookings", http.Header{"X-Api-Key": {s.key}, "Content-Type": {"application/x-www-form-urlencoded"}},
		"service_id=4&agent_id=5&location_id=1&start_date=2027-02-05&start_time=13:00&customer_id=9&custom_fields[cf_reason]=a&custom_fields[cf_terms]=on&custom_fields[cf_many][]=Milk").want(http.StatusCreated)
	expect.Equal(t, any(map[string]any{"cf_reason": "a", "cf_terms": "on", "cf_many": `["Milk"]`}), form.at("data", "meta"), "a form")
}

// TestRequiredCustomFields: a booking without a required field is refused, by field.
func TestRequiredCustomFields(t *testing.T) {
	s := fieldsSite(t, definedFields)
	before := s.database.Snapshot(t)
	file := strings.Replace(definedFields, `"file_upload","required":"off"`, `"file_upload","required":"on"`, 1)
	const reason, terms, needsFile = "This site requires it: Reason for visit", "This site requires it: Terms", "Pro Features requires a file here, which can only be uploaded in the site's forms: Referral"
	for _, c := range []struct {
		title, definitions string
		fields             string
		service            string
		status             int
		details            map[string]any
	}{
		{"none", definedFields, ``, `4`, 422, map[string]any{"custom_fields.cf_reason": reason, "custom_fields.cf_terms": terms}},
		{"what PHP takes for empty", definedFields, `{"cf_reason":"0","cf_terms":"off"}`, `4`, 422, map[string]any{"custom_fields.cf_reason": reason, "custom_fields.cf_terms": terms}},
		{"of another service", definedFields, `{` + filled + `}`, `1`, 422, map[string]any{"custom_fields.cf_other": "This site requires it: Of another service"}},
		{"unknown", definedFields, `{` + filled + `,"cf_unknown":"x","Cf_Count":1}`, `4`, 422, map[string]any{"custom_fields.cf_unknown": "This site's bookings have no such field", "custom_fields.Cf_Count": "This site's bookings have no such field"}},
		{"a file", definedFields, `{` + filled + `,"cf_file":"https://example.test/a.pdf"}`, `4`, 422, map[string]any{"custom_fields.cf_file": "Pro Features takes files in the site's forms; none can be sent or removed here"}},
		{"a required file", file, `{` + filled + `}`, `4`, 422, map[string]any{"custom_fields.cf_file": needsFile}},
		{"no object", definedFields, `[1]`, `4`, 400, map[string]any{"custom_fields": "Must be an object with the values of custom fields by their ids"}},
		{"no value", definedFields, `{"cf_reason":{"a":1},"cf_many":[["x"]],"cf_terms":"on"}`, `4`, 400, map[string]any{"custom_fields.cf_reason": "Must be a single value or a list of such", "custom_fields.cf_many": "Must be a single value or a list of such"}},
		{"too long", definedFields, `{"cf_reason":"` + strings.Repeat("x", 70_000) + `","cf_terms":"on"}`, `4`, 422, map[string]any{"custom_fields.cf_reason": "Too long", "custom_fields": "Too long"}},
		{"with another mistake", definedFields, `{"cf_terms":"on"}`, `99999`, 400, nil},
	} {
		s.define(t, c.definitions)
		body := friday("custom_fields", c.fields, "service_id", c.service, "agent_id", `"any"`)
		for _, query := range []string{"", "?dry_run=1"} {
			a := s.write(http.MethodPost, "/bookings"+query, body).want(c.status)
			if diff := cmp.Diff(any(c.details), a.at("error", "details")); c.details != nil && diff != "" {
				t.Errorf("%s: details (-want +got):\n%s", c.title, diff)
			}
		}
	}
	before.Restore(t)
	s.define(t, strings.ReplaceAll(definedFields, `"required":"on"`, `"required":"off"`))
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
	before.Restore(t)
	for _, none := range []string{`[]`, ``, `{}`} {
		s.define(t, none)
		s.write(http.MethodPost, "/bookings?dry_run=1", friday("custom_fields", `{}`)).want(http.StatusOK)
	}
}

// TestCustomFieldsOfAnyAgent: if any agent will do, the chosen one decides which fields are required;
// fields that all agents require are reported with the other mistakes.
func TestCustomFieldsOfAnyAgent(t *testing.T) {
	s := fieldsSite(t, `{}`)
	agents := rowsOf(t, s.database, "SELECT DISTINCT c.agent_id FROM wp_latepoint_agents_services c JOIN wp_latepoint_agents a ON a.id = c.agent_id WHERE c.service_id = 4 AND c.location_id = 1 AND a.status = 'active' ORDER BY 1")
	body := friday("agent_id", `"any"`)
	chosen := fmt.Sprint(s.write(http.MethodPost, "/bookings?dry_run=1", body).want(http.StatusOK).at("data", "agent", "id"))
	others := slices.DeleteFunc(slices.Clone(agents), func(id string) bool { return id == chosen })
	if len(others) == 0 {
		t.Fatalf("only agent %s", chosen)
	}
	under := func(operator, ids string) {
		s.define(t, `{"cf_a":{"label":"A","required":"on","conditional":"on","conditions":{"cfc_1":{"property":"agent","operator":"`+operator+`","value":"`+ids+`"}}}}`)
	}
	under("equal", chosen)
	unprocessable("custom_fields.cf_a").check(t, "of the chosen agent", s.write(http.MethodPost, "/bookings", body))
	under("equal", strings.Join(others, ","))
	s.write(http.MethodPost, "/bookings?dry_run=1", body).want(http.StatusOK)
	under("equal", strings.Join(agents, ","))
	unprocessable("custom_fields.cf_a", "status").check(t, "of all agents", s.write(http.MethodPost, "/bookings", friday("agent_id", `"any"`, "status", `"no_show"`)))
	under("not_equal", chosen)
	s.write(http.MethodPost, "/bookings", body).want(http.StatusCreated)
}

// TestUpdateCustomFields: sent fields change, the others stay. A change that saves the booking needs the
// required fields; a mere change of status does not.
func TestUpdateCustomFields(t *testing.T) {
	s := fieldsSite(t, definedFields)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("custom_fields", `{`+filled+`,"cf_many":["Nuts"]}`)).want(http.StatusCreated).at("data", "id"))
	path := "/bookings/" + id
	s.database.Execute(t, "INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) VALUES ("+id+", 'cf_file', 'https://site.example/a.pdf')",
		"UPDATE wp_latepoint_bookings SET updated_at = '2026-01-01 00:00:00' WHERE id = "+id)
	const updated = "SELECT updated_at > '2026-01-01 00:00:00' FROM wp_latepoint_bookings WHERE id = ?"
	s.write(http.MethodPut, path, `{"custom_fields":{"cf_reason":"Back pain","cf_count":"","cf_file":"https://site.example/a.pdf"}}`).want(http.StatusOK)
	expect.Equal(t, "0", rowOf(t, s.database, updated, id), "bookings that the same values change")
	for _, c := range []struct {
		body  string
		meta  []string
		named map[string]any // its order item's fields
	}{
		{`{"custom_fields":{"cf_reason":"Knee","cf_count":3}}`, []string{"cf_reason=Knee", "cf_terms=on", `cf_many=["Nuts"]`, "cf_file=https://site.example/a.pdf", "cf_count=3"},
			map[string]any{"cf_reason": "Knee", "cf_terms": "on", "cf_many": `["Nuts"]`, "cf_count": "3"}},
		{`{"custom_fields":{"cf_many":[],"cf_count":null}}`, []string{"cf_reason=Knee", "cf_terms=on", `cf_many=[]`, "cf_file=https://site.example/a.pdf"},
			map[string]any{"cf_reason": "Knee", "cf_terms": "on", "cf_many": `[]`, "cf_count": ""}},
		{`{"custom_fields":{"cf_other":"x","cf_secret":"y"}}`, []string{"cf_reason=Knee", "cf_terms=on", `cf_many=[]`, "cf_file=https://site.example/a.pdf"},
			map[string]any{"cf_reason": "Knee", "cf_terms": "on", "cf_many": `[]`, "cf_count": "", "cf_other": "x", "cf_secret": "y"}},
		{`{"start_time":"14:00","custom_fields":{"cf_many":""}}`, []string{"cf_reason=Knee", "cf_terms=on", "cf_file=https://site.example/a.pdf"},
			map[string]any{"cf_reason": "Knee", "cf_terms": "on", "cf_many": "", "cf_count": "", "cf_other": "x", "cf_secret": "y"}},
	} {
		possible := s.write(http.MethodPut, path+"?dry_run=1", c.body).want(http.StatusOK)
		a := s.write(http.MethodPut, path, c.body).want(http.StatusOK)
		shown := map[string]any{}
		for _, row := range c.meta {
			key, value, _ := strings.Cut(row, "=")
			shown[key] = value
		}
		for _, got := range []any{possible.at("data", "meta"), a.at("data", "meta"), s.get(path).at("data", "meta")} {
			expect.Equal(t, any(shown), got, fmt.Sprintf("%s: shown", c.body))
		}
		meta, _ := s.fieldsOf(t, id)
		expect.Equal(t, c.meta, meta, fmt.Sprintf("%s: meta", c.body))
		for field, want := range c.named {
			if got := rowOf(t, s.database, "SELECT JSON_UNQUOTE(JSON_EXTRACT(i.item_data, '$.custom_fields."+field+"')) FROM wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?", id); got != want {
				t.Errorf("%s: the item has %s %q, not %q", c.body, field, got, want)
			}
		}
		expect.Equal(t, "1", rowOf(t, s.database, updated, id), fmt.Sprintf("%s: the booking counts as unchanged", c.body))
	}
	for body, field := range map[string]string{
		`{"custom_fields":{"cf_reason":""}}`:                             "custom_fields.cf_reason",
		`{"custom_fields":{"cf_terms":"off"},"start_time":"16:00"}`:      "custom_fields.cf_terms",
		`{"custom_fields":{"cf_file":""}}`:                               "custom_fields.cf_file",
		`{"custom_fields":{"cf_file":"https://example.test/other.pdf"}}`: "custom_fields.cf_file",
		`{"custom_fields":{"cf_nothing":"x"}}`:                           "custom_fields.cf_nothing",
		`{"service_id":1,"agent_id":"any"}`:                              "custom_fields.cf_other",
	} {
		unprocessable(field).check(t, body, s.write(http.MethodPut, path, body))
	}
	s.database.Execute(t, "DELETE FROM wp_latepoint_booking_meta WHERE meta_key = 'cf_reason' AND object_id = "+id)
	unprocessable("custom_fields.cf_reason").check(t, "a move", s.write(http.MethodPut, path, `{"start_time":"15:00"}`))
	unprocessable("custom_fields.cf_reason").check(t, "another customer", s.write(http.MethodPut, path, `{"customer_id":5}`))
	for _, body := range []string{`{"notes":"x"}`, `{"price":12}`, `{"status":"cancelled"}`} {
		s.write(http.MethodPut, path, body).want(http.StatusOK)
	}
}

// TestStatementsForCustomFields: a booking takes as many statements with one custom field as with many, and
// a plain site takes no more with them.
func TestStatementsForCustomFields(t *testing.T) {
	many, all := strings.Builder{}, strings.Builder{}
	for i := range 20 {
		fmt.Fprintf(&many, `,"cf_%d":{"label":"%d","type":"text"}`, i, i)
		fmt.Fprintf(&all, `,"cf_%d":"%%[1]s"`, i)
	}
	s := fieldsSite(t, `{`+many.String()[1:]+`}`)
	twenty := func(text string) string { return `{` + fmt.Sprintf(all.String()[1:], text) + `}` }
	write := func(method, path, body string, status int) (answer, int64) {
		a := s.write(method, path, body).want(status)
		return a, int64(s.log.last(t).Queries)
	}
	write(http.MethodPost, "/bookings", friday(), http.StatusCreated) // adds rows to lock
	_, none := write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-12"`), http.StatusCreated)
	made, with := write(http.MethodPost, "/bookings", friday("start_date", `"2027-02-19"`, "custom_fields", twenty("a")), http.StatusCreated)
	expect.Equal(t, with, none, "statements for a booking without custom fields, and with 20")
	path := fmt.Sprint("/bookings/", made.at("data", "id"))
	write(http.MethodPut, path, `{"custom_fields":{"cf_0":"z"}}`, http.StatusOK)
	_, one := write(http.MethodPut, path, `{"custom_fields":{"cf_0":"b"}}`, http.StatusOK)
	if _, all := write(http.MethodPut, path, `{"custom_fields":`+twenty("c")+`}`, http.StatusOK); one != all {
		t.Errorf("%d statements to change one custom field, %d for 20", one, all)
	}
}

// TestCustomFieldsElsewhere: bulk requests, bookings of a hold and tools for AI agents accept custom
// fields; keys that mask personal data may not send them; on a plain site, they are an unknown field.
func TestCustomFieldsElsewhere(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.define(t, definedFields)
	a := s.write(http.MethodPost, "/bookings/bulk", `[`+friday("custom_fields", `{`+filled+`}`)+`,`+friday("start_time", `"14:00"`)+`]`).want(http.StatusMultiStatus)
	expect.Equal(t, "custom_fields.cf_reason: This site requires it: Reason for visit1", fmt.Sprint(a.at("results", "errors", 0, "error"), a.at("results", "summary", "successful")), "error and successes")
	hold := s.keepSlot(t, holdBody("start_date", `"2027-02-12"`))
	unprocessable("custom_fields.cf_reason", "custom_fields.cf_terms").check(t, "of a hold", s.write(http.MethodPost, "/bookings", `{"hold_id":`+hold+`,"customer_id":9}`))
	s.write(http.MethodPost, "/bookings", `{"hold_id":`+hold+`,"customer_id":9,"custom_fields":{`+filled+`}}`).want(http.StatusCreated)

	const slot = `'service_id':4,'agent_id':5,'location_id':1,'start_date':'2027-02-19','start_time':'10:00','customer_id':9`
	agent := s.agent(t, s.key)
	refused := agent.call("book", `{'idempotency_key':'fields-1',`+slot+`}`).refused("validation_failed")
	expect.Equal(t, "This site requires it: Terms", refused.at("error", "details", "custom_fields.cf_terms"), "the tool says")
	booked := agent.call("book", `{'idempotency_key':'fields-1',`+slot+`,'custom_fields':{'cf_reason':'Knee','cf_terms':true,'cf_many':['Milk','Nuts']}}`).done()
	meta, _ := s.fieldsOf(t, fmt.Sprint(booked.at("book", "data", "id")))
	expect.Equal(t, []string{"cf_reason=Knee", "cf_terms=on", `cf_many=["Milk","Nuts"]`}, meta, "of the tool")
	s.database.Execute(t, "DELETE FROM wp_latepoint_booking_meta WHERE meta_key = 'cf_terms'")
	move := `{'idempotency_key':'fields-2','id':` + fmt.Sprint(booked.at("book", "data", "id")) + `,'start_date':'2027-02-19','start_time':'13:00'`
	agent.call("reschedule", move+`}`).refused("validation_failed")
	agent.call("reschedule", move+`,'custom_fields':{'cf_terms':'on'}}`).done()

	asMasked := http.Header{"X-Api-Key": {s.maskedKey()}, "Content-Type": {"application/json"}}
	wantCode(t, s.send(http.MethodPost, "/v1/bookings", asMasked, friday("custom_fields", `{`+filled+`}`)), http.StatusForbidden, "personal_data_masked")
	path := "/bookings/" + fmt.Sprint(booked.at("book", "data", "id"))
	expect.Equal(t, "***", s.send(http.MethodGet, "/v1"+path, asMasked, "").want(http.StatusOK).at("data", "meta", "cf_reason"), "masked")

	s.database.Execute(t, `UPDATE wp_options SET option_value = 'a:1:{i:0;s:23:"latepoint/latepoint.php";}' WHERE option_name = 'active_plugins'`)
	for i, fields := range []string{`{"cf_reason":"a","cf_none":[]}`, `{"cf_file":"x"}`} {
		plain := s.write(http.MethodPost, "/bookings", friday("start_date", fmt.Sprintf(`"2027-03-%02d"`, 5+7*i), "custom_fields", fields)).want(http.StatusCreated)
		expect.Equal(t, "map[]", fmt.Sprint(plain.at("data", "meta")), "a plain site stores")
		changed := s.write(http.MethodPut, fmt.Sprint("/bookings/", plain.at("data", "id")), `{"custom_fields":`+fields+`}`).want(http.StatusOK)
		expect.Equal(t, "map[]", fmt.Sprint(changed.at("data", "meta")), "a plain site changes")
	}
}

// TestProFeaturesAloneRefusesNothing: if the owner refuses what is not honoured, a site with Pro Features
// still takes bookings.
func TestProFeaturesAloneRefusesNothing(t *testing.T) {
	s := fieldsSite(t, definedFields)
	s.platform.Config.RefuseIgnored = true
	s.write(http.MethodPost, "/bookings", friday("custom_fields", `{`+filled+`}`)).want(http.StatusCreated)
}
