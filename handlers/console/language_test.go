package console_test

import (
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures"
)

// german returns the texts of the companion's translation.
var german = sync.OnceValue(func() text.Texts {
	compiled, err := os.ReadFile("../../cmd/bookside/companion/plugins/bookside/languages/bookside-de_DE.mo")
	if err != nil {
		panic(err)
	}
	texts, err := text.ParseMO(compiled)
	if err != nil {
		panic(err)
	}
	return texts
})

// inGerman opens a page in a browser that prefers German.
func (v *visitor) inGerman(path string) page {
	v.t.Helper()
	return v.ask(http.MethodGet, path, http.Header{"Accept-Language": {"de-AT,de;q=0.9,en;q=0.8"}}, nil)
}

var (
	// readTexts are the contents of elements, and the attributes that people read.
	readTexts = regexp.MustCompile(`>([^<>]+)<|(?:aria-label|title|placeholder|data-label|data-copied|data-selected)="([^"]+)"`)
	// valueIn is the place of a value in an original, quoted for a pattern.
	valueIn = regexp.MustCompile(`%(?:\d\\\$)?([sd])`)
)

// untranslated matches the originals of all texts that are others in German, with any values in them.
var untranslated = sync.OnceValue(func() *regexp.Regexp {
	var originals []string
	for original, translated := range german() {
		if original != translated && !strings.Contains(original, "\x04") {
			originals = append(originals, valueIn.ReplaceAllStringFunc(regexp.QuoteMeta(original), func(place string) string {
				if strings.HasSuffix(place, "d") {
					return `\d+`
				}
				return `.+`
			}))
		}
	}
	return regexp.MustCompile(`^(?:` + strings.Join(originals, "|") + `)$`)
})

// wantGerman fails the test if a page has a text of the catalogue in English.
func (p page) wantGerman(path string) {
	p.t.Helper()
	if !strings.Contains(p.text, `<html lang="de">`) || p.header.Get("Vary") != "Accept-Language" {
		p.t.Errorf("%s: not in German, or Vary is %q", path, p.header.Get("Vary"))
	}
	for _, found := range readTexts.FindAllStringSubmatch(string(p.body), -1) {
		text := strings.TrimSpace(html.UnescapeString(found[1] + found[2]))
		if untranslated().MatchString(text) {
			p.t.Errorf("%s: %q is English", path, text)
		}
	}
}

// TestLanguage: the console speaks the language that the browser asks for, and otherwise English.
func TestLanguage(t *testing.T) {
	t.Parallel()
	v := serve(t, fixtures.Shared(t, fixtures.Small(now))).visitor()
	for header, want := range map[string]string{
		"": `<html lang="en">`, "de": "<h1>Anmelden</h1>", "de-CH,en;q=0.5": `<html lang="de">`, "fr,de;q=0.3": "<h1>Anmelden</h1>", "en-GB,de;q=0.9": "<h1>Log in</h1>",
		"fr": "<h1>Log in</h1>", "*": "<h1>Log in</h1>", "de;q=x": `<html lang="en">`, strings.Repeat("-", 2000): `<html lang="en">`,
	} {
		v.ask(http.MethodGet, "/console/login", http.Header{"Accept-Language": {header}}, nil).says(http.StatusOK, want)
	}
	v.inGerman("/console/login").says(http.StatusOK, "Auf dem Server gibt <kbd>bookside admin-token</kbd> ein Token aus.").wantGerman("login")
}
