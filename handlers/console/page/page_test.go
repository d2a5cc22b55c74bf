package page

import (
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestArrange: items that overlap are beside each other, each as wide as the time leaves room.
func TestArrange(t *testing.T) {
	t.Parallel()
	item := func(from, to int) Item { return Item{Span: Span{from, to}} }
	behind := item(0, 600)
	behind.Behind = true
	for name, c := range map[string]struct {
		items []Item
		want  []room
	}{
		"one":            {[]Item{item(60, 120)}, []room{{0, 1, 1}}},
		"after another":  {[]Item{item(60, 120), item(120, 180)}, []room{{0, 1, 1}, {0, 1, 1}}},
		"over something": {[]Item{behind, item(60, 120)}, []room{{0, 1, 1}, {0, 1, 1}}},
		"a chain":        {[]Item{item(60, 120), item(90, 180), item(150, 210)}, []room{{0, 1, 2}, {1, 1, 2}, {0, 1, 2}}},
		"room for two":   {[]Item{item(0, 300), item(0, 60), item(0, 60), item(90, 120)}, []room{{0, 1, 3}, {1, 1, 3}, {2, 1, 3}, {0, 2, 3}}},
	} {
		if got := arrange(c.items); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestTop: the scale of a chart ends at 1, 2 or 5 times a power of ten.
func TestTop(t *testing.T) {
	t.Parallel()
	for value, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 5, 7: 10, 99: 100, 101: 200, 4321: 5000} {
		expect.Equal(t, want, (Chart{Labels: []string{""}, Series: []Series{{Values: []int{value}}}}).top(), value)
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{
		-time.Second: "just now", 9 * time.Second: "just now", 59 * time.Second: "59 seconds ago", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago",
		time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago", 89 * 24 * time.Hour: "89 days ago", 400 * 24 * time.Hour: "13 months ago",
	} {
		expect.Equal(t, want, Ago(age).For(Reader{}), age)
	}
}

// rendered renders a node for a reader.
func rendered(t *testing.T, r Reader, node g.Node) string {
	t.Helper()
	var text strings.Builder
	expect.NoError(t, node.Render(For(&text, r)))
	return text.String()
}

// TestPhrases: texts are in the language of the reader, names are not, and a translation may order its values.
func TestPhrases(t *testing.T) {
	t.Parallel()
	german := Reader{Language: "de", Zone: time.FixedZone("Europe/Berlin", 3600), Texts: text.Texts{
		"Write 1 to %s characters.": "Schreiben Sie 1 bis %s Zeichen.", "\"%s\" is not a %s; write one.": "Kein %2$s: %1$s.", "network": "Netz",
		"Keys": "Schlüssel", "%s of %s": "von %2$s: %1$s", "%d booking": "%d Buchung", "%d bookings": "%d Buchungen", "noun\x04Change": "Änderung", "Change": "Ändern",
		string(LongDate): "Monday, 2. January 2006", string(DateTime): "02.01.2006, 15:04", "Sunday": "Sonntag", "Sun": "So.", "December": "Dezember", "Dec": "Dez.", "%s UTC": "%s UTC",
	}}
	at := time.Date(2026, time.December, 6, 23, 30, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		node            g.Node
		english, german string
	}{
		"a text":             {Text("Keys"), "Keys", "Schlüssel"},
		"an unknown text":    {Text("<unknown>"), "&lt;unknown&gt;", "&lt;unknown&gt;"},
		"a name":             {Name("Keys"), "Keys", "Keys"},
		"code":               {Code("Keys"), "Keys", "Keys"},
		"made elsewhere":     {Text("Write 1 to 190 characters."), "Write 1 to 190 characters.", "Schreiben Sie 1 bis 190 Zeichen."},
		"with its values":    {Text(`"%2$s" is not a network; write one.`), "&#34;%2$s&#34; is not a network; write one.", "Kein Netz: %2$s."},
		"values":             {Textf("%s of %s", Text("Keys"), "<b>"), "Keys of &lt;b&gt;", "von &lt;b&gt;: Schlüssel"},
		"a node as value":    {Textf("%s of %s", h.B(Text("Keys")), 3), "<b>Keys</b> of 3", "von 3: <b>Schlüssel</b>"},
		"a message in one":   {Textf("%s of %s", Count(2, "%d booking", "%d bookings"), Name("Keys")), "2 bookings of Keys", "von Keys: 2 Buchungen"},
		"one":                {Count(1, "%d booking", "%d bookings"), "1 booking", "1 Buchung"},
		"a context":          {Text("noun\x04Change"), "Change", "Änderung"},
		"no context":         {Text("Change"), "Change", "Ändern"},
		"a list":             {List(Text("Keys"), Name("x")), "Keys, x", "Schlüssel, x"},
		"an attribute":       {h.P(Label("Keys")), `<p aria-label="Keys"></p>`, `<p aria-label="Schlüssel"></p>`},
		"a date":             {NewDate(at, LongDate), "Sunday, 6 December 2026", "Sonntag, 6. Dezember 2026"},
		"a date of digits":   {NewDate(at, DateTime), "2026-12-06 23:30", "06.12.2026, 23:30"},
		"a time in the zone": {Time(at), `<time datetime="2026-12-06T23:30:00Z" title="2026-12-06 23:30 UTC">2026-12-06 23:30</time>`, `<time datetime="2026-12-06T23:30:00Z" title="06.12.2026, 23:30 UTC">07.12.2026, 00:30</time>`},
		"a stored time":      {Stamp("2026-12-06 23:30:00", "never"), rendered(t, Reader{}, Time(at)), rendered(t, german, Time(at))},
		"none":               {Stamp("", "Keys"), "Keys", "Schlüssel"},
		"the zone":           {ZoneHint(), `<p class="hint">Times are in UTC.</p>`, `<p class="hint">Times are those of the site, in Europe/Berlin.</p>`},
	} {
		expect.Equal(t, c.english, rendered(t, Reader{}, c.node), name, " in English")
		expect.Equal(t, c.german, rendered(t, german, c.node), name, " in German")
		if phrase, ok := c.node.(Phrase); ok && name != "a node as value" {
			expect.Equal(t, c.german, html.EscapeString(phrase.For(german)), name, " as a phrase")
		}
	}
	expect.Equal(t, "1 of %s", rendered(t, Reader{}, Textf("%s of %s", 1)), "without a value")
}
