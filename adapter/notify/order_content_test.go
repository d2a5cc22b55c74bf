package notify

import (
	"maps"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures/expect"
)

// anOrder returns an order that costs 85 € with its breakdown.
func anOrder(breakdown string) orderContent {
	return orderContent{
		breakdown: breakdown,
		items: []contentItem{
			{heading: "Service", name: "Physio <b>", price: "85.00 €", details: []string{"7 Nov, 2026, 09:05", "Ann & Lee"}},
			{heading: "Bundle", name: "Ten visits", price: "10.00 €", details: []string{"Massage (2)"}},
		},
		itemsTotal: "95.00 €", credits: "0.00 €", balanceDue: "85.00 €",
	}
}

func TestOrderSummaryAsText(t *testing.T) {
	t.Parallel()
	const (
		sums  = "Payments and Credits: 0.00 €\nBalance Due: 85.00 €"
		items = "Physio <b>: 85.00 €\nTen visits: 10.00 €\nTotal Price: 95.00 €\n"
	)
	for name, c := range map[string]struct{ breakdown, want string }{
		"as the order form stores it": {
			`{"before_subtotal":[{"heading":"Service","items":[{"value":"85.00","label":"Physio","style":"","type":"","note":"60 min","badge":"","raw_value":"85.0000"}],"sub_items":[]}]}`,
			"Physio 60 min: 85.00\n" + sums,
		},
		"as the checkout stores it, with a coupon": {
			`{"before_subtotal":[{"heading":"Service","items":[{"label":"Physio","raw_value":"95.0000","value":"€95"}]}],"after_subtotal":{"discounts":{"heading":"Discounts","items":[{"label":"Coupon","badge":"TEN","raw_value":"-10.0000","value":"-€10"}]}}}`,
			"Physio: €95\nCoupon TEN: -€10\n" + sums,
		},
		"services under one heading, and what belongs to them": {
			`{"before_subtotal":[{"heading":"Services","items":[{"label":"A","value":"1"}],"sub_items":[{"label":"Extra","value":"2"}]},{"heading":"Services","items":[{"label":"B","value":"3"}]}]}`,
			"A: 1\nExtra: 2\nB: 3\n" + sums,
		},
		"a part without items is a row": {`{"before_subtotal":[],"after_subtotal":[{"label":"Tax","value":"5"}]}`, "Tax: 5\n" + sums},
		"nothing but sums":              {`{"before_subtotal":[]}`, sums},
		"nothing stored":                {"", items + sums},
		"no JSON":                       {"{", items + sums},
		"an empty object":               {"{}", items + sums},
		"an empty list":                 {"[]", items + sums},
		"parts that are none":           {`{"before_subtotal":[1,"x",null],"after_subtotal":{"a":[]}}`, sums},
	} {
		expect.Equal(t, c.want, anOrder(c.breakdown).text()["order_summary_breakdown"], name)
	}
}

func TestOrderItemsAndPayments(t *testing.T) {
	t.Parallel()
	order := anOrder("")
	got := order.text()
	for name, want := range map[string]string{
		"order_items":                  "Physio <b>, 7 Nov, 2026, 09:05, Ann & Lee\nTen visits, Massage (2)",
		"order_transactions_breakdown": noPayments,
	} {
		expect.Equal(t, want, got[name], name, " is")
	}
	order.payments = []contentPayment{{"deposit", "20 €"}, {"unheard of", "5 €"}}
	expect.Equal(t, "Deposit: 20 €\n5 €", order.text()["order_transactions_breakdown"], "payments are")
}

// TestContentInMails: headings appear once, notes beside labels, and a line under each item but the last.
func TestContentInMails(t *testing.T) {
	t.Parallel()
	order := anOrder(`{"before_subtotal":[{"heading":"Services","items":[{"label":"A","value":"1","note":"60 min"}]},{"heading":"Services","items":[{"label":"B","value":"2","badge":"TEN"}]},` +
		`{"heading":"Nothing","items":[]},{"heading":"","items":[{"label":"C","value":"3"}]},{"label":"D","value":"4","sub_items_heading":"Of D","sub_items":[{"label":"E","value":"5"}]},` +
		`{"label":"F","value":"6","sub_items_heading":"Of F","sub_items":[]},{"label":"G","value":"7","sub_items":[{"label":"H","value":"8"}]}]}`)
	order.items[0].name = "Physio"
	styles := strings.NewReplacer(labelStyle+totalStyle, "total", valueStyle+totalStyle, "total", labelStyle, "label", valueStyle, "value", headingStyle, "heading", ruleStyle, ";rule", asideStyle, "aside", tableStyle, "table")
	row := func(label, value string) string {
		return `<tr><td style="label">` + label + `</td><td style="value">` + value + `</td></tr>`
	}
	heading := func(text string) string { return `<tr><td colspan="2" style="heading">` + text + `</td></tr>` }
	table := func(rows ...string) string {
		return `<table role="presentation" style="table">` + strings.Join(rows, "") + `</table>`
	}
	check := func(want Variables) {
		t.Helper()
		html := order.html()
		for name, text := range want {
			expect.Equal(t, text, styles.Replace(html[name]), name)
		}
	}
	check(Variables{
		"order_summary_breakdown": table(heading("Services"), row(`A <span style="aside">60 min</span>`, "1"), row(`B <span style="aside">TEN</span>`, "2"), row("C", "3"),
			row("D", "4"), heading("Of D"), row("E", "5"), row("F", "6"), row("G", "7"), row("H", "8"), row("Payments and Credits", "0.00 €"),
			`<tr><td style="total">Balance Due</td><td style="total">85.00 €</td></tr>`),
		"order_items": table(`<tr><td style="padding:10px 0;rule"><strong>Physio</strong><div>7 Nov, 2026, 09:05</div><div>Ann &amp; Lee</div></td></tr>`,
			`<tr><td style="padding:10px 0"><strong>Ten visits</strong><div>Massage (2)</div></td></tr>`),
		"order_transactions_breakdown": noPayments,
	})
	order.payments = []contentPayment{{"deposit", "20 €"}}
	check(Variables{"order_transactions_breakdown": table(row("Deposit", "20 €"))})
}

// TestContentIsEscapedInMails: a name cannot add markup.
func TestContentIsEscapedInMails(t *testing.T) {
	t.Parallel()
	got := anOrder(`{"before_subtotal":[{"heading":"<i>","items":[{"label":"<script>","value":"<u>","note":"<p>","badge":"<q>"}]}]}`).html()
	w := session.WriteSettings{Settings: map[string]string{session.SettingBusinessName: `"><script>`}}
	maps.Copy(got, businessVariables(w, "https://x/?a=1&b=2\"").html)
	for _, name := range []string{"order_summary_breakdown", "order_items", "business_logo_image", "business_logo_url"} {
		html := got[name]
		for _, raw := range []string{"<script", "<i>", "<b>", "<u>", "<p>", "<q>", "& Lee", "1&b", `b=2"`} {
			expect.NoTexts(t, html, raw)
		}
	}
}
