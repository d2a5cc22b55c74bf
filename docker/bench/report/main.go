// Command report turns measurements of docker/bench/run into a table and a
// picture. It reads lines of fields separated by tabs:
//
//	rate  NAME  equal|different  SYSTEM  REQUESTS_PER_SECOND  MEDIAN_US  P99_US
//	size  NAME  BOOKINGS  MEDIAN_US
//
// SYSTEM is bookside, sql (the same statements without a server), php or
// baseline. The table goes to standard output, the picture to the file that -svg
// names.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	svg := flags.String("svg", "", "where to write the picture")
	title := flags.String("title", "", "what was measured, for the picture")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m, err := read(in)
	if err != nil {
		return err
	}
	if err := m.table(out); err != nil {
		return err
	}
	if *svg == "" {
		return nil
	}
	return os.WriteFile(*svg, []byte(m.picture(*title)), 0o644) //nolint:gosec // a picture for everybody
}

// measurements are what a run measured, in the order of its lines.
type measurements struct {
	rates map[rateKey]rate
	rows  []row // of rates, without the system
	sizes []size
}

type row struct{ name, mode string }

type rateKey struct {
	row
	system string
}

type rate struct {
	perSecond   float64
	median, p99 int // microseconds
}

type size struct {
	name     string
	bookings int
	median   int // microseconds
}

// systems are those that are compared, in the order of the columns.
var systems = []string{"bookside", "sql", "php", "baseline"}

func read(in io.Reader) (measurements, error) {
	m := measurements{rates: map[rateKey]rate{}}
	scanner := bufio.NewScanner(in)
	for n := 1; scanner.Scan(); n++ {
		if err := m.add(strings.Split(scanner.Text(), "\t")); err != nil {
			return m, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return m, scanner.Err()
}

func (m *measurements) add(fields []string) error {
	var numbers []float64
	text := map[string]int{"rate": 4, "size": 2}[fields[0]]
	if text == 0 || len(fields) != map[string]int{"rate": 7, "size": 4}[fields[0]] {
		return fmt.Errorf("%q is neither a rate nor a size", strings.Join(fields, " "))
	}
	for _, field := range fields[text:] {
		number, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return err
		}
		numbers = append(numbers, number)
	}
	if fields[0] == "size" {
		m.sizes = append(m.sizes, size{fields[1], int(numbers[0]), int(numbers[1])})
		return nil
	}
	key := rateKey{row{fields[1], fields[2]}, fields[3]}
	if !slices.Contains(systems, key.system) {
		return fmt.Errorf("unknown system %q", key.system)
	}
	if !slices.Contains(m.rows, key.row) {
		m.rows = append(m.rows, key.row)
	}
	m.rates[key] = rate{numbers[0], int(numbers[1]), int(numbers[2])}
	return nil
}

// table prints requests per second, what they are of those of the bare
// statements and of PHP, and the times.
func (m measurements) table(out io.Writer) error {
	var text strings.Builder
	text.WriteString("\trequests\treq/s\tmedian ms\tp99 ms\tbare SQL/s\tof bare\tPHP req/s\ttimes PHP\tof baseline\t\n")
	for _, r := range m.rows {
		ours := m.rates[rateKey{r, "bookside"}]
		of := func(system string, format func(ratio float64) string) (perSecond, ratio string) {
			other, measured := m.rates[rateKey{r, system}]
			if !measured || other.perSecond == 0 {
				return "", ""
			}
			return fmt.Sprintf("%.0f", other.perSecond), format(ours.perSecond / other.perSecond)
		}
		percent := func(ratio float64) string { return fmt.Sprintf("%.0f %%", 100*ratio) }
		bare, ofBare := of("sql", percent)
		php, timesPHP := of("php", func(ratio float64) string { return fmt.Sprintf("%.1f", ratio) })
		_, ofBaseline := of("baseline", func(ratio float64) string { return fmt.Sprintf("1/%.1f", 1/ratio) })
		fmt.Fprintf(&text, "%s\t%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.name, r.mode, ours.perSecond, milliseconds(ours.median), milliseconds(ours.p99),
			bare, ofBare, php, timesPHP, ofBaseline)
	}
	for _, s := range m.sizes {
		fmt.Fprintf(&text, "%s\t%d bookings\t\t%s\t\t\t\t\t\t\t\n", s.name, s.bookings, milliseconds(s.median))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return w.Flush()
}

func milliseconds(us int) string { return fmt.Sprintf("%.2f", float64(us)/1000) }
