package compare

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text returns the result for a terminal. The verdict is its last line but the switch.
func (r *Result) Text() string {
	var b strings.Builder
	if r.Writes != nil {
		r.writesText(&b)
	} else {
		r.routesText(&b)
		findingsText(&b, "Differences", r.Differences)
		findingsText(&b, "Known differences, each of them a decision", r.Known)
		findingsText(&b, "Noise: PHP does not answer the same twice", r.Noise)
		findingsText(&b, "Remarks: other orders of keys and forms of numbers", r.Remarks)
		listText(&b, "Not compared", r.Failures)
		listText(&b, "Ignored", r.Ignored)
		listText(&b, "Routes that were not seen in the requests", r.UnseenRoutes)
		listText(&b, "Parameters that were not seen in the requests", r.UnseenParameters)
	}
	b.WriteString("\n" + r.Verdict + "\n")
	if r.Outcome == Equal {
		b.WriteString(switchText())
	}
	return b.String()
}

func (r *Result) routesText(b *strings.Builder) {
	rows := [][]string{{"ROUTE", "REQUESTS", "EQUAL", "BUT NOISE", "KNOWN", "DIFFER", "PHP P50", "P99", "BOOKSIDE P50", "P99", "FACTOR"}}
	for _, line := range r.Routes {
		rows = append(rows, append([]string{line.Route, fmt.Sprint(line.Requests), fmt.Sprint(line.Equal), fmt.Sprint(line.Noise), fmt.Sprint(line.Known), fmt.Sprint(line.Differ)},
			line.Times.cells()...))
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // a strings.Builder never fails
	}
	_ = table.Flush()
}

func (t Times) cells() []string {
	return []string{t.PHP50.String(), t.PHP99.String(), t.Bookside50.String(), t.Bookside99.String(), t.factor()}
}

func (t Times) factor() string {
	if t.Factor == 0 {
		return absent
	}
	return fmt.Sprintf("%.1f×", t.Factor)
}

func findingsText(b *strings.Builder, title string, findings []Finding) {
	if len(findings) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	name := ""
	for _, f := range findings {
		if f.Name != name {
			name = f.Name
			fmt.Fprintf(b, "  %s: %s\n", f.Name, f.Why)
		}
		fmt.Fprintf(b, "  %s  %s, %s\n", f.Route, f.place(), count(f.Requests, "request"))
		if f.Name == "" || f.Kind == StatusDiffers { // somebody may depend on the status
			fmt.Fprintf(b, "    GET %s\n    %s\n      PHP:      %s\n      Bookside: %s\n", f.Request, f.Exact, f.PHP, f.Bookside)
			if f.Note != "" {
				fmt.Fprintf(b, "      (%s)\n", f.Note)
			}
		}
	}
}

// place names the kind of difference and where it is.
func (f Finding) place() string {
	if f.Kind == StatusDiffers {
		return string(f.Kind)
	}
	return string(f.Kind) + " at " + f.Path
}

func listText(b *strings.Builder, title string, items []string) {
	if len(items) > 0 {
		fmt.Fprintf(b, "\n%s:\n  %s\n", title, strings.Join(items, "\n  "))
	}
}

func switchText() string {
	var b strings.Builder
	b.WriteString("\nTo move over, send the path of the API to Bookside:\n")
	for _, s := range switches {
		fmt.Fprintf(&b, "\n%s, %s\n  %s\nBack: %s\n", s.proxy, s.where, strings.ReplaceAll(s.lines, "\n", "\n  "), s.back)
	}
	return b.String() + "\n" + switchNote + "\n"
}
