package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

func TestInvoices(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.SiteA()))
	golden(t, "invoice", s.get("/orders/4/invoices/4").want(http.StatusOK).body)
	golden(t, "invoice_list", s.get("/orders/888/invoices").want(http.StatusOK).body)
}

// TestInvoicesOfTheEdgeSite reads every invoice under every order: it is found
// only under its own.
func TestInvoicesOfTheEdgeSite(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.Edge()))
	for _, order := range s.ids(t, "SELECT id FROM {orders}") {
		of := listing{path: "/orders/" + order + "/invoices", from: "{order_invoices} v", order: "v.id"}
		if diff := cmp.Diff(s.ids(t, "SELECT id FROM {order_invoices} WHERE order_id = "+order+" ORDER BY id"), of.allIDs(t, s, "")); diff != "" {
			t.Errorf("invoices of order %s (-want +got):\n%s", order, diff)
		}
		for _, id := range s.ids(t, "SELECT id FROM {order_invoices} ORDER BY id") {
			path := of.path + "/" + id
			if len(s.ids(t, "SELECT id FROM {order_invoices} WHERE id = "+id+" AND order_id = "+order)) == 0 {
				s.wantNotFound(t, path, "invoice_not_found", "Invoice with ID "+id+" was not found")
				continue
			}
			a := s.get(path).want(http.StatusOK)
			if got := [2]any{a.at("data", "id"), a.at("data", "order_id")}; got != [2]any{id, order} {
				t.Errorf("%s is %v", path, got)
			}
			if strings.Contains(string(a.body), "00000000-0000-4000") {
				t.Errorf("%s reveals the key of its public link: %s", path, a.body)
			}
		}
	}
	// A deleted order has no invoices, even if one was left behind.
	s.wantNotFound(t, "/orders/904/invoices/9", "order_not_found", "Order with ID 904 was not found")
	wantPage(t, s.get("/orders/7/invoices?per_page=1"), []string{"3"}, 1, 1, 2)
	wantPage(t, s.get("/orders/7/invoices?per_page=1&page=2"), []string{"8"}, 2, 1, 2)
	wantPage(t, s.get("/orders/7/invoices?per_page=100&page=2"), []string{}, 2, 100, 2)
	wantPage(t, s.get("/orders/6/invoices"), []string{}, 1, 10, 0)
	for _, id := range []string{"0", "10", "9223372036854775807", "99999999999999999999"} {
		s.wantNotFound(t, "/orders/7/invoices/"+id, "invoice_not_found", "Invoice with ID "+id+" was not found")
	}
}

// TestInvoiceFields: a number that is not stored is built from the site's
// prefix.
func TestInvoiceFields(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.Edge()))
	for path, want := range map[string]map[string]any{
		"/orders/1/invoices/1": {
			"invoice_number": "R-1000001", "status": "open", "charge_amount": "50.0000", "payment_portion": "full", "due_at": "2026-11-15 22:59:59",
			"data": `{"company":"Edge","totals":{"subtotal":"50.0000","total":"50.0000"}}`,
		},
		"/orders/2/invoices/2": {
			"invoice_number": "R-1000002", "charge_amount": "0.0000", "payment_portion": nil, "due_at": nil, "data": nil, "created_at": "", "updated_at": "",
		},
		"/orders/7/invoices/3":  {"invoice_number": "R-1000003", "data": `{"totals":`, "status": "partially_paid"},
		"/orders/3/invoices/6":  {"data": "", "due_at": nil, "status": "draft"},
		"/orders/10/invoices/7": {"due_at": "0000-00-00 00:00:00", "payment_portion": "remaining", "status": "uncollectible"},
	} {
		t.Run(path, func(t *testing.T) {
			s.wantFields(t, path, want)
		})
	}
}

func TestInvoiceNumberPrefix(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Edge())
	s := newServer(t, database)
	for _, step := range []struct{ statement, want string }{
		{"UPDATE wp_latepoint_settings SET value = '' WHERE name = 'invoices_number_prefix'", "1000001"},
		{"DELETE FROM wp_latepoint_settings WHERE name = 'invoices_number_prefix'", "INV-1000001"},
		{"UPDATE wp_latepoint_order_invoices SET invoice_number = '2026/7' WHERE id = 1", "2026/7"},
		{"UPDATE wp_latepoint_order_invoices SET invoice_number = '' WHERE id = 1", "INV-1000001"},
		{"UPDATE wp_latepoint_order_invoices SET id = 12345678, invoice_number = NULL WHERE id = 1", ""},
	} {
		database.Execute(t, step.statement)
		if step.want != "" {
			s.wantFields(t, "/orders/1/invoices/1", map[string]any{"invoice_number": step.want})
		}
	}
	s.wantFields(t, "/orders/1/invoices/12345678", map[string]any{"invoice_number": "INV-112345678"})
}

// TestInvoicesOfTheLegacySite: invoices of the oldest version have neither
// number nor amount.
func TestInvoicesOfTheLegacySite(t *testing.T) {
	t.Parallel()
	s := newServer(t, fixtures.Shared(t, fixtures.Legacy()))
	s.wantFields(t, "/orders/1/invoices/1", map[string]any{
		"invoice_number": "INV-1000001", "status": "not_paid", "charge_amount": "0.0000", "payment_portion": nil, "due_at": nil, "data": nil,
	})
	wantPage(t, s.get("/orders/3/invoices"), []string{"2"}, 1, 10, 1)
}
