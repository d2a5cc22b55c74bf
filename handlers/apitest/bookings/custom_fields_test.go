package bookings_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// fieldsSite is proSite with custom fields of bookings.
func fieldsSite(t *testing.T, definitions string) *apitest.Server {
	t.Helper()
	s := proSite(t)
	s.DefineFields(t, definitions)
	return s
}

// TestCustomFieldsOfBooking: a booking stores its custom fields as the add-on's listeners do, and shows
// them.
func TestCustomFieldsOfBooking(t *testing.T) {
	s := fieldsSite(t, apitest.DefinedFields)
	fields := []string{"extras", `[{"id":7}]`, "custom_fields", `{"cf_terms":true,"cf_many":["Nuts","","Milk & <b>honey</b> \u00e4/b"],"cf_reason":" <b>Back</b>\npain ","cf_count":0,"cf_secret":"x","cf_other":"y"}`}
	possible := s.Write(http.MethodPost, "/bookings", apitest.Friday(append(fields, "dry_run", `true`)...)).Want(http.StatusOK)
	made := s.Write(http.MethodPost, "/bookings", apitest.Friday(fields...)).Want(http.StatusCreated)
	id := fmt.Sprint(made.At("data", "id"))
	expect.Equal(t, s.Get("/bookings/"+id).At("data"), made.At("data"), "created and read differ")
	want := map[string]any{"cf_reason": "Back\npain", "cf_terms": "on", "cf_many": `["Nuts","Milk & honey \u00e4\/b"]`}
	for title, shown := range map[string]any{
		"created": made.At("data", "meta"), "tried": possible.At("data", "meta"),
		"listed": s.Get("/bookings?include_meta=1&customer_id=9&date_from=2027-02-05&date_to=2027-02-05").Records()[0]["meta"],
	} {
		expect.Equal(t, any(want), shown, title)
	}
	// "0" has no row, nor have fields that no form shows, or fields of another service.
	meta, item := s.CustomFieldsOf(t, id)
	expect.Equal(t, []string{"cf_reason=Back\npain", "cf_terms=on", `cf_many=["Nuts","Milk & honey \u00e4\/b"]`}, meta, "meta")
	expect.Equal(t, `"total_attendees":1,"custom_fields":{"cf_reason":"Back\npain","cf_terms":"on","cf_secret":"x","cf_many":"[\"Nuts\",\"Milk & honey \\u00e4\\\/b\"]","cf_count":"0","cf_other":"y"},"service_extras_ids":"7:1"}`, item, "item data")
	form := s.Send(http.MethodPost, "/v1/bookings", http.Header{"X-Api-Key": {s.Key}, "Content-Type": {"application/x-www-form-urlencoded"}},
		"service_id=4&agent_id=5&location_id=1&start_date=2027-02-05&start_time=13:00&customer_id=9&custom_fields[cf_reason]=a&custom_fields[cf_terms]=on&custom_fields[cf_many][]=Milk").Want(http.StatusCreated)
	expect.Equal(t, any(map[string]any{"cf_reason": "a", "cf_terms": "on", "cf_many": `["Milk"]`}), form.At("data", "meta"), "a form")
}

// TestRequiredCustomFields: a booking without a required field is refused, by field.
func TestRequiredCustomFields(t *testing.T) {
	s := fieldsSite(t, apitest.DefinedFields)
	before := s.Database.Snapshot(t)
	file := strings.Replace(apitest.DefinedFields, `"file_upload","required":"off"`, `"file_upload","required":"on"`, 1)
	const reason, terms, needsFile = "This site requires it: Reason for visit", "This site requires it: Terms", "Pro Features requires a file here, which can only be uploaded in the site's forms: Referral"
	for _, c := range []struct {
		title, definitions string
		fields             string
		service            string
		status             int
		details            map[string]any
	}{
		{"none", apitest.DefinedFields, ``, `4`, 422, map[string]any{"custom_fields.cf_reason": reason, "custom_fields.cf_terms": terms}},
		{"what PHP takes for empty", apitest.DefinedFields, `{"cf_reason":"0","cf_terms":"off"}`, `4`, 422, map[string]any{"custom_fields.cf_reason": reason, "custom_fields.cf_terms": terms}},
		{"of another service", apitest.DefinedFields, `{` + apitest.FilledFields + `}`, `1`, 422, map[string]any{"custom_fields.cf_other": "This site requires it: Of another service"}},
		{"unknown", apitest.DefinedFields, `{` + apitest.FilledFields + `,"cf_unknown":"x","Cf_Count":1}`, `4`, 422, map[string]any{"custom_fields.cf_unknown": "This site's bookings have no such field", "custom_fields.Cf_Count": "This site's bookings have no such field"}},
		{"a file", apitest.DefinedFields, `{` + apitest.FilledFields + `,"cf_file":"https://example.test/a.pdf"}`, `4`, 422, map[string]any{"custom_fields.cf_file": "Pro Features takes files in the site's forms; none can be sent or removed here"}},
		{"a required file", file, `{` + apitest.FilledFields + `}`, `4`, 422, map[string]any{"custom_fields.cf_file": needsFile}},
		{"no object", apitest.DefinedFields, `[1]`, `4`, 400, map[string]any{"custom_fields": "Must be an object with the values of custom fields by their ids"}},
		{"no value", apitest.DefinedFields, `{"cf_reason":{"a":1},"cf_many":[["x"]],"cf_terms":"on"}`, `4`, 400, map[string]any{"custom_fields.cf_reason": "Must be a single value or a list of such", "custom_fields.cf_many": "Must be a single value or a list of such"}},
		{"too long", apitest.DefinedFields, `{"cf_reason":"` + strings.Repeat("x", 70_000) + `","cf_terms":"on"}`, `4`, 422, map[string]any{"custom_fields.cf_reason": "Too long", "custom_fields": "Too long"}},
		{"with another mistake", apitest.DefinedFields, `{"cf_terms":"on"}`, `99999`, 400, nil},
	} {
		s.DefineFields(t, c.definitions)
		body := apitest.Friday("custom_fields", c.fields, "service_id", c.service, "agent_id", `"any"`)
		for _, query := range []string{"", "?dry_run=1"} {
			a := s.Write(http.MethodPost, "/bookings"+query, body).Want(c.status)
			if diff := cmp.Diff(any(c.details), a.At("error", "details")); c.details != nil && diff != "" {
				t.Errorf("%s: details (-want +got):\n%s", c.title, diff)
			}
		}
	}
	before.Restore(t)
	s.DefineFields(t, strings.ReplaceAll(apitest.DefinedFields, `"required":"on"`, `"required":"off"`))
	s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
	before.Restore(t)
	for _, none := range []string{`[]`, ``, `{}`} {
		s.DefineFields(t, none)
		s.Write(http.MethodPost, "/bookings?dry_run=1", apitest.Friday("custom_fields", `{}`)).Want(http.StatusOK)
	}
}

// TestCustomFieldsOfAnyAgent: if any agent will do, the chosen one decides which fields are required;
// fields that all agents require are reported with the other mistakes.
func TestCustomFieldsOfAnyAgent(t *testing.T) {
	s := fieldsSite(t, `{}`)
	agents := apitest.RowsOf(t, s.Database, "SELECT DISTINCT c.agent_id FROM wp_latepoint_agents_services c JOIN wp_latepoint_agents a ON a.id = c.agent_id WHERE c.service_id = 4 AND c.location_id = 1 AND a.status = 'active' ORDER BY 1")
	body := apitest.Friday("agent_id", `"any"`)
	chosen := fmt.Sprint(s.Write(http.MethodPost, "/bookings?dry_run=1", body).Want(http.StatusOK).At("data", "agent", "id"))
	others := slices.DeleteFunc(slices.Clone(agents), func(id string) bool { return id == chosen })
	if len(others) == 0 {
		t.Fatalf("only agent %s", chosen)
	}
	under := func(operator, ids string) {
		s.DefineFields(t, `{"cf_a":{"label":"A","required":"on","conditional":"on","conditions":{"cfc_1":{"property":"agent","operator":"`+operator+`","value":"`+ids+`"}}}}`)
	}
	under("equal", chosen)
	apitest.Unprocessable("custom_fields.cf_a").Check(t, "of the chosen agent", s.Write(http.MethodPost, "/bookings", body))
	under("equal", strings.Join(others, ","))
	s.Write(http.MethodPost, "/bookings?dry_run=1", body).Want(http.StatusOK)
	under("equal", strings.Join(agents, ","))
	apitest.Unprocessable("custom_fields.cf_a", "status").Check(t, "of all agents", s.Write(http.MethodPost, "/bookings", apitest.Friday("agent_id", `"any"`, "status", `"no_show"`)))
	under("not_equal", chosen)
	s.Write(http.MethodPost, "/bookings", body).Want(http.StatusCreated)
}

// TestUpdateCustomFields: sent fields change, the others stay. A change that saves the booking needs the
// required fields; a mere change of status does not.
func TestUpdateCustomFields(t *testing.T) {
	s := fieldsSite(t, apitest.DefinedFields)
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("custom_fields", `{`+apitest.FilledFields+`,"cf_many":["Nuts"]}`)).Want(http.StatusCreated).At("data", "id"))
	path := "/bookings/" + id
	s.Database.Execute(t, "INSERT INTO wp_latepoint_booking_meta (object_id, meta_key, meta_value) VALUES ("+id+", 'cf_file', 'https://site.example/a.pdf')",
		"UPDATE wp_latepoint_bookings SET updated_at = '2026-01-01 00:00:00' WHERE id = "+id)
	const updated = "SELECT updated_at > '2026-01-01 00:00:00' FROM wp_latepoint_bookings WHERE id = ?"
	s.Write(http.MethodPut, path, `{"custom_fields":{"cf_reason":"Back pain","cf_count":"","cf_file":"https://site.example/a.pdf"}}`).Want(http.StatusOK)
	expect.Equal(t, "0", apitest.RowOf(t, s.Database, updated, id), "bookings that the same values change")
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
		possible := s.Write(http.MethodPut, path+"?dry_run=1", c.body).Want(http.StatusOK)
		a := s.Write(http.MethodPut, path, c.body).Want(http.StatusOK)
		shown := map[string]any{}
		for _, row := range c.meta {
			key, value, _ := strings.Cut(row, "=")
			shown[key] = value
		}
		for _, got := range []any{possible.At("data", "meta"), a.At("data", "meta"), s.Get(path).At("data", "meta")} {
			expect.Equal(t, any(shown), got, fmt.Sprintf("%s: shown", c.body))
		}
		meta, _ := s.CustomFieldsOf(t, id)
		expect.Equal(t, c.meta, meta, fmt.Sprintf("%s: meta", c.body))
		for field, want := range c.named {
			if got := apitest.RowOf(t, s.Database, "SELECT JSON_UNQUOTE(JSON_EXTRACT(i.item_data, '$.custom_fields."+field+"')) FROM wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?", id); got != want {
				t.Errorf("%s: the item has %s %q, not %q", c.body, field, got, want)
			}
		}
		expect.Equal(t, "1", apitest.RowOf(t, s.Database, updated, id), fmt.Sprintf("%s: the booking counts as unchanged", c.body))
	}
	for body, field := range map[string]string{
		`{"custom_fields":{"cf_reason":""}}`:                             "custom_fields.cf_reason",
		`{"custom_fields":{"cf_terms":"off"},"start_time":"16:00"}`:      "custom_fields.cf_terms",
		`{"custom_fields":{"cf_file":""}}`:                               "custom_fields.cf_file",
		`{"custom_fields":{"cf_file":"https://example.test/other.pdf"}}`: "custom_fields.cf_file",
		`{"custom_fields":{"cf_nothing":"x"}}`:                           "custom_fields.cf_nothing",
		`{"service_id":1,"agent_id":"any"}`:                              "custom_fields.cf_other",
	} {
		apitest.Unprocessable(field).Check(t, body, s.Write(http.MethodPut, path, body))
	}
	s.Database.Execute(t, "DELETE FROM wp_latepoint_booking_meta WHERE meta_key = 'cf_reason' AND object_id = "+id)
	apitest.Unprocessable("custom_fields.cf_reason").Check(t, "a move", s.Write(http.MethodPut, path, `{"start_time":"15:00"}`))
	apitest.Unprocessable("custom_fields.cf_reason").Check(t, "another customer", s.Write(http.MethodPut, path, `{"customer_id":5}`))
	for _, body := range []string{`{"notes":"x"}`, `{"price":12}`, `{"status":"cancelled"}`} {
		s.Write(http.MethodPut, path, body).Want(http.StatusOK)
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
	write := func(method, path, body string, status int) (apitest.Answer, int64) {
		a := s.Write(method, path, body).Want(status)
		return a, int64(s.Log.Last(t).Queries)
	}
	write(http.MethodPost, "/bookings", apitest.Friday(), http.StatusCreated) // adds rows to lock
	_, none := write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-12"`), http.StatusCreated)
	made, with := write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-19"`, "custom_fields", twenty("a")), http.StatusCreated)
	expect.Equal(t, with, none, "statements for a booking without custom fields, and with 20")
	path := fmt.Sprint("/bookings/", made.At("data", "id"))
	write(http.MethodPut, path, `{"custom_fields":{"cf_0":"z"}}`, http.StatusOK)
	_, one := write(http.MethodPut, path, `{"custom_fields":{"cf_0":"b"}}`, http.StatusOK)
	if _, all := write(http.MethodPut, path, `{"custom_fields":`+twenty("c")+`}`, http.StatusOK); one != all {
		t.Errorf("%d statements to change one custom field, %d for 20", one, all)
	}
}

// TestProFeaturesAloneRefusesNothing: if the owner refuses what is not honoured, a site with Pro Features
// still takes bookings.
func TestProFeaturesAloneRefusesNothing(t *testing.T) {
	s := fieldsSite(t, apitest.DefinedFields)
	s.Platform.Config.RefuseIgnored = true
	s.Write(http.MethodPost, "/bookings", apitest.Friday("custom_fields", `{`+apitest.FilledFields+`}`)).Want(http.StatusCreated)
}
