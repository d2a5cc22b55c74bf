package text

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Translations are the site's translations of the plugin. They are safe for concurrent use.
type Translations struct {
	Log *slog.Logger // logs why texts are English, once for each reason; NewFiles discards that

	content string
	mu      sync.Mutex
	loaded  file   // the last readable file
	told    string // the last reason
}

// file is a translation file, and the attributes that show whether it has changed.
type file struct {
	path  string
	size  int64
	time  time.Time
	texts Texts
}

// NewTranslations returns the translations below the site's directory wp-content; "" if it is unknown, and then
// there are none.
func NewTranslations(content string) *Translations {
	return &Translations{Log: slog.New(slog.DiscardHandler), content: content}
}

// locales matches the names of languages in file names. Any other text could lead to another directory.
var locales = regexp.MustCompile(`^[A-Za-z0-9]+([_@-][A-Za-z0-9]+)*$`)

// English reports whether a site in this language needs no translation.
func English(locale string) bool { return locale == "" || locale == "en_US" }

// Texts returns the translations for a site in a language, WordPress's option WPLANG, or English if no file
// is readable. A file is read again when it has changed.
func (f *Translations) Texts(locale string) Texts {
	if English(locale) {
		return nil
	}
	texts, err := f.read(locale)
	f.tell(err)
	return texts
}

// tell logs why texts are English unless it has already; nil if they are not.
func (f *Translations) tell(err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && reason != f.told {
		f.Log.Warn("texts that are stored or mailed are English", "error", err)
	}
	f.told = reason
}

// TranslationProblem is why texts are English on a site in another language.
type TranslationProblem struct {
	Locale string
	Reason error // ErrNoContent, fs.ErrNotExist or another one of the file, which it names
}

// Problem returns why texts are English in a language, or nil if they are not, or should be.
func (f *Translations) Problem(locale string) *TranslationProblem {
	if English(locale) {
		return nil
	}
	if _, err := f.read(locale); err != nil {
		return &TranslationProblem{locale, err}
	}
	return nil
}

// ErrNoContent means that nobody has said where the site's files are.
var ErrNoContent = errors.New("the site's wp-content is not known")

// paths are the possible places of a translation, in the order in which WordPress tries them
// (load_plugin_textdomain, WordPress 6.9); only the first that exists counts. Beside a .l10n.php, which
// WordPress prefers, there is a .mo with the same content.
func (f *Translations) paths(locale string) [2]string {
	name := "latepoint-" + locale + ".mo"
	return [2]string{filepath.Join(f.content, "languages", "plugins", name), filepath.Join(f.content, "plugins", "latepoint", "languages", name)}
}

func (f *Translations) read(locale string) (Texts, error) {
	switch {
	case f.content == "":
		return nil, ErrNoContent
	case !locales.MatchString(locale):
		return nil, fmt.Errorf("%w: no language has this name", fs.ErrNotExist)
	}
	paths := f.paths(locale)
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		now := file{path: path}
		if err == nil {
			now.size, now.time = info.Size(), info.ModTime()
		}
		return f.load(now)
	}
	return nil, fmt.Errorf("neither %s nor %s: %w", paths[0], paths[1], fs.ErrNotExist)
}

// load returns the texts of a file, reading it unless it was the last one read. An unreadable file is tried
// again: its permissions may have changed.
func (f *Translations) load(now file) (Texts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.loaded; last.path == now.path && last.size == now.size && last.time.Equal(now.time) {
		return last.texts, nil
	}
	texts, err := readFile(now.path)
	if err != nil {
		return nil, fmt.Errorf("the plugin's translation %s cannot be read: %w", now.path, err)
	}
	now.texts = texts
	f.loaded = now
	return texts, nil
}

// maxSize is many times the size of the plugin's translations.
const maxSize = 8 << 20

func readFile(path string) (_ Texts, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxSize:
		return nil, fmt.Errorf("larger than %d bytes", maxSize)
	}
	return ParseMO(content)
}
