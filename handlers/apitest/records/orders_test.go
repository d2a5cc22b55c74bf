package records_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

var orderList = listing{path: "/orders", from: "{orders} o", order: "o.created_at DESC, o.id DESC"}

func TestOrders(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "order", s.Get("/orders/888").Want(http.StatusOK).Body)
	apitest.Golden(t, "order_list", s.Get("/orders?search=%3Cb%3E&sort=total&order=asc&per_page=2").Want(http.StatusOK).Body)
	orderList.pages(t, s)
	orderList.finds(t, s, orderFinds)
	orderList.finds(t, s, []find{
		{query: "search=37af5", where: "o.id = 888"},
		{query: "search=%26 <b>BOLD", where: "o.customer_comment LIKE '%bold%'"},
		{query: "search=127.0.0.1", none: true},
		{query: "coupon_code=WELCOME10", none: true},
		{query: "search=bitte&status=open&payment_status=not_paid&total_min=50&total_max=100&created_before=2026-11-10&sort=total&order=asc",
			where: "o.customer_comment = 'Bitte klingeln' AND o.status = 'open' AND o.payment_status = 'not_paid' AND o.total BETWEEN 50 AND 100 AND o.created_at < '2026-11-11'",
			order: "o.total, o.id"},
	})
}

// orderFinds are queries that match some but not all records, on both the
// recorded and the small site.
var orderFinds = []find{
	{query: ""},
	{query: "customer_id=5", where: "o.customer_id = 5"},
	{query: "customer_id=2147483647", none: true},
	{query: "status=open", where: "o.status = 'open'"},
	{query: "payment_status=fully_paid", where: "o.payment_status = 'fully_paid'"},
	{query: "fulfillment_status=fulfilled", where: "o.fulfillment_status = 'fulfilled'"},
	{query: "total_min=60.0001", where: "o.total > 60"},
	{query: "total_max=60.00", where: "o.total <= 60"},
	{query: "total_min=60&total_max=75", where: "o.total BETWEEN 60 AND 75"},
	{query: "created_after=2026-10-20&created_before=2026-10-25", where: "DATE(o.created_at) BETWEEN '2026-10-20' AND '2026-10-25'"},
	{query: "created_before=9999-12-31", all: true},
	{query: "search=2A", where: "o.confirmation_code LIKE '%2A%' OR o.coupon_code LIKE '%2A%' OR o.customer_comment LIKE '%2a%'"},
	{query: "order=asc", order: "o.created_at, o.id"},
	{query: "sort=created_at&order=desc", order: "o.created_at DESC, o.id DESC"},
	{query: "sort=id&order=asc", order: "o.id"},
	{query: "sort=TOTAL&order=asc", order: "o.total, o.id"},
	{query: "sort=status&order=asc", order: "o.status, o.id"},
}

// TestOrderMeta: fields without a column are in the metadata of orders.
func TestOrderMeta(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	s.Database.Execute(t, "INSERT INTO wp_latepoint_order_meta (object_id, meta_key, meta_value) VALUES "+
		"(1, 'discount_total', '12.5'), (1, 'notes', 'internal <b>'), (1, 'notes', 'a second row'), (2, 'discount_total', 'a lot'), (2, 'notes', NULL)")
	for id, want := range map[string][2]any{"1": {"12.5000", "internal <b>"}, "2": {"0.0000", ""}, "3": {"0.0000", ""}} {
		single := s.Get("/orders/" + id).Want(http.StatusOK)
		expect.Equal(t, want, [2]any{single.At("discount_total"), single.At("notes")}, fmt.Sprintf("order %s: discount and notes", id))
	}
	row := s.Get("/orders?sort=id&order=asc").Want(http.StatusOK)
	expect.Equal(t, [2]any{"12.5000", "internal <b>"}, [2]any{row.At("data", 0, "discount_total"), row.At("data", 0, "notes")}, "in the list")
}

func TestOrdersOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	orderList.pages(t, s)
	orderList.finds(t, s, []find{
		{query: "search=100%25_sure", where: "o.id = 5"},
		{query: "coupon_code=edge10", where: "o.id IN (7, 9)"},
		{query: "payment_status=partially_refunded", where: "o.id = 10"},
		{query: "customer_id=901", where: "o.id = 4"},
		{query: "total_max=0", where: "o.id IN (6, 13)"}, // a missing total is not 0
		{query: "sort=total&order=asc", order: "o.total IS NOT NULL, o.total, o.id"},
	})
}

func TestOrderTransactions(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "transaction", s.Get("/orders/4/transactions/3").Want(http.StatusOK).Body)
	apitest.Golden(t, "transaction_list", s.Get("/orders/504/transactions").Want(http.StatusOK).Body)
}

// wantPage compares the ids and the pagination of a page.
func wantPage(t *testing.T, a apitest.Answer, ids []string, page, size, total int) {
	t.Helper()
	a.Want(http.StatusOK)
	expect.Equal(t, ids, apitest.IDsOf(a.At("data")), "ids")
	root := members(t, a.Body)
	pages := (total + size - 1) / size
	want := fmt.Sprintf(`{"page":%d,"per_page":%d,"total":%d,"total_pages":%d,"has_next_page":%t,"has_previous_page":%t}`, page, size, total, pages, page < pages, page > 1)
	expect.Equal(t, want, string(root["pagination"]), "pagination")
}

func TestInvoices(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "invoice", s.Get("/orders/4/invoices/4").Want(http.StatusOK).Body)
	apitest.Golden(t, "invoice_list", s.Get("/orders/888/invoices").Want(http.StatusOK).Body)
}

func TestInvoiceNumberPrefix(t *testing.T) {
	s := apitest.Own(t, fixtures.Edge())
	for _, step := range []struct{ statement, want string }{
		{"UPDATE wp_latepoint_settings SET value = '' WHERE name = 'invoices_number_prefix'", "1000001"},
		{"DELETE FROM wp_latepoint_settings WHERE name = 'invoices_number_prefix'", "INV-1000001"},
		{"UPDATE wp_latepoint_order_invoices SET invoice_number = '2026/7' WHERE id = 1", "2026/7"},
		{"UPDATE wp_latepoint_order_invoices SET invoice_number = '' WHERE id = 1", "INV-1000001"},
		{"UPDATE wp_latepoint_order_invoices SET id = 12345678, invoice_number = NULL WHERE id = 1", ""},
	} {
		s.Database.Execute(t, step.statement)
		if step.want != "" {
			s.WantFields(t, "/orders/1/invoices/1", map[string]any{"invoice_number": step.want})
		}
	}
	s.WantFields(t, "/orders/1/invoices/12345678", map[string]any{"invoice_number": "INV-112345678"})
}

// TestInvoicesOfTheLegacySite: invoices of the oldest version have neither
// number nor amount.
func TestInvoicesOfTheLegacySite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Legacy())
	s.WantFields(t, "/orders/1/invoices/1", map[string]any{
		"invoice_number": "INV-1000001", "status": "not_paid", "charge_amount": "0.0000", "payment_portion": nil, "due_at": nil, "data": nil,
	})
	wantPage(t, s.Get("/orders/3/invoices"), []string{"2"}, 1, 10, 1)
}

// TestActivitiesShowBundles: the activity log shows a bundle among the items of an order by id and name, and nothing of one that
// is no more.
func TestActivitiesShowBundles(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	bundle := apitest.RowsOf(t, s.Database, "SELECT id, name FROM wp_latepoint_bundles ORDER BY id LIMIT 1")[0]
	s.Database.Execute(t,
		`INSERT INTO wp_latepoint_order_items (order_id, variant, item_data, subtotal, total) SELECT 1403, 'bundle', CONCAT('{"bundle_id":', MIN(id), '}'), 200, 200 FROM wp_latepoint_bundles`,
		`INSERT INTO wp_latepoint_order_items (order_id, variant, item_data, subtotal, total) VALUES (1403, 'bundle', '{"bundle_id":"4711"}', 5, 5)`)
	if a := s.Write(http.MethodPut, "/orders/1403", `{"status":"completed"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var logged struct {
		Vars map[string]struct {
			Items []struct {
				Variant string          `json:"variant"`
				Data    json.RawMessage `json:"item_data"`
			} `json:"order_items"`
		} `json:"order_data_vars"`
	}
	description := apitest.RowsOf(t, s.Database, "SELECT description FROM wp_latepoint_activities WHERE code = 'order_updated'")[0]
	expect.NoError(t, json.Unmarshal([]byte(description), &logged))
	for _, state := range []string{"new", "old"} {
		var shown []string
		for _, item := range logged.Vars[state].Items {
			if item.Variant == "bundle" {
				var data struct{ ID, Name any }
				expect.NoError(t, json.Unmarshal(item.Data, &data))
				shown = append(shown, fmt.Sprintf("%T %v|%v", data.ID, data.ID, data.Name))
			}
		}
		expect.Equal(t, []string{"string " + bundle, "<nil> <nil>|<nil>"}, shown, state)
	}
}

// TestWhatIsUnderOrders reads every invoice and every transaction under every order: it is found only under its own.
func TestWhatIsUnderOrders(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.Edge())
	for kind, table := range map[string]string{"invoice": "order_invoices", "transaction": "transactions"} {
		for _, order := range s.Texts("SELECT id FROM {orders}") {
			of := listing{path: "/orders/" + order + "/" + kind + "s"}
			own := s.Texts("SELECT id FROM {" + table + "} WHERE order_id = " + order + " ORDER BY id")
			expect.Equal(t, own, of.allIDs(t, s, ""), fmt.Sprintf("%ss of order %s", kind, order))
			for _, id := range append(s.Texts("SELECT id FROM {"+table+"} ORDER BY id"), "0", "8388608", "99999999999999999999") {
				path := of.path + "/" + id
				if !slices.Contains(own, id) {
					wantNotFound(t, s, path, kind+"_not_found", strings.ToUpper(kind[:1])+kind[1:]+" with ID "+id+" was not found")
					continue
				}
				a := s.Get(path).Want(http.StatusOK)
				if got := [2]any{a.At("data", "id"), a.At("data", "order_id")}; got != [2]any{id, order} || strings.Contains(string(a.Body), "00000000-0000-4000") {
					t.Errorf("%s is %v, or reveals the key of its public link: %s", path, got, a.Body)
				}
			}
		}
	}
	// A deleted order has no invoices, even if one was left behind.
	wantNotFound(t, s, "/orders/904/invoices/9", "order_not_found", "Order with ID 904 was not found")
	wantPage(t, s.Get("/orders/7/invoices?per_page=1&page=2"), []string{"8"}, 2, 1, 2)
	wantPage(t, s.Get("/orders/6/invoices"), []string{}, 1, 10, 0)
	wantPage(t, s.Get("/orders/10/transactions?per_page=2&page=2"), []string{"8"}, 2, 2, 3)
	wantPage(t, s.Get("/orders/10/transactions?per_page=1&page=4"), []string{}, 4, 1, 3)
}
