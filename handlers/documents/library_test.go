package documents

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestAllDocuments: each embedded document has a reader, and its links lead to existing pages and headings.
func TestAllDocuments(t *testing.T) {
	t.Parallel()
	var sources []fs.FS
	for _, directory := range []string{"..", "../mcp", "../../adapter/keys", "../../adapter/webhooks", "../../cmd/bookside"} {
		sources = append(sources, os.DirFS(directory))
	}
	l, err := New("/pages", sources...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ids := map[string]string{} // of all headings, by page
	for _, d := range l.Documents() {
		names = append(names, d.Name)
		if d.Summary() == "" {
			t.Errorf("%s does not begin with what its reader wants", d.Name)
		}
		ids["/pages/"+d.Name] = " "
		for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(string(d.HTML), -1) {
			ids["/pages/"+d.Name] += " " + id[1] + " "
		}
	}
	if diff := cmp.Diff(readers, names); diff != "" {
		t.Errorf("documents (-known +found):\n%s", diff)
	}
	links := 0
	for _, d := range l.Documents() {
		for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(string(d.HTML), -1) {
			page, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(page, "://") || strings.HasPrefix(page, "mailto:") {
				continue
			}
			links++
			if page == "" {
				page = "/pages/" + d.Name
			}
			if known, ok := ids[page]; !ok || anchor != "" && !strings.Contains(known, " "+anchor+" ") {
				t.Errorf("%s links to %s, which does not exist", d.Name, link[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links", links)
	}
}

const sample = "# Sample & more\n\nTo try it, read on. And more.\n\n" +
	"[Other](../x/OTHER.md#part-one), [code](../x/main.go), <b>no markup</b>\n\n## Part\n\nWords about `bookside keys`.\n\n```sh\nbookside serve\n```\n\n| A | B |\n|---|---|\n| ünïcode | cell |\n"

func TestPages(t *testing.T) {
	t.Parallel()
	l, err := New("/pages", fstest.MapFS{"SAMPLE.md": {Data: []byte(sample)}}, fstest.MapFS{"OTHER.md": {Data: []byte("# Other\n\nNothing.\n\n## Part one\n")}, "main.go": {Data: []byte("package x")}})
	if err != nil {
		t.Fatal(err)
	}
	d, ok := l.Document("sample")
	if !ok || d.Title != "Sample & more" || d.Summary() != "To try it, read on." {
		t.Errorf("%v %q %q", ok, d.Title, d.Summary())
	}
	for _, part := range []string{`<a href="/pages/other#part-one">Other</a>, code,`, `<h2 id="part">Part</h2>`, `<code class="language-sh">`, "<td>ünïcode</td>"} {
		if !strings.Contains(string(d.HTML), part) {
			t.Errorf("no %s in\n%s", part, d.HTML)
		}
	}
	if strings.Contains(string(d.HTML), "<b>") || strings.Contains(string(d.HTML), "<h1") {
		t.Errorf("markup: %s", d.HTML)
	}
	for query, want := range map[string][]string{
		"":                   nil,
		"  ":                 nil,
		"nothing like it":    nil,
		"BOOKSIDE serve":     {"sample#part"},
		"try":                {"sample#"},
		"part":               {"other#part-one", "sample#part"},
		"ünïcode":            {"sample#part"},
		"<b>":                nil,
		"part words about x": nil,
	} {
		var got []string
		for _, m := range l.Search(query) {
			got = append(got, m.Document+"#"+m.Anchor)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	if _, err := New("", fstest.MapFS{"A.md": {Data: []byte("no title")}}); err == nil {
		t.Error("a document without a title")
	}
	var none *Library
	if _, ok := none.Document("sample"); ok || none.Search("a") != nil {
		t.Error("a library without documents")
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("aaaa ", 60) + "wörd" + strings.Repeat(" bbbb", 60)
	at := strings.Index(long, "wörd")
	if got := around(long, at); !strings.HasPrefix(got, "… aaaa") || !strings.Contains(got, " wörd ") || !strings.HasSuffix(got, "bbbb …") || len(got) > 2*excerpt+10 {
		t.Errorf("%q", got)
	}
	for text, at := range map[string]int{"short": 0, "": 5, "ü": 1} {
		around(text, at)
	}
}
