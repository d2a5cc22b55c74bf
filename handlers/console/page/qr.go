package page

import (
	"fmt"
	"strings"

	"github.com/skip2/go-qrcode"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// QR shows a text as a QR code, drawn in the page itself, because its source may be secret. It shows
// nothing for a text that no code can hold.
func QR(text string, label Text) g.Node {
	code, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return nil
	}
	modules := code.Bitmap() // with the quiet zone around it
	var path strings.Builder
	for y, row := range modules {
		for x, dark := range row {
			if dark {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	size := len(modules)
	return g.El("svg", h.Class("qr"), g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", size, size)), h.Role("img"), Label(label),
		g.El("rect", h.Width("100%"), h.Height("100%"), g.Attr("fill", "#fff")),
		g.El("path", g.Attr("d", path.String()), g.Attr("fill", "#000"), g.Attr("shape-rendering", "crispEdges")))
}
