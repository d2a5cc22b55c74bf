package compare

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/rowdiff"
)

//go:embed page.css
var pageStyle string

// WritePage writes the result as a self-contained HTML page.
func (r *Result) WritePage(w io.Writer) error {
	page := h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content("default-src 'none'; style-src 'unsafe-inline'")),
			h.TitleEl(g.Text("PHP and Bookside: "+string(r.Outcome))),
			h.StyleEl(g.Raw(pageStyle)),
		),
		h.Body(h.Main(
			h.H1(g.Text("PHP and Bookside, compared")),
			h.P(h.Class("soft"), g.Textf("%s, %s. PHP: ", r.Started.UTC().Format("2 January 2006, 15:04 UTC"), r.Source), h.Code(g.Text(r.PHP)), g.Text(", Bookside: "), h.Code(g.Text(r.Bookside))),
			h.P(h.Class("verdict "+string(r.Outcome)), h.Role("status"), g.Text(r.Verdict)),
			r.body(),
			switchView(),
		)),
	))
	if err := page.Render(w); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func (r *Result) body() g.Node {
	body := g.Group{g.If(r.Writes == nil, g.Group{r.routesView(), r.barsView()})}
	if r.Writes != nil {
		body = append(body, r.Writes.view())
	}
	for _, s := range r.sections() {
		body = append(body, s.view())
	}
	return body
}

func (r *Result) routesView() g.Node {
	var heads, rows []g.Node
	for _, name := range routeHeads {
		heads = append(heads, h.Th(h.Scope("col"), g.Text(name)))
	}
	for _, line := range r.Routes {
		var cells []g.Node
		for i, text := range line.cells() {
			cell := h.Td(h.Class("number"), g.If(routeHeads[i] == "Differ" && line.Differ > 0, h.Class("some")), g.Text(text))
			if i == 0 {
				cell = h.Th(h.Scope("row"), h.Code(g.Text(text)))
			}
			cells = append(cells, cell)
		}
		rows = append(rows, h.Tr(cells...))
	}
	return g.Group{
		h.H2(g.Text("Routes")),
		h.Div(h.Class("wide"), h.TabIndex("0"), h.Role("region"), h.Aria("label", "Routes"), h.Table(h.Class("routes"), h.THead(h.Tr(heads...)), h.TBody(rows...))),
	}
}

// barsView shows the times of both sides, all bars on the same scale.
func (r *Result) barsView() g.Node {
	longest := Milliseconds(0)
	for _, line := range r.Routes {
		longest = max(longest, line.Times.PHP99, line.Times.Bookside99)
	}
	if longest == 0 {
		return nil
	}
	bars := []g.Node{h.Class("bars")}
	for _, line := range r.Routes {
		t := line.Times
		bars = append(bars, h.Div(h.Class("name"), h.Code(g.Text(line.Route))), h.Div(
			bar("php", "PHP", t.PHP50, t.PHP99, longest),
			bar("bookside", "Bookside", t.Bookside50, t.Bookside99, longest),
		))
	}
	return g.Group{
		h.H2(g.Text("Times")),
		h.P(h.Class("soft"), h.Span(h.Class("key php")), g.Text("PHP"), h.Span(h.Class("key bookside")), g.Text("Bookside"), g.Text(" — the full bar is the median, the pale one the 99th percentile; shorter is faster.")),
		h.Div(bars...),
	}
}

func bar(class, name string, median, late, longest Milliseconds) g.Node {
	width := func(m Milliseconds) string {
		return strconv.FormatFloat(max(0.3, float64(m/longest)*100), 'f', 1, 64)
	}
	rect := func(class string, m Milliseconds) g.Node {
		return g.El("rect", h.Class(class), g.Attr("width", width(m)), g.Attr("height", "10"))
	}
	label := fmt.Sprintf("%s: %v, 99 %% within %v", name, median, late)
	return h.Div(h.Class("bar"),
		g.El("svg", g.Attr("viewBox", "0 0 100 10"), g.Attr("preserveAspectRatio", "none"), h.Role("img"), h.Aria("label", label), rect(class+" late", late), rect(class, median)),
		h.Span(h.Aria("hidden", "true"), g.Textf("%v / %v", median, late)),
	)
}

func (s section) view() g.Node {
	all := g.Group{}
	switch {
	case len(s.findings) > 0:
		all = append(all, h.H2(g.Textf("%s (%d)", s.title, len(s.findings))), g.If(s.about != "", h.P(g.Text(s.about))))
	case len(s.list) > 0:
		all = append(all, h.H2(g.Text(s.title)), h.Ul(g.Map(s.list, func(text string) g.Node { return h.Li(h.Code(g.Text(text))) })))
	}
	name := ""
	for _, f := range s.findings {
		if f.Name != name {
			name = f.Name
			all = append(all, h.H3(g.Text(name)), h.P(g.Text(f.Why)))
		}
		all = append(all, f.view())
	}
	return all
}

func (f Finding) view() g.Node {
	return h.Article(
		h.P(h.Strong(g.Text(string(f.Kind))), g.If(f.Kind != StatusDiffers, g.Group{g.Text(" at "), h.Code(g.Text(f.Path))}), g.Textf(" of %s, in %s", f.Route, count(f.Requests, "request"))),
		h.P(h.Class("soft"), g.Text("Example: "), h.Code(g.Text("GET "+f.Request)), g.Text(" at "), h.Code(g.Text(f.Exact))),
		f.Example.view(),
	)
}

func (e Example) view() g.Node {
	row := func(name, text string) g.Node {
		return h.Tr(h.Th(h.Scope("row"), g.Text(name)), h.Td(h.Code(g.Text(text))))
	}
	return g.Group{h.Table(h.TBody(row("PHP", e.PHP), row("Bookside", e.Bookside))), soft(e.Note)}
}

// soft returns a remark, if there is one.
func soft(text string) g.Node { return g.If(text != "", h.P(h.Class("soft"), g.Text(text))) }

func (w *Writes) view() g.Node {
	all := g.Group{h.H2(g.Text("Writes"))}
	for _, r := range w.Requests {
		article := g.Group{
			h.P(h.Strong(h.Code(g.Text(r.Request))), g.Text(" — "+r.statuses()+": "), h.Span(g.If(r.Outcome != Equal, h.Class("some")), g.Text(string(r.Outcome)))),
			h.Ul(g.Map(r.Tables, func(t rowdiff.Counts) g.Node {
				return h.Li(h.Code(g.Text(string(t.Table))), g.Text(changesText(t)))
			})),
		}
		difference := func(place, what, why string, e Example) {
			article = append(article, h.P(h.Strong(g.Text(what)), g.Text(" at "), h.Code(g.Text(place))), e.view(), soft(why))
		}
		for _, f := range r.Answer {
			difference("answer "+f.Exact, string(f.Kind), "", f.Example)
		}
		for _, f := range r.Rows {
			difference(f.place(), cmp.Or(f.Name, f.Kind), f.Why, f.Example)
		}
		all = append(all, h.Article(article))
	}
	return all
}

// switchView ends the page, whatever the verdict: switching over is the purpose of the comparison.
func switchView() g.Node {
	all := g.Group{h.H2(g.Text("The switch")), h.P(g.Text("These lines send the path of the API to Bookside. Nothing else changes, and they can be taken back at any time."))}
	for _, s := range switches {
		all = append(all, h.H3(g.Text(s.proxy)), h.P(g.Text(strings.ToUpper(s.where[:1])+s.where[1:])), h.Pre(g.Text(s.lines)), h.P(g.Text("The way back: "), g.Text(strings.ToLower(s.back[:1])+s.back[1:]+".")))
	}
	return append(all, h.P(h.Class("soft"), g.Text(switchNote)))
}
