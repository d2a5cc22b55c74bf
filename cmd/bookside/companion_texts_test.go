package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

const companionFolder = "companion/plugins/" + pluginFolder

// headerOfTexts is the header of the template for translations.
const headerOfTexts = `# Texts of Bookside, for translations.
msgid ""
msgstr ""
"Project-Id-Version: Bookside\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"X-Domain: bookside\n"

`

// TestCompanionTranslations: the template has all texts of the code (-update writes it), the German
// translation is complete, and its compiled form is up to date (-update compiles it).
func TestCompanionTranslations(t *testing.T) {
	t.Parallel()
	command := func(name string, arguments ...string) string {
		output, err := exec.CommandContext(t.Context(), fixtures.RequireTool(t, name), arguments...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, output)
		}
		return string(output)
	}
	var sources []string
	for _, pattern := range []string{"companion/mu-plugins/*.php", "companion/mu-plugins/*/*.php", companionFolder + "/*.php", companionFolder + "/*/*.php"} {
		found, err := filepath.Glob(pattern)
		expect.NoError(t, err)
		sources = append(sources, found...)
	}
	slices.Sort(sources)
	ofServer := filepath.Join(t.TempDir(), "server.php")
	code := "<?php\n"
	calls := textsOfConsole(t)
	for _, text := range slices.Concat(textsOfServer(t), textsShownByConsole(t)) {
		if text != "" {
			calls = append(calls, phpCall(text))
		}
	}
	for _, call := range calls {
		code += call + ";\n"
	}
	expect.NoError(t, os.WriteFile(ofServer, []byte(code), 0o600))
	sources = append(sources, ofServer)
	texts := filepath.Join(t.TempDir(), "texts")
	command("xgettext", append([]string{
		"-L", "PHP", "--from-code=UTF-8", "--omit-header", "--no-location", "--no-wrap", "--sort-output", "--add-comments=translators",
		"-k__", "-k_x:1,2c", "-k_n:1,2", "-kesc_html__", "-kesc_attr__", "-o", texts,
	}, sources...)...)
	const template, german, compiled = companionFolder + "/languages/bookside.pot", companionFolder + "/languages/bookside-de_DE.po", companionFolder + "/languages/bookside-de_DE.mo"
	wantFile(t, template, headerOfTexts+string(readFile(t, texts)))

	untranslated := filepath.Join(t.TempDir(), "merged")
	command("msgmerge", "-q", "--no-fuzzy-matching", "-o", untranslated, german, template)
	expect.NoTexts(t, command("msgattrib", "--untranslated", "--no-obsolete", untranslated), "msgid")
	binary := filepath.Join(t.TempDir(), "compiled")
	command("msgfmt", "--check-format", "--no-hash", "-o", binary, german)
	wantFile(t, compiled, string(readFile(t, binary)))
}

// textsOfServer returns what the server tells WordPress: the texts of the declarations of keys, the errors
// and messages without values in them, why times are not free, and where that is changed.
func textsOfServer(t *testing.T) (texts []string) {
	t.Helper()
	sentence := func(text string) string { return domain.Capitalize(text) + "." }
	add := func(found ...string) { texts = append(texts, found...) }
	for _, a := range keys.NewAttributes {
		add(a.Label, a.Hint)
		for _, c := range a.Choices {
			add(c.Text)
		}
		if a.Missing != "" {
			add(sentence(a.Missing))
		}
	}
	for _, a := range keys.RollAttributes {
		add(a.Label)
		for _, c := range a.Choices {
			add(c.Text)
		}
	}
	for _, p := range keys.Presets {
		add(p.Name, p.Hint)
	}
	for _, name := range []string{"attributes", "attribute_fields"} {
		for _, found := range regexp.MustCompile(`errors\.New\("([^"]+)"\)`).FindAllSubmatch(readFile(t, "../../adapter/keys/"+name+".go"), -1) {
			add(sentence(string(found[1])))
		}
	}
	for _, name := range []string{"wordpress", "signature/signature"} {
		for _, found := range regexp.MustCompile(`(?:Message: |refuse\(http\.\w+, )("[A-Z](?:[^"\\]|\\.)+\.")`).FindAllSubmatch(readFile(t, "../../handlers/console/"+name+".go"), -1) {
			text, err := strconv.Unquote(string(found[1]))
			expect.NoError(t, err)
			add(text)
		}
	}
	for file, pattern := range map[string]string{
		"adapter/availability/reason.go":    `(?m)^\t[A-Z]\w+: +"(.+)",$`,
		"adapter/slots/bookable_service.go": `(?m)^\tMissing\w+: +"(.+)",$`,
	} {
		found := regexp.MustCompile(pattern).FindAllSubmatch(readFile(t, "../../"+file), -1)
		if len(found) < 4 {
			t.Errorf("only %d texts in %s", len(found), file)
		}
		for _, text := range found {
			add(string(text[1]))
		}
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	if len(texts) < 50 {
		t.Errorf("only %d texts: %q", len(texts), texts)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	expect.NoError(t, err)
	return content
}

// wantFile compares a file with its content, which -update writes.
func wantFile(t *testing.T, name, content string) {
	t.Helper()
	if *update {
		expect.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
	if diff := cmp.Diff(string(readFile(t, name)), content); diff != "" {
		t.Errorf("%s is out of date (-there +wanted):\n%s", name, diff)
	}
}

// TestCompanionVersions: all parts of the companion have the same version and requirements.
func TestCompanionVersions(t *testing.T) {
	t.Parallel()
	ours, err := companionPlugin()
	expect.NoError(t, err)
	for file, pattern := range map[string]string{
		"/bookside.php":                  `const VERSION = '(.*)';`,
		"/readme.txt":                    `(?m)^Stable tag: (.*)$`,
		"/../../mu-plugins/bookside.php": `define\('BOOKSIDE_COMPANION_VERSION', '(.*)'\);`,
	} {
		if found := regexp.MustCompile(pattern).FindSubmatch(readFile(t, companionFolder+file)); found == nil || string(found[1]) != ours.version {
			t.Errorf("%s: %s, want %s", file, found, ours.version)
		}
	}
	for _, file := range []string{"/bookside.php", "/readme.txt", "/../../mu-plugins/bookside.php"} {
		expect.Texts(t, string(readFile(t, companionFolder+file)), "Requires at least: 6.1", "Requires PHP: 7.4", "License: GPL-2.0-or-later")
	}
}

// TestCompanionReachesNobody: the plugin contacts only the API's server.
func TestCompanionReachesNobody(t *testing.T) {
	t.Parallel()
	ours, err := companionPlugin()
	expect.NoError(t, err)
	calls := map[string]int{}
	address := regexp.MustCompile(`https?://[a-z0-9.-]+`)
	for name, content := range ours.files {
		if !strings.HasSuffix(name, ".php") && !strings.HasSuffix(name, ".js") && !strings.HasSuffix(name, ".css") {
			continue
		}
		text := string(content)
		calls["wp_remote_"] += strings.Count(text, "wp_remote_get(") + strings.Count(text, "wp_remote_post(") + strings.Count(text, "wp_remote_request(")
		for _, forbidden := range []string{"file_get_contents('http", "<iframe", "<script", "download_url(", "eval(", "base64_decode("} {
			expect.NoTexts(t, text, forbidden)
		}
		for _, found := range address.FindAllString(text, -1) {
			if !slices.Contains([]string{"https://www.gnu.org", "http://127.0.0.1", "http://localhost"}, found) {
				t.Errorf("%s has the address %s", name, found)
			}
		}
	}
	if calls["wp_remote_"] != 1 { // ask_server
		t.Errorf("requests: %v", calls)
	}
}
