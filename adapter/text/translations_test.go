package text_test

import (
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

var german = map[string]string{
	"": "Content-Type: text/plain; charset=UTF-8\n", "Service": "Dienstleistung", "Approved": "Genehmigt", "Untranslated": "",
	"%d day\x00%d days": "%d Tag\x00%d Tage", "short\x04May": "Mai (kurz)", "March": "März", "May": "Mai", "Mar": "Mär", "Dec": "Dez", "December": "Dezember",
	"%d part\x00Service": "%d Teil\x00Teile", "Zone\x00Approved": "Zone\x00Zonen", // plurals that are also texts by themselves, which come later and earlier in the file
}

// write writes a file below wp-content.
func write(t *testing.T, content []byte, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	expect.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	expect.NoError(t, os.WriteFile(file, content, 0o644))
	return file
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]binary.AppendByteOrder{"little-endian": binary.LittleEndian, "big-endian": binary.BigEndian} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := t.TempDir()
			write(t, fixtures.Translation(order, german), content, "languages", "plugins", "latepoint-de_DE.mo")
			files := text.NewTranslations(content)
			texts := files.Texts("de_DE")
			for original, want := range map[string]string{
				"Service": "Dienstleistung", "Approved": "Genehmigt", "Untranslated": "Untranslated", "Unknown": "Unknown", "": "",
				"%d day": "%d Tag", "%d days": "%d Tage", "May": "Mai",
			} {
				expect.Equal(t, want, texts.Of(original), original, " is")
			}
			if problem := files.Problem("de_DE"); problem != nil {
				t.Error(problem.Reason)
			}
		})
	}
}

// TestDate: if two names begin alike the longer one is replaced, and names of weekdays stay.
func TestDate(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"Mar 3, 2026": "Mär 3, 2026", "3 March, 2026": "3 März, 2026", "Sunday, May 3": "Sunday, Mai 3", "December 1": "Dezember 1", "2026-12-01": "2026-12-01",
	} {
		expect.Equal(t, want, text.Texts(german).Date(date))
		expect.Equal(t, date, text.Texts(nil).Date(date), "in English")
	}
}

// TestFormatOf: what was put together is found by the longest format that makes it.
func TestFormatOf(t *testing.T) {
	t.Parallel()
	texts := text.Texts{
		"%s of %s": "", "Write 1 to %s characters.": "", "\"%s\" is not a %s.": "", "\"%s\" is not a %s; write one.": "", "network": "", "The end of %s is %s": "",
		"Label %s one": "", "Labe %s one": "", "Write %s or 6 words.": "", "Write 5 or %s words.": "",
	}
	for sentence, want := range map[string][]string{
		"Write 1 to 190 characters.": {"Write 1 to %s characters.", "190"}, `"x" is not a network.`: {`"%s" is not a %s.`, "x", "network"},
		`"a; b" is not a network; write one.`: {`"%s" is not a %s; write one.`, "a; b", "network"}, "The end of a is b is c": {"The end of %s is %s", "a", "b is c"},
		"Write 1 to characters.": {""}, "one of two": {""}, "": {""}, "network": {""},
		"Label a one": {"Label %s one", "a"}, "Labe a one": {""}, "Write 5 or 6 words.": {"Write %s or 6 words.", "5"},
	} {
		for range 8 { // the order of texts is random
			format, values := texts.FormatOf(sentence)
			if diff := cmp.Diff(want, append([]string{format}, values...)); diff != "" {
				t.Fatalf("%q: %s", sentence, diff)
			}
		}
		if format, _ := text.Texts(nil).FormatOf(sentence); format != "" {
			t.Errorf("%q in English is of %q", sentence, format)
		}
	}
}

// TestPlaces: the file that WordPress downloaded takes precedence over the plugin's own.
func TestPlaces(t *testing.T) {
	t.Parallel()
	content := t.TempDir()
	files := text.NewTranslations(content)
	service := func(locale string) string { t.Helper(); return files.Texts(locale).Of("Service") }
	expect.Equal(t, "Service", service("de_DE"), "without a file")
	own := fixtures.Translation(binary.LittleEndian, map[string]string{"Service": "Leistung", "Open": "Offen"})
	write(t, own, content, "plugins", "latepoint", "languages", "latepoint-de_DE.mo")
	expect.Equal(t, "Leistung", service("de_DE"), "of the plugin's own file")
	downloaded := fixtures.WriteTranslation(t, content, "de_DE", german)
	if got := files.Texts("de_DE"); got.Of("Service") != "Dienstleistung" || got.Of("Open") != "Open" {
		t.Errorf("%q and %q of the downloaded file", got.Of("Service"), got.Of("Open"))
	}
	for _, locale := range []string{"", "en_US", "de_DE_formal", "fr_FR", "../plugins/latepoint-de_DE", "x/../../latepoint-de_DE"} {
		if got := service(locale); got != "Service" {
			t.Errorf("%q in %q", got, locale)
		}
	}
	expect.NoError(t, os.Remove(downloaded))
	expect.Equal(t, "Leistung", service("de_DE"), "after the downloaded file is gone")
}

// TestReload: a file is read again only when its size or its time has changed.
func TestReload(t *testing.T) {
	t.Parallel()
	content := t.TempDir()
	files := text.NewTranslations(content)
	path := fixtures.WriteTranslation(t, content, "de_DE", map[string]string{"Service": "eins"})
	at := time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		translation string
		time        time.Time
		want        string
	}{
		{"eins", at, "eins"},
		{"zwei", at, "eins"}, // the change cannot be noticed
		{"drei", at.Add(time.Second), "drei"},
		{"länger", at.Add(time.Second), "länger"},
	} {
		fixtures.WriteTranslation(t, content, "de_DE", map[string]string{"Service": step.translation})
		expect.NoError(t, os.Chtimes(path, step.time, step.time))
		expect.Equal(t, step.want, files.Texts("de_DE").Of("Service"))
	}
}

// TestUnreadable: texts are English then, the log says so once, and a repaired file takes effect at once.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	good := fixtures.Translation(binary.LittleEndian, german)
	outside := append([]byte{}, good...)
	binary.LittleEndian.PutUint32(outside[8:], 1<<31)
	for name, file := range map[string][]byte{
		"empty": {}, "no .mo": []byte(strings.Repeat("<?php\n", 9)), "another version": append(append([]byte{}, good[:4]...), append([]byte{0, 0, 9, 0}, good[8:]...)...),
		"too many texts": outside, "not UTF-8": fixtures.Translation(binary.LittleEndian, map[string]string{"Service": "\xe4"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := t.TempDir()
			var log strings.Builder
			files := text.NewTranslations(content)
			files.Log = slog.New(slog.NewTextHandler(&log, nil))
			path := write(t, file, content, "languages", "plugins", "latepoint-de_DE.mo")
			for range 3 {
				expect.Equal(t, "Service", files.Texts("de_DE").Of("Service"))
			}
			if problem := files.Problem("de_DE"); problem == nil || !strings.Contains(problem.Reason.Error(), path) {
				t.Errorf("problem %+v", problem)
			}
			if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), path) {
				t.Errorf("log %q", log.String())
			}
			write(t, good, path)
			expect.Equal(t, "Dienstleistung", files.Texts("de_DE").Of("Service"), "after the file was mended")
		})
	}
	for n := range len(good) - 1 { // all but the zero byte at the end
		content := t.TempDir()
		write(t, good[:n], content, "languages", "plugins", "latepoint-de_DE.mo")
		if texts := text.NewTranslations(content).Texts("de_DE"); texts != nil {
			t.Errorf("%d of %d bytes are read: %s", n, len(good), cmp.Diff(text.Texts(german), texts))
			break
		}
	}
}

// TestReadable: what the format allows and programs seldom write.
func TestReadable(t *testing.T) {
	t.Parallel()
	good := fixtures.Translation(binary.LittleEndian, german)
	numbers := func(numbers ...uint32) (b []byte) {
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return b
	}
	last := append(numbers(0x950412de, 0, 1, 43, 51, 0, 59), "Service\x00Dienst\x00"...)
	last = append(last, numbers(7, 28, 6, 36)...)
	header := numbers(0x950412de, 0, 0, 28, 28, 0, 28)
	for name, c := range map[string]struct {
		file []byte
		want string // of Service
		ok   bool
	}{
		"version 1":                   {append(append([]byte{}, good[:4]...), append([]byte{0, 0, 1, 0}, good[8:]...)...), "Dienstleistung", true},
		"the tables behind the texts": {last, "Dienst", true},
		"no zero byte at the end":     {good[:len(good)-1], "Dienstleistung", true},
		"no texts":                    {header, "Service", true},
		"less than the header":        {header[:27], "Service", false},
		"as large as can be":          {append(append([]byte{}, good...), make([]byte, 8<<20-len(good))...), "Dienstleistung", true},
		"larger":                      {append(append([]byte{}, good...), make([]byte, 8<<20+1-len(good))...), "Service", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := t.TempDir()
			write(t, c.file, content, "languages", "plugins", "latepoint-de_DE.mo")
			files := text.NewTranslations(content)
			expect.Equal(t, c.want, files.Texts("de_DE").Of("Service"))
			expect.Equal(t, c.ok, files.Problem("de_DE") == nil, "problem")
		})
	}
}

// TestLog: each reason for English is logged once, and again if it recurs.
func TestLog(t *testing.T) {
	t.Parallel()
	content := t.TempDir()
	var log strings.Builder
	files := text.NewTranslations(content)
	files.Log = slog.New(slog.NewTextHandler(&log, nil))
	want := func(lines int) {
		t.Helper()
		for _, locale := range []string{"de_DE", "de_DE", ""} {
			files.Texts(locale)
		}
		if got := strings.Count(log.String(), "\n"); got != lines {
			t.Errorf("%d lines, want %d: %s", got, lines, log.String())
		}
	}
	want(1)
	path := fixtures.WriteTranslation(t, content, "de_DE", german)
	want(1)
	expect.NoError(t, os.Remove(path))
	want(2)
}

func TestProblem(t *testing.T) {
	t.Parallel()
	content := t.TempDir()
	for _, c := range []struct{ content, locale, want string }{
		{"", "", ""}, {"", "en_US", ""}, {"", "de_DE", "wp-content is not known"},
		{content, "", ""}, {content, "de_DE", filepath.Join(content, "plugins", "latepoint", "languages", "latepoint-de_DE.mo")},
		{content, "../x", "no language has this name"},
	} {
		got := text.NewTranslations(c.content).Problem(c.locale)
		if (got == nil) != (c.want == "") || got != nil && (got.Locale != c.locale || !strings.Contains(got.Reason.Error(), c.want)) {
			t.Errorf("%q in %q: %+v, want %q", c.locale, c.content, got, c.want)
		}
	}
}
