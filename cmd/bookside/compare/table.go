package compare

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/bookside/bookside/adapter/rowdiff"
)

// section is a part of a result, shown on a terminal and on a page.
type section struct {
	title, about string
	findings     []Finding
	list         []string
}

func (r *Result) sections() []section {
	if r.Writes != nil {
		return []section{{title: "Tables that were not compared", list: r.Writes.Skipped}, {title: whyExtensions, list: r.Reasons}}
	}
	return []section{
		{title: "Differences", findings: r.Differences},
		{title: whyExtensions, list: r.Reasons},
		{title: "Known differences", about: "Each of them is a decision of Bookside.", findings: r.Known},
		{title: "Noise", about: "PHP itself does not answer the same twice here.", findings: r.Noise},
		{title: "Remarks", about: "Keys of JSON objects have no order, and 5 and 5.0 are one number. Clients that read JSON as a text, or into an integer, may notice.", findings: r.Remarks},
		{title: "Not compared", list: r.Failures},
		{title: "Ignored", list: r.Ignored},
		{title: "Routes that were not seen in the requests", list: r.UnseenRoutes},
		{title: "Parameters that were not seen in the requests", list: r.UnseenParameters},
	}
}

// whyExtensions is the title of the list of extensions that may explain differences.
const whyExtensions = "What may explain differences: extensions of the site that the API does not honour"

// Text returns the result for a terminal. The verdict is its last line except the switch.
func (r *Result) Text() string {
	var b strings.Builder
	if r.Writes != nil {
		r.Writes.text(&b)
	} else {
		r.routesText(&b)
	}
	for _, s := range r.sections() {
		s.text(&b)
	}
	b.WriteString("\n" + r.Verdict + "\n")
	if r.Outcome == Equal {
		b.WriteString(switchText())
	}
	return b.String()
}

// routeHeads are the column headings of the routes.
var routeHeads = []string{"Route", "Requests", "Equal", "Noise", "Known", "Differ", "PHP p50", "PHP p99", "Bookside p50", "Bookside p99", "Factor"}

func (r RouteResult) cells() []string {
	cells := []string{r.Route}
	for _, n := range []int{r.Requests, r.Equal, r.Noise, r.Known, r.Differ} {
		cells = append(cells, fmt.Sprint(n))
	}
	for _, m := range []Milliseconds{r.Times.PHP50, r.Times.PHP99, r.Times.Bookside50, r.Times.Bookside99} {
		cells = append(cells, m.String())
	}
	if r.Times.Factor == 0 {
		return append(cells, absent)
	}
	return append(cells, fmt.Sprintf("%.1f×", r.Times.Factor))
}

func (r *Result) routesText(b *strings.Builder) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, strings.ToUpper(strings.Join(routeHeads, "\t"))) // a strings.Builder never fails
	for _, line := range r.Routes {
		_, _ = fmt.Fprintln(table, strings.Join(line.cells(), "\t"))
	}
	_ = table.Flush()
}

func (s section) text(b *strings.Builder) {
	if len(s.findings)+len(s.list) == 0 {
		return
	}
	b.WriteString(strings.TrimRight("\n"+s.title+": "+s.about, " ") + "\n")
	name := ""
	for _, f := range s.findings {
		if f.Name != name {
			name = f.Name
			fmt.Fprintf(b, "  %s: %s\n", f.Name, f.Why)
		}
		fmt.Fprintf(b, "  %s  %s, %s\n", f.Route, f.place(), count(f.Requests, "request"))
		if f.Name == "" || f.Kind == StatusDiffers { // clients may depend on the status
			fmt.Fprintf(b, "    GET %s\n    %s\n", f.Request, f.Exact)
			f.text(b, "      ")
		}
	}
	for _, text := range s.list {
		b.WriteString("  " + text + "\n")
	}
}

// place describes the kind of difference and where it is.
func (f Finding) place() string {
	if f.Kind == StatusDiffers {
		return string(f.Kind)
	}
	return string(f.Kind) + " at " + f.Path
}

func (e Example) text(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%sPHP:      %s\n%sBookside: %s\n", indent, e.PHP, indent, e.Bookside)
	if e.Note != "" {
		fmt.Fprintf(b, "%s(%s)\n", indent, e.Note)
	}
}

func (w *Writes) text(b *strings.Builder) {
	for _, r := range w.Requests {
		fmt.Fprintf(b, "%s  %s: %s\n", r.Request, r.statuses(), r.Outcome)
		for _, t := range r.Tables {
			fmt.Fprintf(b, "  %s%s\n", t.Table, changesText(t))
		}
		for _, f := range r.Answer {
			fmt.Fprintf(b, "  answer: %s at %s\n", f.Kind, f.Exact)
			f.text(b, "    ")
		}
		for _, f := range r.Rows {
			fmt.Fprintf(b, "  %s: %s\n", f.place(), cmp.Or(f.Name, f.Kind))
			f.text(b, "    ")
		}
	}
}

// statuses returns both statuses, with the code of Bookside's error.
func (r WriteResult) statuses() string {
	return strings.TrimSpace(fmt.Sprintf("PHP %d, Bookside %d %s", r.PHP, r.Bookside, r.Error))
}

func changesText(t rowdiff.Counts) string {
	return fmt.Sprintf(": PHP changed %s, Bookside %d", count(t.PHP, "row"), t.Bookside)
}

// place describes a row and a column.
func (f RowFinding) place() string {
	text := fmt.Sprintf("%s %d", f.Table, f.Row)
	if f.Column != "" {
		text += ", " + f.Column
	}
	return text
}

func switchText() string {
	var b strings.Builder
	b.WriteString("\nTo move over, send the path of the API to Bookside:\n")
	for _, s := range switches {
		fmt.Fprintf(&b, "\n%s, %s\n  %s\nBack: %s\n", s.proxy, s.where, strings.ReplaceAll(s.lines, "\n", "\n  "), s.back)
	}
	return b.String() + "\n" + switchNote + "\n"
}
