package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Sizes in pixels.
const (
	width    = 860
	left     = 190 // of the bars
	bar      = 11
	rowSpace = 14
	chart    = 240 // height of the lines
)

var (
	colours = map[string]string{"bookside": "#1f6feb", "sql": "#8c959f", "php": "#d1570a"}
	names   = map[string]string{"bookside": "Bookside", "sql": "the same statements alone", "php": "PHP"}
	lines   = []string{"#1f6feb", "#d1570a", "#1a7f37", "#8250df", "#bf3989", "#57606a", "#9a6700", "#0a7d91", "#cf222e"}
)

// canvas collects the elements of a picture from top to bottom.
type canvas struct {
	strings.Builder
	y int
}

func (c *canvas) text(x, y int, class, format string, args ...any) {
	fmt.Fprintf(&c.Builder, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, html.EscapeString(fmt.Sprintf(format, args...)))
}

// picture draws the rates as bars and the sizes as lines, both by powers of ten.
func (m measurements) picture(title string) string {
	c := &canvas{y: 30}
	c.text(20, c.y, "title", "%s", title)
	c.bars(m)
	if len(m.sizes) > 0 {
		c.lines(m.sizes)
	}
	const style = `text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:15px}.end{text-anchor:end}.mid{text-anchor:middle}.dim{fill:#656d76}` +
		`.grid{stroke:#d0d7de}.line{fill:none;stroke-width:2}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}.grid{stroke:#3d444d}}`
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img"><title>%s</title><style>%s</style>`+"\n%s</svg>\n",
		width, c.y+20, html.EscapeString(title), style, c.String())
}

// scale places values between low and high on so many pixels, by powers of ten.
func scale(value, low, high float64, pixels int) int {
	if value <= low {
		return 0
	}
	return int(math.Round(math.Log10(value/low) / math.Log10(high/low) * float64(pixels)))
}

func (c *canvas) bars(m measurements) {
	var all []float64
	for _, r := range m.rates {
		all = append(all, r.perSecond)
	}
	if len(all) == 0 {
		return
	}
	low, high := math.Pow(10, math.Floor(math.Log10(max(1, slices.Min(all))))), slices.Max(all)
	c.y += 28
	x := left
	c.text(20, c.y, "dim", "requests a second")
	for _, system := range systems {
		if colours[system] != "" && slices.ContainsFunc(m.rows, func(r row) bool { _, ok := m.rates[rateKey{r, system}]; return ok }) {
			fmt.Fprintf(&c.Builder, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/>`+"\n", x, c.y-10, colours[system])
			c.text(x+15, c.y, "", "%s", names[system])
			x += 30 + 8*len(names[system])
		}
	}
	c.y += 12
	for _, r := range m.rows {
		top := c.y
		for _, system := range systems {
			rate, measured := m.rates[rateKey{r, system}]
			if !measured || colours[system] == "" {
				continue
			}
			long := scale(rate.perSecond, low, high, width-left-170)
			fmt.Fprintf(&c.Builder, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left, c.y, max(2, long), bar, colours[system])
			c.text(left+long+6, c.y+bar-1, "dim", "%.0f, p99 %s ms", rate.perSecond, milliseconds(rate.p99))
			c.y += rowSpace
		}
		c.text(left-10, (top+c.y)/2+3, "end", "%s, %s", r.name, r.mode)
		c.y += 8
	}
}

func (c *canvas) lines(sizes []size) {
	var paths []string
	lowX, highX, lowY, highY := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, s := range sizes {
		if !slices.Contains(paths, s.name) {
			paths = append(paths, s.name)
		}
		lowX, highX = min(lowX, float64(s.bookings)), max(highX, float64(s.bookings))
		lowY, highY = min(lowY, float64(s.median)), max(highY, float64(s.median))
	}
	lowY, highY = math.Pow(10, math.Floor(math.Log10(lowY))), math.Pow(10, math.Ceil(math.Log10(highY)))
	c.y += 24
	c.text(20, c.y, "dim", "median time of a request in ms, by the number of bookings")
	bottom := c.y + 16 + chart
	for tick := lowY; tick <= highY*1.001; tick *= 10 {
		y := bottom - scale(tick, lowY, highY, chart)
		fmt.Fprintf(&c.Builder, `<line x1="60" x2="%d" y1="%d" y2="%d" class="grid"/>`+"\n", width-190, y, y)
		c.text(52, y+4, "end dim", "%g", tick/1000)
	}
	place := func(s size) (x, y int) {
		return 60 + scale(float64(s.bookings), lowX, max(highX, lowX+1), width-250), bottom - scale(float64(s.median), lowY, highY, chart)
	}
	labels := map[int]bool{}
	for i, path := range paths {
		var points []string
		var lastX, lastY int
		for _, s := range sizes {
			if s.name != path {
				continue
			}
			lastX, lastY = place(s)
			points = append(points, fmt.Sprintf("%d,%d", lastX, lastY))
			if !labels[s.bookings] {
				labels[s.bookings] = true
				c.text(lastX, bottom+16, "mid dim", "%d", s.bookings)
			}
		}
		colour := lines[i%len(lines)]
		fmt.Fprintf(&c.Builder, `<polyline class="line" stroke="%s" points="%s"/>`+"\n", colour, strings.Join(points, " "))
		c.text(lastX+24, bottom-chart+8+i*16, "", "%s", path)
		fmt.Fprintf(&c.Builder, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/>`+"\n", lastX+8, bottom-chart-1+i*16, colour)
	}
	c.y = bottom + 20
}
