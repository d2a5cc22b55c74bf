package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestCompanionAsksBeforeOldForms: a form of wp-admin does not undo what the API changed while it was open,
// unless staff confirm it.
func TestCompanionAsksBeforeOldForms(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) {
		if status, answer := b.book("10:00"); status != http.StatusCreated {
			t.Fatal(status, answer)
		}
		booking := b.number("SELECT MAX(id) FROM {p}bookings")
		order := b.number("SELECT MAX(id) FROM {p}orders")
		start := func() int { return b.number(fmt.Sprintf("SELECT start_time FROM {p}bookings WHERE id = %d", booking)) }
		path := fmt.Sprintf("/v1/bookings/%d", booking)

		fresh := b.openForm("orders__quick_edit", "id", order)
		b.saveForm("orders__update", fresh).want(t, "success", "")

		for name, change := range map[string]struct {
			path, body string
			told       string
		}{
			"booking":  {path, `{"start_time":"14:00"}`, fmt.Sprintf("booking %d (%s 14:00, approved)", booking, b.bookday)},
			"customer": {"/v1/customers/1", `{"phone":"+49301234567"}`, "the customer"},
			"order":    {fmt.Sprintf("/v1/orders/%d", order), `{"status":"cancelled"}`, "the order"},
		} {
			form := b.openForm("orders__quick_edit", "id", order)
			phone := b.text("SELECT phone FROM {p}customers WHERE id = 1")
			b.send(http.MethodPut, change.path, change.body)
			asked := b.saveForm("orders__update", form)
			asked.want(t, "error", change.told)
			if name == "booking" && start() != 840 {
				t.Errorf("the form moved the booking to %d without asking", start())
			}
			if name == "customer" && b.text("SELECT phone FROM {p}customers WHERE id = 1") == phone {
				t.Error("the form wrote the old phone without asking")
			}
			maps.Copy(form, asked.Fields)
			b.saveForm("orders__update", form).want(t, "success", "")
			if name == "booking" && start() != 600 {
				t.Errorf("staff's second save left the booking at %d", start())
			}
		}

		customer := b.openForm("customers__quick_edit", "customer_id", 1)
		b.send(http.MethodPut, "/v1/customers/1", `{"admin_notes":"by the API"}`)
		asked := b.saveForm("customers__update", customer)
		asked.want(t, "error", "the customer")
		expect.Equal(t, "by the API", b.text("SELECT admin_notes FROM {p}customers WHERE id = 1"), "admin notes")
		maps.Copy(customer, asked.Fields)
		b.saveForm("customers__update", customer).want(t, "success", "")

		form := b.openForm("orders__quick_edit", "booking_id", booking) // opened as from a calendar
		b.send(http.MethodDelete, path+"?force=true", "")
		b.saveForm("orders__update", form).want(t, "error", fmt.Sprintf("booking %d (removed)", booking))
		// Without the nonce, nothing is revealed.
		form["_wpnonce"] = "wrong"
		if got := b.saveForm("orders__update", form); strings.Contains(got.Message, "booking") || got.Status != "error" {
			t.Errorf("%+v", got)
		}
		for line := range strings.Lines(b.Faults(t)) {
			expect.NoTexts(t, line, "mu-plugins")
		}
	})
}

// formSaved is LatePoint's response to a form.
type formSaved struct {
	Status  string
	Message string
	Fields  map[string]string `json:"fields_to_update"`
}

func (f formSaved) want(t *testing.T, status, told string) {
	t.Helper()
	if f.Status != status || !strings.Contains(f.Message, told) {
		t.Errorf("%+v, not %s, %q", f, status, told)
	}
}

// openForm returns the values of the fields of a form.
func (b *bookingSite) openForm(route, parameter string, id int) (fields map[string]string) {
	b.t.Helper()
	b.request(route, fmt.Sprintf("['%s' => %d]", parameter, id), &fields)
	if fields["bookside_opened"] == "" {
		b.t.Fatalf("the form does not know what it was opened with: %v", fields)
	}
	return fields
}

// saveForm sends a form as a browser does.
func (b *bookingSite) saveForm(route string, fields map[string]string) (saved formSaved) {
	b.t.Helper()
	text, err := json.Marshal(fields)
	expect.NoError(b.t, err)
	nested := "(function () { $pairs = []; foreach (json_decode(" + phpText(string(text)) + ", true) as $name => $value) { $pairs[] = rawurlencode($name) . '=' . rawurlencode($value); }" +
		" parse_str(implode('&', $pairs), $nested); return $nested; })()"
	b.request(route, nested, &saved)
	return saved
}

// request sends a request of wp-admin to LatePoint.
func (b *bookingSite) request(route, parameters string, answer any) {
	b.t.Helper()
	text := b.Run(b.t, b.driver+"test_request('"+route+"', "+parameters+");")
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		b.t.Fatalf("%s: %v in %s", route, err, text)
	}
}

// send sends a request to the API.
func (b *bookingSite) send(method, path, body string) {
	b.t.Helper()
	if status, answer := write(b.t, method, b.s.url+path, b.key, body); status != http.StatusOK {
		b.t.Fatal(method, path, status, answer)
	}
}

// text returns a text from the database.
func (b *bookingSite) text(query string) (text string) {
	b.t.Helper()
	b.db.Scan(b.t, b.expand(query), &text)
	return text
}
