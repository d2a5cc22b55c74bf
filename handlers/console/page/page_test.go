package page

import (
	"html"
	"strings"
	"testing"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/language"
)

func TestRoundUp(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]float64{0: 1, -1: 1, .3: .5, 1: 1, 1.1: 2, 3: 5, 7: 10, 99: 100, 101: 200, 4321: 5000} {
		if got := roundUp(value); got < want*.999 || got > want*1.001 {
			t.Errorf("%v is rounded up to %v, want %v", value, got, want)
		}
	}
}

// TestLine: a line has gaps where there are no values, and a dot for a single one.
func TestLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   string
	}{
		"nothing": {[]float64{0, 0}, ""},
		"dot":     {[]float64{0, 5, 0}, "M14 50h1"},
		"gap":     {[]float64{10, 5, 0, 10, 10}, "M4 0h1L15 50M34 0h1L45 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			if err := line(Series{Values: c.values}, 10).Render(&text); err != nil || !strings.Contains(text.String(), ` d="`+c.want+`"`) {
				t.Errorf("%s, %v", &text, err)
			}
		})
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]string{
		-time.Second: "just now", 9 * time.Second: "just now", 59 * time.Second: "59 seconds ago", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago",
		time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago", 89 * 24 * time.Hour: "89 days ago", 400 * 24 * time.Hour: "13 months ago",
	} {
		if got := Ago(age).For(Reader{}); got != want {
			t.Errorf("%v: %s, want %s", age, got, want)
		}
	}
}

// rendered renders a node for a reader.
func rendered(t *testing.T, r Reader, node g.Node) string {
	t.Helper()
	var text strings.Builder
	if err := node.Render(For(&text, r)); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestPhrases: texts are in the language of the reader, names are not, and a translation may order its values.
func TestPhrases(t *testing.T) {
	t.Parallel()
	german := Reader{Language: "de", Zone: time.FixedZone("Europe/Berlin", 3600), Texts: language.Texts{
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
		if got := rendered(t, Reader{}, c.node); got != c.english {
			t.Errorf("%s in English: %s, want %s", name, got, c.english)
		}
		if got := rendered(t, german, c.node); got != c.german {
			t.Errorf("%s in German: %s, want %s", name, got, c.german)
		}
		if phrase, ok := c.node.(Phrase); ok && name != "a node as value" {
			if got := html.EscapeString(phrase.For(german)); got != c.german {
				t.Errorf("%s as a phrase: %s, want %s", name, got, c.german)
			}
		}
	}
	if got := rendered(t, Reader{}, Textf("%s of %s", 1)); got != "1 of %s" {
		t.Errorf("without a value: %s", got)
	}
}
