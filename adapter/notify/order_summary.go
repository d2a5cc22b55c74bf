package notify

import (
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/text"
)

// priceRow is a row of a price breakdown.
type priceRow struct {
	style                     rowStyle
	label, note, badge, value string
}

type rowStyle int

const (
	plainRow rowStyle = iota
	headingRow
	totalRow
)

// priceRows returns what an order costs, as rows in display order: the stored breakdown as it is, and what is
// due at present (OsPriceBreakdownHelper and OsOrderModel::generate_price_breakdown_rows, LatePoint 5.6.5).
func (c orderContent) priceRows() []priceRow {
	rows := c.itemRows()
	if stored, err := decodeTree(c.breakdown); err == nil {
		if breakdown, ok := stored.(object); ok && len(breakdown) > 0 {
			rows = slices.Concat(storedRows(breakdown.get("before_subtotal")), storedRows(breakdown.get("after_subtotal")))
		}
	}
	return append(rows,
		priceRow{label: c.texts.Of("Payments and Credits"), value: c.credits},
		priceRow{style: totalRow, label: c.texts.Of("Balance Due"), value: c.balanceDue},
	)
}

// itemRows returns the prices of an order without a breakdown.
func (c orderContent) itemRows() []priceRow {
	var rows []priceRow
	last := ""
	for _, item := range c.items {
		if item.heading != last {
			rows = append(rows, priceRow{style: headingRow, label: c.texts.Of(item.heading)})
		}
		last = item.heading
		rows = append(rows, priceRow{label: item.name, value: item.price})
	}
	return append(rows, priceRow{label: c.texts.Of("Total Price"), value: c.itemsTotal})
}

// storedRows flattens parts of a stored breakdown. A heading is shown once for consecutive parts.
func storedRows(parts any) []priceRow {
	var rows []priceRow
	last := ""
	for _, part := range members(parts) {
		heading := scalarText(part.get("heading"))
		items := members(part.get("items"))
		if len(items) > 0 && heading != "" && heading != last {
			rows = append(rows, priceRow{style: headingRow, label: heading})
		}
		last = heading
		for _, item := range items {
			rows = append(rows, storedRow(item))
			rows = append(rows, storedRows(item.get("sub_items"))...)
		}
		if len(items) == 0 && scalarText(part.get("label")) != "" {
			rows = append(rows, storedRow(part))
		}
		if sub := storedRows(part.get("sub_items")); len(sub) > 0 {
			if heading := scalarText(part.get("sub_items_heading")); heading != "" {
				rows = append(rows, priceRow{style: headingRow, label: heading})
			}
			rows = append(rows, sub...)
		}
	}
	return rows
}

func storedRow(item object) priceRow {
	return priceRow{label: scalarText(item.get("label")), note: scalarText(item.get("note")), badge: scalarText(item.get("badge")), value: scalarText(item.get("value"))}
}

const noPayments = "No transactions found."

// variables returns the variables that show the order as a whole.
func (c orderContent) variables() messageVariables { return messageVariables{c.text(), c.html()} }

// text has one row per line.
func (c orderContent) text() Variables {
	var summary, items, payments []string
	for _, row := range c.priceRows() {
		if row.style != headingRow {
			summary = append(summary, strings.Join(nonEmpty(row.label, row.note, row.badge), " ")+": "+row.value)
		}
	}
	for _, item := range c.items {
		items = append(items, strings.Join(nonEmpty(append([]string{item.name}, item.details...)...), ", "))
	}
	for _, p := range c.payments {
		payments = append(payments, strings.Join(nonEmpty(c.texts.Of(paymentPortions[p.portion]), p.amount), ": "))
	}
	if len(payments) == 0 {
		payments = []string{c.texts.Of(noPayments)}
	}
	return Variables{
		"order_summary_breakdown": strings.Join(summary, "\n"), "order_items": strings.Join(items, "\n"),
		"order_transactions_breakdown": strings.Join(payments, "\n"),
	}
}

// Styles of the tables. Mail programs ignore style sheets and support few styles on elements; font and
// colour come from the site's layout.
const (
	tableStyle   = "width:100%;border-collapse:collapse"
	headingStyle = "padding:12px 0 4px;text-align:left;font-size:12px;font-weight:600;color:#6b7280"
	labelStyle   = "padding:4px 12px 4px 0;text-align:left;vertical-align:top"
	valueStyle   = "padding:4px 0;text-align:right;vertical-align:top;white-space:nowrap"
	totalStyle   = ";border-top:2px solid #374151;padding-top:10px;font-weight:600"
	ruleStyle    = ";border-bottom:1px solid #e5e7eb"
	asideStyle   = "color:#6b7280;font-size:14px"
)

func (c orderContent) html() Variables {
	summary := g.Map(c.priceRows(), priceRow.html)
	items := make([]g.Node, len(c.items))
	for i, item := range c.items {
		items[i] = item.html(i == len(c.items)-1)
	}
	payments := g.Text(c.texts.Of(noPayments))
	if len(c.payments) > 0 {
		payments = table(g.Map(c.payments, func(p contentPayment) g.Node {
			return priceRow{label: c.texts.Of(paymentPortions[p.portion]), value: p.amount}.html()
		}))
	}
	return Variables{
		"order_summary_breakdown": markup(table(summary)), "order_items": markup(table(items)), "order_transactions_breakdown": markup(payments),
	}
}

func table(rows []g.Node) g.Node {
	return h.Table(h.Role("presentation"), h.Style(tableStyle), g.Group(rows))
}

func (r priceRow) html() g.Node {
	if r.style == headingRow {
		return h.Tr(h.Td(g.Attr("colspan", "2"), h.Style(headingStyle), escaped(r.label)))
	}
	label, value := labelStyle, valueStyle
	if r.style == totalRow {
		label, value = label+totalStyle, value+totalStyle
	}
	return h.Tr(
		h.Td(h.Style(label), escaped(r.label), aside(r.note), aside(r.badge)),
		h.Td(h.Style(value), escaped(r.value)),
	)
}

// escaped returns a text in which entities stay entities: the site may have &pound; as its currency.
func escaped(content string) g.Node { return g.Raw(text.HTML(content)) }

func aside(note string) g.Node {
	return g.If(note != "", g.Group{g.Text(" "), h.Span(h.Style(asideStyle), escaped(note))})
}

func (i contentItem) html(last bool) g.Node {
	style := "padding:10px 0"
	if !last {
		style += ruleStyle
	}
	return h.Tr(h.Td(h.Style(style), h.Strong(g.Text(i.name)), g.Map(nonEmpty(i.details...), func(line string) g.Node {
		return h.Div(g.Text(line))
	})))
}

// markup writes HTML. Writing to a strings.Builder cannot fail.
func markup(node g.Node) string {
	var b strings.Builder
	_ = node.Render(&b)
	return b.String()
}

func nonEmpty(texts ...string) []string {
	var rest []string
	for _, text := range texts {
		if text != "" {
			rest = append(rest, text)
		}
	}
	return rest
}
