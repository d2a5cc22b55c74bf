package page

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Table shows rows below the heads of their columns; a column with actions has the head "". It sets the
// roles of its parts, because browsers no longer recognise a table whose rows the style sheet turns into
// cards.
func Table(heads []Text, rows g.Node) g.Node {
	return h.Table(h.Class("list"), h.Role("table"),
		h.THead(h.Role("rowgroup"), h.Tr(h.Role("row"), g.Map(heads, func(head Text) g.Node {
			if head == "" {
				return columnHead(ScreenReaderText(Text("Actions")))
			}
			return columnHead(head)
		}))),
		h.TBody(h.Role("rowgroup"), rows),
	)
}

func columnHead(content g.Node) g.Node {
	return h.Th(h.Role("columnheader"), h.Scope("col"), content)
}

// Row is a row of a Table.
func Row(head g.Node, cells ...g.Node) g.Node {
	return h.Tr(h.Role("row"), h.Th(h.Role("rowheader"), h.Scope("row"), head), g.Group(cells))
}

// Cell is a cell of a Row. It repeats the head of its column, for display as a card.
func Cell(head Text, content ...g.Node) g.Node {
	return h.Td(h.Role("cell"), Attr("data-label", head), h.Div(content...))
}
